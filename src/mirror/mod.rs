//! The EndpointSliceMirroring controller.

use crate::plan::{Context, Report, SliceChanges, State};

/// What the mirroring controller does to one Endpoints object (`syncEndpoints`).
pub(crate) fn sync(state: &State<'_>, context: &Context, report: &mut Report) -> SliceChanges {
    let _ = (state, context, report);
    SliceChanges::default()
}
