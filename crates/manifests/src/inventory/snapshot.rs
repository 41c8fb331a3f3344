//! The index of objects that were read from files or a request, for the rules.

use std::{
    convert::Infallible,
    marker::PhantomData,
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use roster_admission::{KnownService, PodNetwork, Unknown};
use roster_engine::model::{ContainerPort, EndpointSlice, Labels, Node, Pod, PodPhase, Service, Text};

use super::{
    cluster_index::{ClusterIndex, IndexReader},
    fields::{
        NodeFields, PodCandidates, PodFields, ServiceFields, SliceFields, Storage, addresses_of, endpoint_hashes,
        network_of, sorted_names,
    },
    label_postings::LabelPostings,
    live::{Live, LiveRows, LiveTable},
    lookups::{NodePlaces, PodAddresses, SliceEndpoints},
    objects::Inventory,
    rows::NamespaceRow,
    table::{Lookup, Row, Table},
};

/// Most rows that are compared for the questions about all objects of an input, which takes less than a second. A selector
/// of every Service may match every pod, and every slice of a Service may list the same address.
const MAX_COMPARED: usize = 32 << 20;

/// The index of an [`Inventory`]. A resource without any object is unknown.
pub type Snapshot<'a> = ClusterIndex<Borrowed<'a>>;

/// Objects of an [`Inventory`].
#[derive(Debug)]
pub struct Borrowed<'a>(PhantomData<&'a ()>);

impl<'a> LiveRows for Borrowed<'a> {
    type Pod = Placed<'a, Pod>;
    type Pods = PodAddresses;
    type Service = Placed<'a, Service>;
    type Services = ();
    type Node = &'a Node;
    type Nodes = NodePlaces;
    /// No rule asks for another Endpoints object.
    type Endpoints = Infallible;
    type Slice = Arc<PlacedSlice<'a>>;
    type Slices = SliceEndpoints<Arc<PlacedSlice<'a>>>;
    type Namespace = NamespaceRow;
}

impl<'a> Storage for Borrowed<'a> {
    type Candidates = PodPlaces<'a>;
}

/// An object where it would be created: without a namespace it is in `default`.
#[derive(Debug)]
pub struct Placed<'a, T>(&'a T);

impl<'a, T: Row> Placed<'a, T> {
    fn namespace(&self) -> &'a str {
        let namespace = self.0.namespace();
        if namespace.is_empty() { "default" } else { namespace }
    }
}

/// The places of pods by the selectors of the Services.
#[derive(Debug)]
pub struct PodPlaces<'a>(LabelPostings<'a, usize>);

impl<'a> PodPlaces<'a> {
    fn of(services: &'a [Service], pods: &Table<Placed<'a, Pod>, PodAddresses>) -> Self {
        let selectors = services.iter().filter_map(|s| Some((Placed(s).namespace(), s.selector.as_ref()?)));
        let rows = pods.rows().iter().enumerate();
        Self(LabelPostings::new(selectors, rows.map(|(place, pod)| (pod.namespace(), &*pod.0.labels, place))))
    }
}

impl PodCandidates for PodPlaces<'_> {
    fn places(&self, namespace: &str, selector: &Labels) -> Option<&[usize]> {
        self.0.candidates(namespace, selector)
    }
}

impl<T: Row> Row for Placed<'_, T> {
    fn namespace(&self) -> &str {
        Placed::namespace(self)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

impl PodFields for Placed<'_, Pod> {
    fn labels(&self) -> &Labels {
        &self.0.labels
    }

    fn phase(&self) -> PodPhase {
        self.0.phase
    }

    fn ports(&self) -> &Arc<[ContainerPort]> {
        &self.0.ports
    }

    fn network(&self) -> PodNetwork {
        network_of(self.0)
    }

    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        addresses_of(self.0)
    }
}

impl ServiceFields for Placed<'_, Service> {
    fn known(&self) -> KnownService {
        self.0.into()
    }
}

impl NodeFields for &Node {
    fn zone(&self) -> Option<&Text> {
        (**self).zone()
    }

    fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }
}

/// A slice where it would be created, with the names of its ports once they are asked for.
#[derive(Debug)]
pub struct PlacedSlice<'a> {
    slice: Placed<'a, EndpointSlice>,
    ports: OnceLock<Box<[Text]>>,
}

impl<'a> PlacedSlice<'a> {
    fn of(slice: &'a EndpointSlice) -> Arc<Self> {
        Arc::new(Self { slice: Placed(slice), ports: OnceLock::new() })
    }
}

impl Row for PlacedSlice<'_> {
    fn namespace(&self) -> &str {
        self.slice.namespace()
    }

    fn name(&self) -> &str {
        self.slice.name()
    }
}

impl SliceFields for Arc<PlacedSlice<'_>> {
    fn port_names(&self) -> &[Text] {
        self.ports.get_or_init(|| sorted_names(self.slice.0.port_names()))
    }

    fn endpoints(&self) -> impl Iterator<Item = u64> {
        endpoint_hashes(self.slice.0, self.slice.namespace())
    }

    fn id(&self) -> usize {
        Self::as_ptr(self).addr()
    }
}

impl<'a> Snapshot<'a> {
    /// The index of objects that may be a part of a cluster: nothing is known either of a resource in a namespace that has no
    /// object of it.
    pub fn of_part(inventory: &'a Inventory) -> Self {
        Self { is_part: true, ..Self::of(inventory) }
    }

    /// The index of all objects of `inventory` but for pods of hooks, which seldom exist.
    pub fn of(inventory: &'a Inventory) -> Self {
        let pods = inventory.pods.iter().filter(|pod| !pod.is_hook).map(Placed);
        let live = Live {
            pods: table(pods, "no pods were given"),
            services: table(inventory.services.iter().map(Placed), "no Services were given"),
            nodes: table(inventory.nodes.iter().map(Arc::as_ref), "no nodes were given"),
            slices: table(inventory.slices.iter().map(PlacedSlice::of), "no other slices were given"),
            endpoints: LiveTable::empty(Unknown("no rule asks for them")),
            namespaces: LiveTable::empty(Unknown("no namespaces were given")),
        };
        Self {
            candidates: PodPlaces::of(&inventory.services, live.pods.last_known()),
            live,
            left: AtomicUsize::new(MAX_COMPARED),
            is_part: false,
            no_addresses: inventory
                .pods
                .iter()
                .all(|p| !p.has_status)
                .then_some(Unknown("no pods with a status were given")),
        }
    }
}

fn table<R: Row, L: Lookup<R>>(rows: impl Iterator<Item = R>, missing: &'static str) -> LiveTable<R, L> {
    let mut table = LiveTable::empty(Unknown(missing));
    let rows: Vec<R> = rows.collect();
    if !rows.is_empty() {
        table.set(Table::new(rows, |_| {}));
    }
    table
}

impl<'a> IndexReader for Snapshot<'a> {
    type Storage = Borrowed<'a>;

    /// Nobody waits for it.
    const ROWS_AT_ONCE: usize = usize::MAX;

    fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    fn spend(&self, rows: usize) {
        // What is taken away at the same time counts once more: the limit is none to the last row.
        self.left.store(self.left().saturating_sub(rows), Ordering::Relaxed);
    }

    fn read<T>(&self, ask: impl FnOnce(&ClusterIndex<Borrowed<'a>>) -> T) -> T {
        ask(self)
    }
}
