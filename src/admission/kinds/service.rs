//! Checks of Service objects.

use super::Check;
use crate::model::Service;

/// All of them.
pub(super) const CHECKS: &[Check<Service>] = &[];
