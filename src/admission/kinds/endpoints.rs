//! Checks of Endpoints objects.

use super::Check;
use crate::model::Endpoints;

/// All of them.
pub(super) const CHECKS: &[Check<Endpoints>] = &[];
