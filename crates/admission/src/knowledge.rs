//! What rules ask about the cluster beside the object.

use std::{net::IpAddr, sync::Arc};

use roster_engine::model::{ContainerPort, Labels, Resource, Service, ServiceType, Text};

/// Why a question has no answer. A rule that needs the answer does nothing, and reports that it was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown(pub &'static str);

/// The questions. Every answer is about the moment of the last change that the index has seen, and is small: nobody
/// computes while the index is locked.
pub trait Knowledge: Send + Sync {
    /// The Service of this name; `None` if there is none.
    fn service(&self, namespace: &str, name: &str) -> Result<Option<KnownService>, Unknown>;

    /// The live pods of the namespace that have these labels; the first of them is enough if `only_one`.
    fn live_pods(&self, namespace: &str, selector: &Labels, only_one: bool) -> Result<LivePods, Unknown>;

    /// The network in which a pod of the namespace has this address; `None` if no pod has it.
    fn pod_network(&self, namespace: &str, ip: IpAddr) -> Result<Option<PodNetwork>, Unknown>;

    /// Whether the pod of this name has other addresses in its own network, and not this one.
    fn lacks_address(&self, namespace: &str, pod: &str, ip: IpAddr) -> Result<bool, Unknown>;

    /// Whether some node is in this zone.
    fn is_zone(&self, zone: &str) -> Result<bool, Unknown>;

    /// The other slices that list the same endpoints.
    fn other_slices(&self, slice: &ListedSlice<'_>) -> Result<OtherSlices, Unknown>;

    /// How many objects the rules for an object of a resource may compare it with. This is asked before each review.
    fn comparable(&self, _: Resource, _namespace: &str) -> usize {
        0
    }
}

/// A Service, as far as rules read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownService {
    /// Whether it is an alias of a host name.
    pub is_external_name: bool,
    /// Whether it has a selector, even an empty one.
    pub has_selector: bool,
    /// Its cluster IP.
    pub cluster_ip: KnownClusterIp,
}

/// The cluster IP of a Service, as far as rules read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownClusterIp {
    /// It has none yet.
    Missing,
    /// `None`: the Service is headless.
    Headless,
    /// An address.
    Assigned,
}

impl From<&Service> for KnownService {
    fn from(service: &Service) -> Self {
        Self {
            is_external_name: service.kind == ServiceType::ExternalName,
            has_selector: service.selector.is_some(),
            cluster_ip: match service.cluster_ip.as_str() {
                _ if service.declared_headless() => KnownClusterIp::Headless,
                "" => KnownClusterIp::Missing,
                _ => KnownClusterIp::Assigned,
            },
        }
    }
}

/// Live pods that a selector matches.
#[derive(Clone, Debug, Default)]
pub struct LivePods {
    /// How many.
    pub count: usize,
    /// The lists of their ports in look-up order, with the number of pods that have each. Replicas share a list.
    pub ports: Vec<(Arc<[ContainerPort]>, usize)>,
    /// Whether there were too many pods to compare, so that some were not.
    pub is_cut: bool,
}

/// The network of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodNetwork {
    /// Its own: nothing else has its addresses.
    Pod,
    /// That of its node, whose addresses everything else on the node has, too (`hostNetwork: true`).
    Host,
    /// Its own, but a node has the address, too.
    Node,
}

/// The endpoints of a slice. kube-proxy distinguishes the endpoints of a Service by port name and address.
#[derive(Clone, Copy, Debug)]
pub struct ListedSlice<'a> {
    /// Namespace.
    pub namespace: &'a str,
    /// The Service of the slice.
    pub service: &'a str,
    /// The slice.
    pub name: &'a str,
    /// The names of its ports, sorted and each once.
    pub ports: &'a [Text],
    /// Its addresses.
    pub addresses: &'a [&'a str],
}

/// The other slices that list the same endpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherSlices {
    /// By the place of the address, the name of the first other slice that lists it for one of the same ports; empty if none
    /// does for any address.
    pub names: Vec<Option<Text>>,
    /// Whether there were too many slices and ports to compare, so that some were not.
    pub is_cut: bool,
}

/// Knowledge of nothing: an object from a file, or a webhook without a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

const WHY: Unknown = Unknown("there is no cluster to ask");

impl Knowledge for Nothing {
    fn service(&self, _: &str, _: &str) -> Result<Option<KnownService>, Unknown> {
        Err(WHY)
    }

    fn live_pods(&self, _: &str, _: &Labels, _: bool) -> Result<LivePods, Unknown> {
        Err(WHY)
    }

    fn pod_network(&self, _: &str, _: IpAddr) -> Result<Option<PodNetwork>, Unknown> {
        Err(WHY)
    }

    fn lacks_address(&self, _: &str, _: &str, _: IpAddr) -> Result<bool, Unknown> {
        Err(WHY)
    }

    fn is_zone(&self, _: &str) -> Result<bool, Unknown> {
        Err(WHY)
    }

    fn other_slices(&self, _: &ListedSlice<'_>) -> Result<OtherSlices, Unknown> {
        Err(WHY)
    }
}
