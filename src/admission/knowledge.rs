//! What admission knows of the cluster beside the object: answers from a cache, or none.

use std::net::IpAddr;

use crate::model::{Labels, Pod, Service};

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

    /// Another slice of the Service that lists this address: its name.
    fn other_slice(&self, namespace: &str, service: &str, this: &str, address: &str) -> Known<Option<String>>;
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

    fn other_slice(&self, _: &str, _: &str, _: &str, _: &str) -> Known<Option<String>> {
        Known::No(WHY)
    }
}
