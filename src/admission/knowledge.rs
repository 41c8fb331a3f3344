//! What admission knows of the cluster beside the object: answers from a cache, or none.

use std::net::IpAddr;

use crate::model::{Labels, Phase, Pod, Service, Text, parse_lenient};

/// An answer, or why there is none. A rule that needs one does nothing without it, and says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known<T> {
    /// The answer.
    Yes(T),
    /// No cluster is behind this decision, or its cache is not filled yet.
    No(&'static str),
}

/// What the rules may ask. Every answer is about the moment of the last event that the cache saw.
pub trait Knowledge: Send + Sync {
    /// The Service of this name; `Yes(None)` if there is none.
    fn service(&self, namespace: &str, name: &str) -> Known<Option<Service>>;

    /// Calls `see` for each pod of the namespace that has these labels, until it answers `false`.
    fn pods(&self, namespace: &str, selector: &Labels, see: &mut dyn FnMut(&Pod) -> bool) -> Known<()>;

    /// Whether a pod of the namespace has this address.
    fn is_pod_address(&self, namespace: &str, ip: IpAddr) -> Known<bool>;

    /// Whether some node is in this zone.
    fn is_zone(&self, zone: &str) -> Known<bool>;

    /// Another slice that lists the same endpoint: its name.
    fn other_slice(&self, place: &Place<'_>) -> Known<Option<String>>;
}

/// An endpoint of a slice. kube-proxy tells endpoints of a Service apart by port name and address.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
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

impl Place<'_> {
    /// Whether a slice with these ports would send the same traffic there: pods whose named ports have different
    /// numbers are in slices of their own, and so are addresses of different ports. Without ports there is only DNS.
    pub(crate) fn shares_port(&self, others: &[Text]) -> bool {
        (self.ports.is_empty() && others.is_empty()) || self.ports.iter().any(|p| others.contains(p))
    }
}

/// The addresses that belong to a pod: one that has ended has given them back.
pub(crate) fn addresses_of(pod: &Pod) -> impl Iterator<Item = IpAddr> {
    let ips = if pod.phase == Phase::Live { pod.ips.as_slice() } else { &[] };
    ips.iter().filter_map(|ip| parse_lenient(&ip.raw))
}

/// Knowledge of nothing: an object from a file, or a webhook without a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

const WHY: &str = "there is no cluster to ask";

impl Knowledge for Nothing {
    fn service(&self, _: &str, _: &str) -> Known<Option<Service>> {
        Known::No(WHY)
    }

    fn pods(&self, _: &str, _: &Labels, _: &mut dyn FnMut(&Pod) -> bool) -> Known<()> {
        Known::No(WHY)
    }

    fn is_pod_address(&self, _: &str, _: IpAddr) -> Known<bool> {
        Known::No(WHY)
    }

    fn is_zone(&self, _: &str) -> Known<bool> {
        Known::No(WHY)
    }

    fn other_slice(&self, _: &Place<'_>) -> Known<Option<String>> {
        Known::No(WHY)
    }
}
