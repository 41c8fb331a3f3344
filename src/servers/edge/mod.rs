//! The node proxy: what the kube-proxy of a node reads of the API server, as the scheme of the cluster prunes it.
//!
//! ```text
//! API server ─► upstream_event ─► node_state (scheme) ─► watch_cache ─► lists, gets and watches of clients
//!            ◄──────────────────────── proxy: everything else, with the credentials of the client
//! ```
//!
//! What decides is pure: `node_state`, `overlay`, `watch_cache`, `versions`, `target`, `list_options`, `accept`,
//! `protobuf` and `access_table` do no I/O. The decision which endpoints are removed is the one of `engine/view`.

mod accept;
mod access_holds;
#[cfg(test)]
mod access_model;
#[cfg(test)]
mod access_model_tests;
mod access_reviews;
#[cfg(test)]
mod access_reviews_tests;
mod access_table;
mod api_server;
mod app;
mod atomic_file;
mod body_encoding;
mod cached_resources;
mod caller;
mod caller_places;
mod certificate_user;
#[cfg(test)]
mod client_certificate_tests;
mod client_certificates;
#[cfg(test)]
mod connection_tests;
#[cfg(test)]
mod defect_tests;
mod digest;
mod discovery;
mod edge_cache;
mod endpoint_lists;
mod endpoint_selection;
mod event_ring;
#[cfg(fuzzing)]
pub mod fuzzing;
mod journal;
mod json_text;
mod label_readers;
mod list_options;
mod local_pods;
mod metrics;
mod node_health;
#[cfg(test)]
mod node_health_tests;
mod node_state;
#[cfg(test)]
mod node_state_tests;
mod options;
mod overlay;
mod part;
mod permissions;
mod persistence;
mod polled_source;
mod protobuf;
mod protobuf_list;
#[cfg(test)]
mod protobuf_tests;
mod proxied_bodies;
mod proxied_headers;
mod proxy;
mod raw_object;
mod reachability;
mod read_response;
mod request_path;
mod review_places;
mod saved_permissions;
mod saved_state;
mod scheme;
mod selection;
mod served_object;
mod state_files;
#[cfg(test)]
mod state_files_tests;
mod state_folder;
mod state_lock;
mod state_record;
mod target;
#[cfg(test)]
mod tests;
mod unencodable_objects;
#[cfg(test)]
mod unix_socket_tests;
mod upstream_event;
mod upstream_sink;
mod version_file;
mod versions;
mod watch_cache;
mod watch_permission;
mod watch_stream;
mod watched_node;

pub use node_health::NodeHealthOptions;
pub use options::{EdgeOptions, EdgeTls};
pub use part::part;
pub use permissions::{permissions, permissions_with_client_certificates};
pub use polled_source::{PolledSource, PolledTrust, PolledUrl};
pub use scheme::EdgeScheme;
pub use watched_node::WatchedNode;
