//! Which stored slices the controller takes for its own.

use crate::{
    engine::{
        reason::{Finding, Reason},
        state::Report,
    },
    model::{EndpointSlice, Service, by_name, names},
};

use super::Job;

/// The slices that the controller's lister gives it for the Service, by name: labelled with the Service and the
/// controller, and not being deleted.
pub(super) fn of_service<'a>(
    job: &Job<'_>,
    slices: &[&'a EndpointSlice],
    report: &mut Report,
) -> Vec<&'a EndpointSlice> {
    let meta = &job.service.meta;
    let mut found: Vec<&EndpointSlice> = Vec::new();
    for &slice in slices {
        if slice.meta.namespace != meta.namespace || slice.service_name() != Some(&meta.name) {
            continue;
        }
        match slice.managed_by() {
            Some(by) if by == names::SLICE_CONTROLLER => {
                if slice.meta.deleting() {
                    let message = "the slice is being deleted: its endpoints are listed anew";
                    report.problems.push(Finding::new(Reason::SliceDeleting, slice.key(), message));
                } else {
                    found.push(slice);
                }
            }
            // The mirroring controller clears up its own slices.
            Some(by) if by == names::MIRROR_CONTROLLER => {}
            other => {
                let by = other.map_or_else(|| "nobody".to_owned(), |by| format!("{by:?}"));
                let message = format!("the slice belongs to {by}: the controller leaves it alone, consumers use it");
                report.problems.push(Finding::new(Reason::ForeignSlice, slice.key(), message));
            }
        }
    }
    by_name(found)
}

/// `ownedBy`: whether some owner reference names the Service. `controller` does not matter.
pub(super) fn owned(slice: &EndpointSlice, service: &Service) -> bool {
    slice
        .meta
        .owner_references
        .iter()
        .any(|o| o.uid == service.meta.uid && o.kind == "Service" && o.api_version == "v1")
}
