//! Slim, validated views of Kubernetes objects: what the engine reads, and nothing else.
//!
//! Decoding is as tolerant as Kubernetes' own: unknown fields are ignored, `null` is the zero value,
//! and the last of two equal keys counts. Addresses are parsed here, once, so that the engine never
//! parses text. Objects that the engine writes ([`Endpoints`], [`EndpointSlice`]) are complete.

mod address;
#[cfg(test)]
pub(crate) mod builders;
mod cidr;
mod code_table;
pub mod defaults;
pub mod dns;
mod endpoints;
mod heap_size;
pub mod installed;
mod interrupt;
pub mod json;
pub mod label_query;
mod label_selector;
mod labels;
mod meta;
mod node;
mod node_pool;
pub mod permission;
mod pod;
mod quantity;
mod resource;
mod service;
mod slice;
pub mod slice_version;
pub mod spelling;
pub mod wildcard;
pub mod wire;
mod zone_shares;

pub(crate) use address::head;
pub use address::{AddressKey, parse_lenient};
pub use address::{Family, PodIp};
pub use cidr::{Cidr, CidrError};
pub use endpoints::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints};
pub use heap_size::HeapSize;
pub use interrupt::{Interrupt, Interrupted};
pub use label_query::LabelQuery;
pub use label_selector::{LabelRequirement, LabelSelector};
pub use labels::Labels;
pub use meta::{ObjectKey, ObjectMeta, ObjectRef, OwnerReference, Time};
pub use node::{Node, Nodes, Taint};
pub use node_pool::NodePool;
pub use pod::{ContainerPort, NotReadyDetail, Pod, PodPhase, PodReadiness};
pub use pod::{RawContainerPort, RawSchedulingGate};
pub use quantity::{nano_value, wide_nano_value};
pub use resource::{Resource, ResourceScope};
pub use service::protocol_or_tcp;
pub use service::{Service, ServicePort, ServiceType, TargetPort};
pub use slice::{AddressType, Conditions, Endpoint, EndpointSlice, HintName, Hints, SlicePort};
pub(crate) use slice::{StoredSlices, by_name};
pub(crate) use zone_shares::ZoneShares;

/// Text of an object. Up to 23 bytes are stored in place, longer text is shared: a clone never copies.
pub type Text = smol_str::SmolStr;

/// The hasher of maps and sets whose keys come from requests or files: fast, with a seed of its own for each map.
///
/// With a fixed seed, names could be prepared that share a place in every such map, and each look-up would compare them all.
/// The hashes of two maps cannot be compared. Nothing that is written depends on a seed: a map is looked up, or each of its
/// values is changed by itself.
pub type HashSeed = foldhash::fast::RandomState;

/// Label, annotation and condition names that the controllers know.
pub mod names {
    /// Label of a slice: the Service it belongs to.
    pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
    /// Label of a slice: the controller that writes it.
    pub const SLICE_MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
    /// Value of [`SLICE_MANAGED_BY`] of the EndpointSlice controller.
    pub const SLICE_CONTROLLER: &str = "endpointslice-controller.k8s.io";
    /// Value of [`SLICE_MANAGED_BY`] of the mirroring controller.
    pub const MIRROR_CONTROLLER: &str = "endpointslicemirroring-controller.k8s.io";
    /// Label of an Endpoints object that must not be mirrored, if `true`.
    pub const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
    /// Label of Endpoints and slices of a Service without cluster IP.
    pub const HEADLESS: &str = "service.kubernetes.io/headless";
    /// Label of Services and slices that another proxy than kube-proxy serves.
    pub const PROXY_NAME: &str = "service.kubernetes.io/service-proxy-name";
    /// Label of Endpoints since 1.33.
    pub const ENDPOINTS_MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
    /// Value of [`ENDPOINTS_MANAGED_BY`].
    pub const ENDPOINTS_CONTROLLER: &str = "endpoint-controller";
    /// Annotation: when the change happened that led to this write.
    pub const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
    /// Annotation of Endpoints that were cut to 1000 addresses.
    pub const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
    /// Annotation of a Service, honoured up to 1.23.
    pub const TOLERATE_UNREADY: &str = "service.alpha.kubernetes.io/tolerate-unready-endpoints";
    /// Deprecated annotation of a Service; where present it wins over [`TOPOLOGY_MODE`].
    pub const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    /// Annotation of a Service: `Auto` asks for zone hints.
    pub const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
    /// Annotation of an Endpoints object that is a lock.
    pub const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
    /// Annotation written by `kubectl apply`.
    pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
    /// Annotation of what Helm creates at moments of the life of a release, apart from it.
    pub const HELM_HOOK: &str = "helm.sh/hook";
    /// Label of a node: its name.
    pub const HOSTNAME: &str = "kubernetes.io/hostname";
    /// Label of a node: its zone.
    pub const ZONE: &str = "topology.kubernetes.io/zone";
    /// Label of a node: its region.
    pub const REGION: &str = "topology.kubernetes.io/region";
    /// Labels of nodes that take no part in zone hints.
    pub const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
}
