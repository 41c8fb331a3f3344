//! The view of all Services from all nodes, as each output prints it.

use super::view_input::ViewInput;
use crate::{cli::scheme_arg::SchemeArg, engine::view::NodeMatrix};

/// The view of all Services from all nodes.
pub(super) struct MatrixRun<'a> {
    pub(super) input: &'a ViewInput<'a>,
    pub(super) matrix: NodeMatrix<'a>,
    pub(super) scheme: SchemeArg,
}
