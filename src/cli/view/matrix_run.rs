//! The view of all Services from all nodes, as each output prints it.

use roster_engine::view::NodeMatrix;

use super::view_input::ViewInput;
use crate::cli::scheme_arg::SchemeArg;

/// The view of all Services from all nodes.
pub(super) struct MatrixRun<'a> {
    pub(super) input: &'a ViewInput<'a>,
    pub(super) matrix: NodeMatrix<'a>,
    pub(super) scheme: SchemeArg,
}
