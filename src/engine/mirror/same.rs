//! When a stored endpoint needs no update.

use crate::{engine::compat::Profile, model::Endpoint};

/// Whether two endpoints of one identity say the same: as the `EndpointSlice` controller compares them.
pub(super) fn equal_beyond_identity(a: &Endpoint, b: &Endpoint, profile: &Profile) -> bool {
    a.said().same_as(&b.said(), profile)
}
