//! The view of all Services from all nodes, as each output prints it.

use super::{scheme_args::SchemeArg, view_input::ViewInput};
use crate::engine::view::NodeMatrix;

/// The view of all Services from all nodes.
pub(super) struct MatrixRun<'a> {
    pub(super) input: &'a ViewInput<'a>,
    pub(super) matrix: NodeMatrix<'a>,
    pub(super) scheme: SchemeArg,
}
