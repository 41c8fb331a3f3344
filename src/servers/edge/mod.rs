//! The node proxy: what the kube-proxy of a node reads of the API server, as the scheme of the cluster prunes it.
//!
//! ```text
//! API server ─► upstream ─► cache ─► clients: lists, gets and watches, if access allows them
//!     ▲                       └──► disk                  │
//!     └──── upstream::proxy: everything else, with the credentials of the client
//! ```
//!
//! The modules that decide do no I/O: in `cache` all but `edge_cache`, in `clients` `target`, `list_options` and `accept`, in
//! `access` `access_table`, and in `encoding` `protobuf`. The decision which endpoints are removed is the one of `engine/view`.

mod access;
mod cache;
mod clients;
mod disk;
mod encoding;
#[cfg(fuzzing)]
pub mod fuzzing;
mod metrics;
mod options;
mod part;
mod permissions;
#[cfg(test)]
mod tests;
mod upstream;
mod watched_node;

pub use cache::scheme::EdgeScheme;
pub use metrics::example_metrics;
pub use options::EdgeOptions;
pub use part::part;
pub use permissions::{permissions, permissions_with_client_certificates};
pub use upstream::node_health::NodeHealthOptions;
pub use upstream::polled_source::{PolledSource, PolledTrust, PolledUrl};
pub use watched_node::WatchedNode;
