//! What lies behind the proxy: the API server, the kubelet, and whether they are there.

pub(super) mod api_server;
pub(super) mod local_pods;
pub(super) mod node_health;
pub(super) mod polled_source;
pub(super) mod proxied_bodies;
pub(super) mod proxied_headers;
pub(super) mod proxy;
pub(super) mod reachability;
pub(super) mod upstream_event;
pub(super) mod upstream_sink;
