//! The fields of objects that a [`ClusterIndex`](super::ClusterIndex) asks for, whatever form it holds the objects in.

use std::{
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    sync::{Arc, LazyLock},
};

use roster_admission::{KnownService, PodNetwork};
use roster_engine::model::{
    AddressKey, ContainerPort, EndpointSlice, Endpoints, Labels, Node, Pod, PodPhase, Service, Text, parse_lenient,
};

use super::{
    live::LiveRows,
    lookups::{NodePlaces, PodAddresses, SliceEndpoints},
    rows::NamespaceRow,
    table::Row,
};

/// The form in which an index for rules holds objects: who fills the index decides how much of an object it holds. It looks up
/// pods by address, nodes by zone and address, and slices by endpoint: Service and address together.
pub trait Storage:
    LiveRows<
        Pod: PodFields,
        Pods = PodAddresses,
        Service: ServiceFields,
        Node: NodeFields,
        Nodes = NodePlaces,
        Slice: SliceFields + Clone,
        Slices = SliceEndpoints<<Self as LiveRows>::Slice>,
        Namespace = NamespaceRow,
    >
{
    /// Which pods a selector may select.
    type Candidates: PodCandidates;
}

/// Which pods a selector may select, so that not all of its namespace are compared with it.
pub trait PodCandidates: Send + Sync {
    /// The places in the table of all pods that the selector selects in the namespace, and of some that it does not; `None`
    /// if nobody has looked for them.
    fn places(&self, namespace: &str, selector: &Labels) -> Option<&[usize]>;
}

/// None are looked for: what changes all the time is not worth it.
impl PodCandidates for () {
    fn places(&self, _: &str, _: &Labels) -> Option<&[usize]> {
        None
    }
}

/// Fields of a pod.
pub trait PodFields: Row + Send + Sync {
    /// Labels.
    fn labels(&self) -> &Labels;
    /// Whether it has ended.
    fn phase(&self) -> PodPhase;
    /// Ports in look-up order.
    fn ports(&self) -> &Arc<[ContainerPort]>;
    /// The network of its addresses.
    fn network(&self) -> PodNetwork;
    /// The addresses that belong to it: a pod that has ended has given them back.
    fn addresses(&self) -> impl Iterator<Item = IpAddr>;
}

/// Fields of a Service.
pub trait ServiceFields: Row + Send + Sync {
    /// What rules ask of it.
    fn known(&self) -> KnownService;
}

/// Fields of a node.
pub trait NodeFields: Row + Send + Sync {
    /// The zone.
    fn zone(&self) -> Option<&Text>;
    /// Its addresses.
    fn addresses(&self) -> &[IpAddr];
}

/// Fields of a slice.
pub trait SliceFields: Row + Send + Sync {
    /// The names of its ports, sorted and each once.
    fn port_names(&self) -> &[Text];
    /// The hashes of its endpoints.
    fn endpoints(&self) -> impl Iterator<Item = u64>;
    /// A number that no other slice has at the same time.
    fn id(&self) -> usize;
}

/// The hash of an endpoint: of the namespace, the Service and the address of a slice. It takes a third of the memory of the
/// address alone. It has a secret seed, so that nobody can prepare two endpoints that have one hash; that two among a million
/// have it by chance is less probable than a broken memory.
pub(super) fn endpoint_hash(namespace: &str, service: &str, address: AddressKey<&str>) -> u64 {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    SEED.hash_one((namespace, service, address))
}

/// The hashes of the endpoints of a slice in this namespace; none if it does not belong to a Service.
pub(super) fn endpoint_hashes<'a>(slice: &'a EndpointSlice, namespace: &'a str) -> impl Iterator<Item = u64> + 'a {
    let of_service = slice.service_name().map(|service| {
        let addresses = slice.endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
        addresses.map(move |address| endpoint_hash(namespace, service, AddressKey::of(address)))
    });
    of_service.into_iter().flatten()
}

/// Port names, sorted and each once.
pub(super) fn sorted_names(mut names: Vec<Text>) -> Box<[Text]> {
    names.sort_unstable();
    names.dedup();
    names.into()
}

/// The network of a pod.
pub(super) fn network_of(pod: &Pod) -> PodNetwork {
    if pod.host_network { PodNetwork::Host } else { PodNetwork::Pod }
}

/// The addresses that belong to a pod.
pub(super) fn addresses_of(pod: &Pod) -> impl Iterator<Item = IpAddr> {
    let ips = if pod.phase == PodPhase::Live { pod.ips.as_slice() } else { &[] };
    ips.iter().filter_map(|ip| parse_lenient(&ip.raw))
}

macro_rules! rows_with_metadata {
    ($($kind:ty),*) => {$(
        impl Row for $kind {
            fn namespace(&self) -> &str {
                &self.meta.namespace
            }

            fn name(&self) -> &str {
                &self.meta.name
            }
        }
    )*};
}

rows_with_metadata!(Service, Endpoints, EndpointSlice);

impl Row for Pod {
    fn namespace(&self) -> &str {
        &self.reference.namespace
    }

    fn name(&self) -> &str {
        &self.reference.name
    }

    /// Replicas have the same owner, labels and ports; a pod has the same reference as before.
    fn share(&mut self, neighbour: &Self) {
        share(&mut self.reference, &neighbour.reference);
        share(&mut self.owner, &neighbour.owner);
        share(&mut self.labels, &neighbour.labels);
        share(&mut self.ports, &neighbour.ports);
    }

    fn differs(&self, before: &Self) -> bool {
        self != before
    }
}

/// Takes over an equal value, so that both share one copy.
pub(super) fn share<T: Clone + PartialEq>(value: &mut T, other: &T) {
    if value == other {
        value.clone_from(other);
    }
}

impl Row for Node {
    fn namespace(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn differs(&self, before: &Self) -> bool {
        self != before
    }
}
