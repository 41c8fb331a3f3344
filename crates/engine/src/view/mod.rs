//! One node's view: which endpoints the proxy of a node uses for each Service, and why not the others. Pure and total.
//!
//! ```text
//!   Service, slices, node ─► traffic_policy ─► merged_endpoints ─► topology_mode ─► port_view      what kube-proxy uses
//!   Endpoints or slice, node, scheme ─► superedge, openyurt ─► what a proxy before kube-proxy leaves of the object
//!   Service, slices, node, scheme ─► scheme ─► service_view: what kube-proxy uses of what is left
//! ```

mod fenced_endpoints;
mod hints;
mod merged_endpoints;
mod node_groups;
mod node_matrix;
mod node_reads;
mod openyurt;
mod port_view;
mod proxied_service;
mod proxy_view;
mod pruned_object;
mod pruned_view;
mod scheme;
mod service_view;
mod superedge;
#[cfg(test)]
mod tests;
mod topology_field;
mod topology_keys;
mod topology_mode;
mod traffic_policy;
mod view_changes;
mod view_work;
mod viewed_cluster;
mod viewpoint;

pub use hints::HintsIgnored;
pub use merged_endpoints::{EndpointUse, ProxyEndpoint, ViewedEndpoint};
pub use node_matrix::{MatrixCell, MatrixRow, NodeMatrix};
pub use openyurt::{POOL_OF_NODE, YURT_DISCARD, YURT_LISTEN, YURT_TOPOLOGY, YurtView};
pub use port_view::{PortView, Verdict};
pub use proxied_service::{NotProxied, cluster_ip, not_proxied, other_proxy};
pub use proxy_view::{ProxyView, ViewTooLarge};
pub use pruned_object::{EndpointObject, EndpointPlace, PrunedObject, RemovedEndpoint};
pub use pruned_view::PrunedView;
pub use scheme::{Scheme, SeenSlices, UnseenEndpoint};
pub use service_view::{FamilyView, ServiceUse, ServiceView};
pub use superedge::GridView;
pub use topology_keys::{KeyOrder, MAX_TOPOLOGY_KEYS, MalformedKeys, SUPEREDGE_KEYS, TopologyKeys};
pub use topology_mode::TopologyMode;
pub use traffic_policy::TrafficPolicies;
pub use view_changes::{PortUse, UsedEndpoint, ViewChange, ViewChanges, ViewedPort};
pub use view_work::TooManyViews;
pub use viewed_cluster::{ViewedCluster, ViewedService, planned_slices};
pub use viewpoint::Viewpoint;
