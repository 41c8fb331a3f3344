//! The objects of a cluster, one table for each resource, and the questions that rules ask about them.

use std::{net::IpAddr, sync::atomic::AtomicUsize};

use super::{
    fields::{PodFields, ServiceFields, Storage},
    lookups::{NodePlaces, PodAddresses, SliceEndpoints},
    other_slices,
    rows::NamespaceRow,
    selected_pods,
    table::{Lookup, Row, Table},
};
use crate::{
    admission::{Knowledge, KnownService, ListedSlice, LivePods, OtherSlices, PodNetwork, Unknown},
    model::{Labels, Resource},
};

/// Why nothing is known of pods.
pub(super) const NO_PODS: &str = "no pods of the namespace were given";

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
    /// Nodes, by zone and address.
    pub(super) nodes: Slot<S::Node, NodePlaces>,
    /// Slices, by Service and address.
    pub(super) slices: Slot<S::Slice, SliceEndpoints<S::Slice>>,
    /// Namespaces.
    pub(super) namespaces: Slot<NamespaceRow>,
    /// Why nothing is known of the addresses of pods, though the pods are: they were never in a cluster.
    pub(super) no_addresses: Option<Unknown>,
    /// How many more rows may be compared for all questions together.
    pub(super) left: AtomicUsize,
    /// Whether the objects may be a part of a cluster: a namespace without an object of a kind may have some.
    pub(super) is_part: bool,
}

impl<S: Storage> ClusterIndex<S> {
    /// Fails if nothing is known of the objects of a table in `namespace`.
    pub(super) fn knows<R: Row, L: Lookup<R>>(
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

    /// Most rows that are read at once. Between two such steps, others may write.
    const ROWS_AT_ONCE: usize;

    /// How many more rows may be compared for all questions together. A server that is asked for one object at a time has no
    /// such limit, and the objects of a file may be as many as those of its cluster.
    fn left(&self) -> usize {
        usize::MAX
    }

    /// Takes away so many.
    fn spend(&self, _rows: usize) {}

    /// Asks the index.
    fn read<T>(&self, ask: impl FnOnce(&ClusterIndex<Self::Storage>) -> T) -> T;
}

impl<I: IndexReader> Knowledge for I {
    fn service(&self, namespace: &str, name: &str) -> Result<Option<KnownService>, Unknown> {
        self.read(|index| {
            let services = index.services.known()?;
            index.knows(services, namespace, "no Services of the namespace were given")?;
            Ok(services.get(namespace, name).map(ServiceFields::known))
        })
    }

    fn live_pods(&self, namespace: &str, selector: &Labels, only_one: bool) -> Result<LivePods, Unknown> {
        selected_pods::live_pods(self, namespace, selector, only_one)
    }

    fn pod_network(&self, namespace: &str, ip: IpAddr) -> Result<Option<PodNetwork>, Unknown> {
        self.read(|index| {
            let pods = index.pods.known()?;
            index.knows(pods, namespace, NO_PODS)?;
            let found = pods.lookup().network(namespace, ip);
            let is_node = || index.nodes.last_known().is_some_and(|nodes| nodes.lookup().has_address(ip));
            match found {
                Some(PodNetwork::Pod) if is_node() => Ok(Some(PodNetwork::Node)),
                None => index.no_addresses.map_or(Ok(None), Err),
                found => Ok(found),
            }
        })
    }

    fn lacks_address(&self, namespace: &str, pod: &str, ip: IpAddr) -> Result<bool, Unknown> {
        /// A kubelet writes one address of each family. Of a pod with more, nothing is said.
        const MOST: usize = 8;
        self.read(|index| {
            let Some(pod) = index.pods.known()?.get(namespace, pod) else { return Ok(false) };
            let mut known = pod.addresses().take(MOST + 1).peekable();
            if pod.network() != PodNetwork::Pod || known.peek().is_none() {
                return Ok(false);
            }
            let (mut count, mut is_listed) = (0, false);
            for address in known {
                count += 1;
                is_listed = is_listed || address == ip;
            }
            Ok(!is_listed && count <= MOST)
        })
    }

    fn is_zone(&self, zone: &str) -> Result<bool, Unknown> {
        self.read(|index| Ok(index.nodes.known()?.lookup().has_zone(zone)))
    }

    fn other_slices(&self, slice: &ListedSlice<'_>) -> Result<OtherSlices, Unknown> {
        other_slices::other_slices(self, slice)
    }

    fn comparable(&self, resource: Resource, namespace: &str) -> usize {
        self.read(|index| match resource {
            Resource::Service => index.pods.known().map_or(0, |pods| pods.of_namespace(namespace).len()),
            Resource::EndpointSlice => index.slices.known().map_or(0, |slices| slices.of_namespace(namespace).len()),
            _ => 0,
        })
    }
}
