//! What the servers of an installation may do.

use crate::{
    deploy::ServerPermissions,
    servers::{edge, webhook},
};

/// The permissions of the webhook, and of the node proxy with SuperEdge's scheme.
pub fn server_permissions() -> ServerPermissions {
    ServerPermissions {
        webhook: webhook::permissions(),
        edge: edge::permissions(edge::EdgeScheme::SuperEdge),
        edge_with_client_certificates: edge::permissions_with_client_certificates(),
    }
}
