//! The stored slices that belong to the controller.

use crate::{
    model::{EndpointSlice, Service, by_name, names},
    reason::{Finding, Reason},
    state::SyncReport,
};

use super::job::SliceJob;

/// The stored slices of the Service, by name: those with the labels of the Service and of the controller that are not
/// being deleted.
pub(super) fn of_service<'a>(
    job: &SliceJob<'_>,
    slices: &[&'a EndpointSlice],
    report: &mut SyncReport,
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
                    let message = "the slice is being deleted: its endpoints are listed in other slices";
                    report.problems.push(Finding::new(Reason::SliceDeleting, slice.key(), message));
                } else {
                    found.push(slice);
                }
            }
            // The mirroring controller removes its slices itself.
            Some(by) if by == names::MIRROR_CONTROLLER => {}
            other => {
                let by = other.map_or_else(|| "no controller".to_owned(), |by| format!("{by:?}"));
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
