//! What rules ask about the cluster beside the object.

use std::net::IpAddr;

use crate::model::{ContainerPort, Labels, PodPhase, Resource, Service, Text};

/// Why a question has no answer. A rule that needs the answer does nothing, and reports that it was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown(pub &'static str);

/// The questions. Every answer is about the moment of the last change that the index has seen.
pub trait Knowledge: Send + Sync {
    /// The Service of this name; `None` if there is none.
    fn service(&self, namespace: &str, name: &str) -> Result<Option<Service>, Unknown>;

    /// Calls `see` for each pod of the namespace that has these labels, until it answers `false`.
    fn pods(
        &self,
        namespace: &str,
        selector: &Labels,
        see: &mut dyn FnMut(SelectedPod<'_>) -> bool,
    ) -> Result<(), Unknown>;

    /// The network in which a pod of the namespace has this address; `None` if no pod has it.
    fn pod_network(&self, namespace: &str, ip: IpAddr) -> Result<Option<PodNetwork>, Unknown>;

    /// Whether some node is in this zone.
    fn is_zone(&self, zone: &str) -> Result<bool, Unknown>;

    /// The name of another slice that lists the same endpoint.
    fn other_slice(&self, endpoint: &SliceEndpoint<'_>) -> Result<Option<String>, Unknown>;

    /// How many objects the rules for an object of a resource may compare it with. This is asked before each review.
    fn comparable(&self, _: Resource, _namespace: &str) -> usize {
        0
    }
}

/// The network of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodNetwork {
    /// Its own: nothing else has its addresses.
    Pod,
    /// That of its node, whose addresses everything else on the node has, too (`hostNetwork: true`).
    Host,
}

/// A pod that a selector matches, as far as rules read it.
#[derive(Clone, Copy, Debug)]
pub struct SelectedPod<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it has ended.
    pub phase: PodPhase,
    /// Its ports in look-up order.
    pub ports: &'a [ContainerPort],
}

/// An endpoint of a slice. kube-proxy distinguishes the endpoints of a Service by port name and address.
#[derive(Clone, Copy, Debug)]
pub struct SliceEndpoint<'a> {
    /// Namespace.
    pub namespace: &'a str,
    /// The Service of the slice.
    pub service: &'a str,
    /// The slice.
    pub slice: &'a str,
    /// The names of its ports.
    pub ports: &'a [Text],
    /// An address in it.
    pub address: &'a str,
}

impl SliceEndpoint<'_> {
    /// Whether a slice with these ports would send the same traffic to the address: pods whose named ports have
    /// different numbers are in different slices, and so are addresses of different ports. Without ports there is only DNS.
    pub(crate) fn shares_port(&self, others: &[Text]) -> bool {
        (self.ports.is_empty() && others.is_empty()) || self.ports.iter().any(|p| others.contains(p))
    }
}

/// Knowledge of nothing: an object from a file, or a webhook without a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

const WHY: Unknown = Unknown("there is no cluster to ask");

impl Knowledge for Nothing {
    fn service(&self, _: &str, _: &str) -> Result<Option<Service>, Unknown> {
        Err(WHY)
    }

    fn pods(&self, _: &str, _: &Labels, _: &mut dyn FnMut(SelectedPod<'_>) -> bool) -> Result<(), Unknown> {
        Err(WHY)
    }

    fn pod_network(&self, _: &str, _: IpAddr) -> Result<Option<PodNetwork>, Unknown> {
        Err(WHY)
    }

    fn is_zone(&self, _: &str) -> Result<bool, Unknown> {
        Err(WHY)
    }

    fn other_slice(&self, _: &SliceEndpoint<'_>) -> Result<Option<String>, Unknown> {
        Err(WHY)
    }
}
