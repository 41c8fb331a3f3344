//! Checks of EndpointSlice objects.

use super::Check;
use crate::model::EndpointSlice;

/// All of them.
pub(super) const CHECKS: &[Check<EndpointSlice>] = &[];
