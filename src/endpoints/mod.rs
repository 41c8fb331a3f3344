//! The Endpoints controller.

use crate::{
    model::Pod,
    plan::{Context, EndpointsAction, Report, State},
    reason::Trace,
};

/// What the Endpoints controller does to one Service (`syncService`).
pub(crate) fn sync(
    state: &State<'_>,
    pods: &[&Pod],
    context: &Context,
    report: &mut Report,
    trace: &mut impl Trace,
) -> EndpointsAction {
    let _ = (state, pods, context, report, trace);
    EndpointsAction::None
}
