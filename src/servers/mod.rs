//! The servers: the REST API, the webhook and the node proxy. None knows another; `cli` puts them together.

pub mod edge;
pub mod rest;
pub mod webhook;

use crate::deploy::ServerPermissions;

/// What the servers of an installation may do: the webhook, and the node proxy with SuperEdge's scheme.
pub fn permissions() -> ServerPermissions {
    ServerPermissions { webhook: webhook::permissions(), edge: edge::permissions(edge::EdgeScheme::SuperEdge) }
}
