//! The objects of a cluster, one table for each resource, and the questions that rules ask about them.

use std::net::IpAddr;

use super::{
    fields::{PodCandidates, PodFields, ServiceFields, SliceFields, Storage},
    lookups::{NodeZones, PodAddresses, SliceAddresses},
    rows::NamespaceRow,
    table::{Lookup, Row, Table},
};
use crate::{
    admission::{Knowledge, PodNetwork, SelectedPod, SliceEndpoint, Unknown},
    model::{AddressKey, Labels, Resource, Service},
};

/// Why nothing is known of pods.
const NO_PODS: &str = "no pods of the namespace were given";

/// The table of a resource, once it is known.
#[derive(Clone, Debug)]
pub struct Slot<R, L = ()> {
    table: Option<Table<R, L>>,
    /// Why the table must not be asked.
    unknown: Option<Unknown>,
}

impl<R: Row, L: Lookup<R>> Slot<R, L> {
    /// No table yet, for this reason.
    pub fn empty(why: Unknown) -> Self {
        Self { table: None, unknown: Some(why) }
    }

    /// Sets the table.
    pub fn set(&mut self, table: Table<R, L>) -> Option<Table<R, L>> {
        self.unknown = None;
        self.table.replace(table)
    }

    /// From now on the table must not be asked, for this reason.
    pub fn forbid(&mut self, why: Unknown) {
        if self.table.is_some() {
            self.unknown = Some(why);
        }
    }

    /// The table, if it may be asked.
    pub fn known(&self) -> Result<&Table<R, L>, Unknown> {
        match (&self.table, self.unknown) {
            (Some(table), None) => Ok(table),
            (_, why) => Err(why.unwrap_or(Unknown(""))),
        }
    }

    /// The table as it was last known.
    pub fn last_known(&self) -> Option<&Table<R, L>> {
        self.table.as_ref()
    }

    /// The table, to be changed; `None` before the first list.
    pub fn table_mut(&mut self) -> Option<&mut Table<R, L>> {
        self.table.as_mut()
    }
}

/// The tables. How objects are held is up to the [`Storage`].
#[derive(Debug)]
pub struct ClusterIndex<S: Storage> {
    /// Pods, by address.
    pub(super) pods: Slot<S::Pod, PodAddresses>,
    /// Pods, by the selectors that may select them.
    pub(super) candidates: S::Candidates,
    /// Services.
    pub(super) services: Slot<S::Service>,
    /// Nodes, by zone.
    pub(super) nodes: Slot<S::Node, NodeZones>,
    /// Slices, by Service and address.
    pub(super) slices: Slot<S::Slice, SliceAddresses>,
    /// Namespaces.
    pub(super) namespaces: Slot<NamespaceRow>,
    /// Why nothing is known of the addresses of pods, though the pods are: they were never in a cluster.
    pub(super) no_addresses: Option<Unknown>,
    /// Whether the objects may be a part of a cluster: a namespace without an object of a kind may have some.
    pub(super) is_part: bool,
}

impl<S: Storage> ClusterIndex<S> {
    /// Fails if nothing is known of the objects of a table in `namespace`.
    fn knows<R: Row, L: Lookup<R>>(
        &self,
        table: &Table<R, L>,
        namespace: &str,
        why: &'static str,
    ) -> Result<(), Unknown> {
        if self.is_part && table.of_namespace(namespace).is_empty() { Err(Unknown(why)) } else { Ok(()) }
    }

    /// Labels of a namespace as they were last known.
    pub fn namespace_labels(&self, name: &str) -> Option<&Labels> {
        self.namespaces.last_known()?.get("", name).map(NamespaceRow::labels)
    }
}

/// An index that can be read: in place, or behind a lock.
pub trait IndexReader: Send + Sync {
    /// In what form it holds objects.
    type Storage: Storage;

    /// Asks the index.
    fn read<T>(&self, ask: impl FnOnce(&ClusterIndex<Self::Storage>) -> T) -> T;
}

impl<I: IndexReader> Knowledge for I {
    fn service(&self, namespace: &str, name: &str) -> Result<Option<Service>, Unknown> {
        self.read(|index| {
            let services = index.services.known()?;
            index.knows(services, namespace, "no Services of the namespace were given")?;
            Ok(services.get(namespace, name).map(|s| s.service().clone()))
        })
    }

    fn pods(
        &self,
        namespace: &str,
        selector: &Labels,
        see: &mut dyn FnMut(SelectedPod<'_>) -> bool,
    ) -> Result<(), Unknown> {
        self.read(|index| {
            let pods = index.pods.known()?;
            index.knows(pods, namespace, NO_PODS)?;
            let places = index.candidates.places(namespace, selector);
            let all = if places.is_none() { pods.of_namespace(namespace) } else { &[] };
            let some = places.into_iter().flatten().map(|place| &pods.rows()[*place]);
            for pod in some.chain(all).filter(|p| selector.selects(p.labels())) {
                if !see(SelectedPod { name: pod.name(), phase: pod.phase(), ports: pod.ports() }) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn pod_network(&self, namespace: &str, ip: IpAddr) -> Result<Option<PodNetwork>, Unknown> {
        self.read(|index| {
            let pods = index.pods.known()?;
            index.knows(pods, namespace, NO_PODS)?;
            let found = pods.lookup().network(namespace, ip);
            index.no_addresses.filter(|_| found.is_none()).map_or(Ok(found), Err)
        })
    }

    fn is_zone(&self, zone: &str) -> Result<bool, Unknown> {
        self.read(|index| Ok(index.nodes.known()?.lookup().contains(zone)))
    }

    fn other_slice(&self, endpoint: &SliceEndpoint<'_>) -> Result<Option<String>, Unknown> {
        let SliceEndpoint { namespace, service, slice, address, .. } = *endpoint;
        let key = AddressKey::of(address);
        self.read(|index| {
            let slices = index.slices.known()?;
            index.knows(slices, namespace, "no other slices of the namespace were given")?;
            let lists = |s: &S<I>| {
                s.service_name().is_some_and(|n| n == service)
                    && endpoint.shares_port(&s.port_names())
                    // Nearly always the text is the same.
                    && (s.addresses().any(|a| a == address) || s.addresses().any(|a| AddressKey::of(a) == key))
            };
            let names = slices.lookup().candidates(namespace, service, key);
            let mut others = names.iter().filter(|n| n.as_str() != slice);
            Ok(others.find(|n| slices.named(namespace, n).iter().any(lists)).map(ToString::to_string))
        })
    }

    fn comparable(&self, resource: Resource, namespace: &str) -> usize {
        self.read(|index| match resource {
            Resource::Service => index.pods.known().map_or(0, |pods| pods.of_namespace(namespace).len()),
            Resource::EndpointSlice => index.slices.known().map_or(0, |slices| slices.of_namespace(namespace).len()),
            _ => 0,
        })
    }
}

/// A slice of an index.
type S<I> = <<I as IndexReader>::Storage as Storage>::Slice;
