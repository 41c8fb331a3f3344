//! Stored objects that do not hold any more, and that clients use all the same: addresses of pods and nodes that are
//! gone, mirrored slices that are left over, Endpoints without a Service, and objects that the controllers would write
//! otherwise.
//!
//! A plan says what the controllers would write. These findings say what is wrong until they do, and what stays wrong
//! because no controller writes it.

mod gone_targets;
mod joined_ports;
mod known_targets;
mod stored_difference;
#[cfg(test)]
mod tests;

pub use known_targets::{KnownTargets, PodNames};

use crate::{
    model::{EndpointSlice, names},
    phrase::counted,
    reason::{Finding, Reason},
    state::{Plan, State},
};

/// What is stored for one Service and does not hold any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaleReport {
    /// The findings.
    pub findings: Vec<Finding>,
    /// The number of addresses in stored slices whose pod or node is gone. kube-proxy sends traffic to those that are
    /// ready.
    pub addresses: usize,
}

/// Compares what is stored in `state` with what exists and with `plan`, which is the plan for that state.
pub fn find(state: &State<'_>, plan: &Plan, known: &KnownTargets<'_>) -> StaleReport {
    let mut report = StaleReport::default();
    if state.service.is_none() && known.services {
        // kube-proxy ignores them.
        orphans(state, &mut report);
        return report;
    }
    leftover_mirrors(state, known, &mut report);
    joined_ports::find(state, &mut report.findings);
    gone_targets::find(state, plan, known, &mut report);
    if state.service.is_some_and(|s| !s.meta.deleting()) {
        stored_difference::find(state, plan, known, &mut report);
    }
    report
}

/// Endpoints and slices of a Service that does not exist.
fn orphans(state: &State<'_>, report: &mut StaleReport) {
    let mut add = |key, message: &str| report.findings.push(Finding::new(Reason::EndpointsOrphaned, key, message));
    // The lock of a leader election is an Endpoints object that needs no Service.
    if let Some(endpoints) = state.endpoints.filter(|e| !e.meta.annotations.contains_key(names::LEADER)) {
        add(
            endpoints.key(),
            "there is no Service of this name; the controller deletes the Endpoints when it starts again",
        );
    }
    for slice in state.slices.iter().filter(|s| !s.meta.deleting()) {
        add(slice.key(), "the Service that the label kubernetes.io/service-name names does not exist");
    }
}

/// Mirrored slices of a Service that has a selector now, or whose Endpoints are gone.
fn leftover_mirrors(state: &State<'_>, known: &KnownTargets<'_>, report: &mut StaleReport) {
    let Some(cause) = why_left_over(state, known) else { return };
    for slice in of_controller(state, names::MIRROR_CONTROLLER) {
        let endpoints = counted(slice.endpoints.len(), "endpoint");
        let message = format!("the slice mirrors Endpoints, but {cause}; kube-proxy still uses its {endpoints}");
        report.findings.push(Finding::new(Reason::LeftoverMirror, slice.key(), message));
    }
}

/// Why nothing is mirrored for a Service any more.
fn why_left_over(state: &State<'_>, known: &KnownTargets<'_>) -> Option<&'static str> {
    match state.service {
        Some(service) if service.selector.is_some() => Some("the Service has a selector now"),
        Some(_) if state.endpoints.is_none() && known.endpoints => Some("its Endpoints are gone"),
        _ => None,
    }
}

/// The slices of the Service that name this controller as their writer and are not being deleted.
fn of_controller<'a>(state: &State<'a>, controller: &'static str) -> Vec<&'a EndpointSlice> {
    let mut slices = of_service(state);
    slices.retain(|s| s.managed_by().is_some_and(|by| by == controller));
    slices
}

/// The slices of the Service that are not being deleted; all of the state, if it has no Service.
fn of_service<'a>(state: &State<'a>) -> Vec<&'a EndpointSlice> {
    let is_its_own = |s: &&EndpointSlice| {
        let meta = state.service.map(|s| &s.meta);
        meta.is_none_or(|m| m.namespace == s.meta.namespace && s.service_name() == Some(&m.name))
    };
    state.slices.iter().copied().filter(is_its_own).filter(|s| !s.meta.deleting()).collect()
}
