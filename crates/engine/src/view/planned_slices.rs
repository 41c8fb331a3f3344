//! The slices that a Service has once a plan is carried out, for views.

use std::collections::BTreeSet;

use smol_str::format_smolstr;

use crate::{
    model::{EndpointSlice, names},
    state::{Plan, State},
};

/// The slices of a Service after `plan` for `state`. Those that are created get names; those of other controllers stay.
pub fn planned_slices(state: &State<'_>, plan: &Plan) -> Vec<EndpointSlice> {
    let foreign = state.slices.iter().filter(|slice| {
        slice.managed_by().is_none_or(|by| by != names::SLICE_CONTROLLER && by != names::MIRROR_CONTROLLER)
    });
    let desired = plan.desired_slices(state);
    let known: BTreeSet<&str> = desired.iter().map(|slice| slice.meta.name.as_str()).collect();
    let foreign: Vec<&EndpointSlice> =
        foreign.copied().filter(|slice| !known.contains(slice.meta.name.as_str())).collect();
    let mut slices: Vec<EndpointSlice> = desired.into_iter().chain(foreign).cloned().collect();
    for (place, slice) in slices.iter_mut().enumerate().filter(|(_, slice)| slice.meta.name.is_empty()) {
        slice.meta.name = format_smolstr!("{}{place}", slice.meta.generate_name);
    }
    slices
}
