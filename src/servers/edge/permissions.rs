//! The permissions of the node proxy in a cluster, from which its role is derived.

use super::scheme::Scheme;
use crate::model::{ResourceReader, permission::Permission};

/// The permissions of the node proxy itself: it lists and watches what it caches. Everything else happens with the
/// credentials of its clients.
pub fn permissions(scheme: Scheme) -> Vec<Permission> {
    let mut all = Permission::reads(ResourceReader::Edge);
    if scheme == Scheme::OpenYurt {
        all.extend(Permission::reads(ResourceReader::EdgeOfOpenYurt));
    }
    all
}
