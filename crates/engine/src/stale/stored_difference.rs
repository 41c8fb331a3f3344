//! Stored objects that the controllers would write otherwise.

use std::collections::BTreeSet;

use super::{StaleReport, known_targets::KnownTargets, of_controller};
use crate::{
    compare::{self, PublishedChange},
    model::{EndpointSlice, Endpoints, ObjectKey, ObjectMeta, Service, Text, names},
    reason::{Finding, Reason, Severity},
    state::{EndpointsAction, Plan, State},
};

/// Adds a finding for the Endpoints and one for the slices of each controller, where `plan` writes something else than
/// what is stored. Slices that the plan creates where none is stored count if all objects of the cluster are known.
pub(super) fn find(state: &State<'_>, plan: &Plan, known: &KnownTargets<'_>, report: &mut StaleReport) {
    of_endpoints(state, plan, report);
    if plan.endpoint_slices.is_noop() {
        return;
    }
    of_slices(state, plan, names::SLICE_CONTROLLER, known, report);
    // All of them are left over otherwise.
    if state.endpoints.is_some() && state.service.is_some_and(|s| s.selector.is_none()) {
        of_slices(state, plan, names::MIRROR_CONTROLLER, known, report);
    }
}

fn of_endpoints(state: &State<'_>, plan: &Plan, report: &mut StaleReport) {
    // Endpoints without a resource version were never stored.
    let Some(stored) = state.endpoints.filter(|e| !e.meta.resource_version.is_empty()) else { return };
    let change = match &plan.endpoints {
        EndpointsAction::Update(new) => compare::published_endpoints(stored, new),
        EndpointsAction::Delete => compare::published_endpoints(stored, &Endpoints::default()),
        EndpointsAction::None | EndpointsAction::Create(_) => return,
    };
    add(stored.key(), &[&stored.meta], change, report);
}

fn of_slices(
    state: &State<'_>,
    plan: &Plan,
    controller: &'static str,
    known: &KnownTargets<'_>,
    report: &mut StaleReport,
) {
    let changes = &plan.endpoint_slices;
    let updated = changes.update.iter().map(|s| &s.meta.name);
    let written: BTreeSet<&str> = updated.chain(&changes.delete).map(Text::as_str).collect();
    let unchanged: BTreeSet<&str> = changes.unchanged.iter().map(Text::as_str).collect();
    // A slice that the plan does not name is not that of a planned controller.
    let is_written = |s: &&EndpointSlice| written.contains(s.meta.name.as_str());
    let is_planned = |s: &&EndpointSlice| is_written(s) || unchanged.contains(s.meta.name.as_str());
    let mut stored = of_controller(state, controller);
    stored.retain(is_planned);
    let first = stored.iter().find(|s| is_written(s)).or(stored.first()).map(|slice| slice.key());
    // What has no uid was never stored, and nothing is stored for it.
    let service = || state.service.filter(|service| known.complete && !service.meta.uid.is_empty()).map(Service::key);
    let Some(key) = first.or_else(service) else { return };
    let is_its_own = |s: &&EndpointSlice| s.managed_by().is_some_and(|by| by == controller);
    let desired: Vec<&EndpointSlice> = plan.desired_slices(state).into_iter().filter(is_its_own).collect();
    let metas: Vec<&ObjectMeta> = stored.iter().map(|s| &s.meta).collect();
    add(key, &metas, compare::published_slices(&stored, &desired), report);
}

/// Adds the finding. `stored` are the objects of the list.
fn add(key: ObjectKey, stored: &[&ObjectMeta], change: Option<PublishedChange>, report: &mut StaleReport) {
    let Some(change) = change else { return };
    // Times of one form sort as text.
    let trigger = stored.iter().filter_map(|meta| meta.annotations.get(names::TRIGGER_TIME)).max();
    let since = trigger.map(|time| format!("; not written since the change at {time}")).unwrap_or_default();
    let (severity, text) = match change {
        PublishedChange::Addresses(text) => (Severity::Warning, text),
        PublishedChange::Details(text) => (Severity::Info, text),
    };
    let nothing = if stored.is_empty() { "no slice is stored; " } else { "" };
    let message = format!("{nothing}the controller would write: {text}{since}");
    report.findings.push(Finding { severity, ..Finding::new(Reason::StoredDiffers, key, message) });
}
