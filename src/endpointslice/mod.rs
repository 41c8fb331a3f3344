//! The EndpointSlice controller.

use crate::{
    model::Pod,
    plan::{Context, Report, SliceChanges, State},
    reason::Trace,
};

/// What the EndpointSlice controller does to one Service (`syncService` and the reconciler).
pub(crate) fn sync(
    state: &State<'_>,
    pods: &[&Pod],
    context: &Context,
    report: &mut Report,
    trace: &mut impl Trace,
) -> SliceChanges {
    let _ = (state, pods, context, report, trace);
    SliceChanges::default()
}
