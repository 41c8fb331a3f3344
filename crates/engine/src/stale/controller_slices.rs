//! The stored slices of a Service, by the controller that writes them.

use crate::{model::EndpointSlice, state::State};

/// The slices of the Service that name this controller as their writer and are not being deleted.
pub(super) fn of_controller<'a>(state: &State<'a>, controller: &'static str) -> Vec<&'a EndpointSlice> {
    let mut slices = of_service(state);
    slices.retain(|s| s.managed_by().is_some_and(|by| by == controller));
    slices
}

/// The slices of the Service that are not being deleted; all of the state, if it has no Service.
pub(super) fn of_service<'a>(state: &State<'a>) -> Vec<&'a EndpointSlice> {
    let is_its_own = |s: &&EndpointSlice| {
        let meta = state.service.map(|s| &s.meta);
        meta.is_none_or(|m| m.namespace == s.meta.namespace && s.service_name() == Some(&m.name))
    };
    state.slices.iter().copied().filter(is_its_own).filter(|s| !s.meta.deleting()).collect()
}
