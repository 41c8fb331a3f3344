//! Look-ups of tables: what an address, a zone or an endpoint belongs to.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher, Hash},
    net::IpAddr,
};

use roster_admission::PodNetwork;
use roster_engine::model::{HashSeed, Text};

use super::{
    fields::{NodeFields, PodFields, SliceFields},
    table::Lookup,
};

/// By namespace and address, how many pods have it: pods of the host network share the address of their node.
#[derive(Clone, Debug, Default)]
pub struct PodAddresses(HashMap<Text, HashMap<IpAddr, PodCount>>);

/// How many pods have an address, by their network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PodCount {
    own: u32,
    host: u32,
}

impl PodCount {
    fn of(&mut self, network: PodNetwork) -> &mut u32 {
        match network {
            PodNetwork::Pod | PodNetwork::Node => &mut self.own,
            PodNetwork::Host => &mut self.host,
        }
    }
}

impl PodAddresses {
    /// The network in which a pod of the namespace has the address.
    pub fn network(&self, namespace: &str, ip: IpAddr) -> Option<PodNetwork> {
        let count = self.0.get(namespace)?.get(&ip.to_canonical())?;
        Some(if count.own > 0 { PodNetwork::Pod } else { PodNetwork::Host })
    }

    /// How many namespaces there are.
    #[cfg(test)]
    pub(super) fn namespaces(&self) -> usize {
        self.0.len()
    }
}

impl<P: PodFields> Lookup<P> for PodAddresses {
    fn add(&mut self, pod: &P) {
        for ip in pod.addresses() {
            let of_namespace = match self.0.get_mut(pod.namespace()) {
                Some(found) => found,
                None => self.0.entry(pod.namespace().into()).or_default(),
            };
            *of_namespace.entry(ip).or_default().of(pod.network()) += 1;
        }
    }

    fn remove(&mut self, pod: &P) {
        let Some(of_namespace) = self.0.get_mut(pod.namespace()) else { return };
        for ip in pod.addresses() {
            if let Entry::Occupied(mut count) = of_namespace.entry(ip) {
                *count.get_mut().of(pod.network()) -= 1;
                if *count.get() == PodCount::default() {
                    count.remove();
                }
            }
        }
        if of_namespace.is_empty() {
            self.0.remove(pod.namespace());
        }
    }
}

/// By zone, how many nodes are in it; and by address, how many have it.
#[derive(Clone, Debug, Default)]
pub struct NodePlaces {
    zones: HashMap<Text, u32>,
    addresses: HashMap<IpAddr, u32, HashSeed>,
}

impl NodePlaces {
    /// Whether a node is in the zone.
    pub fn has_zone(&self, zone: &str) -> bool {
        self.zones.contains_key(zone)
    }

    /// Whether a node has the address.
    pub fn has_address(&self, ip: IpAddr) -> bool {
        self.addresses.contains_key(&ip.to_canonical())
    }
}

/// Counts one less.
fn discount<K: Eq + Hash, S: BuildHasher>(counts: &mut HashMap<K, u32, S>, key: K) {
    if let Entry::Occupied(mut count) = counts.entry(key) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

impl<N: NodeFields> Lookup<N> for NodePlaces {
    fn add(&mut self, node: &N) {
        if let Some(zone) = node.zone() {
            *self.zones.entry(zone.clone()).or_default() += 1;
        }
        for ip in node.addresses() {
            *self.addresses.entry(*ip).or_default() += 1;
        }
    }

    fn remove(&mut self, node: &N) {
        if let Some(zone) = node.zone() {
            discount(&mut self.zones, zone.clone());
        }
        for ip in node.addresses() {
            discount(&mut self.addresses, *ip);
        }
    }
}

/// By the hash of an endpoint, the slices that list it, in order of their names.
#[derive(Clone, Debug)]
pub struct SliceEndpoints<S>(HashMap<u64, ListingSlices<S>, HashSeed>);

/// The slices that list an endpoint; nearly always it is one.
#[derive(Clone, Debug)]
enum ListingSlices<S> {
    One(S),
    Several(Vec<S>),
}

impl<S> ListingSlices<S> {
    fn as_slice(&self) -> &[S] {
        match self {
            Self::One(slice) => std::slice::from_ref(slice),
            Self::Several(slices) => slices,
        }
    }
}

impl<S: SliceFields + Clone> ListingSlices<S> {
    fn insert(&mut self, slice: &S) {
        let all = self.as_slice();
        // Mostly they come in order.
        let is_last = all.last().is_none_or(|last| last.name() <= slice.name());
        let at = if is_last { all.len() } else { all.partition_point(|other| other.name() <= slice.name()) };
        // A slice may list an endpoint twice.
        if at.checked_sub(1).is_some_and(|before| all[before].id() == slice.id()) {
            return;
        }
        if let Self::One(first) = self {
            *self = Self::Several(vec![first.clone()]);
        }
        if let Self::Several(slices) = self {
            slices.insert(at, slice.clone());
        }
    }

    /// Removes a slice. Returns whether no other one is left.
    fn remove(&mut self, slice: &S) -> bool {
        match self {
            Self::One(one) => one.id() == slice.id(),
            Self::Several(slices) => {
                let from = slices.partition_point(|other| other.name() < slice.name());
                let same = slices[from..].iter().take_while(|other| other.name() == slice.name());
                if let Some((_, at)) = same.zip(from..).find(|(other, _)| other.id() == slice.id()) {
                    slices.remove(at);
                }
                slices.is_empty()
            }
        }
    }
}

impl<S> Default for SliceEndpoints<S> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<S> SliceEndpoints<S> {
    /// The slices that list the endpoint.
    pub(super) fn of(&self, endpoint: u64) -> &[S] {
        self.0.get(&endpoint).map_or(&[], ListingSlices::as_slice)
    }

    /// How many endpoints there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<S: SliceFields + Clone> Lookup<S> for SliceEndpoints<S> {
    fn add(&mut self, slice: &S) {
        for endpoint in slice.endpoints() {
            match self.0.entry(endpoint) {
                Entry::Vacant(entry) => {
                    entry.insert(ListingSlices::One(slice.clone()));
                }
                Entry::Occupied(mut entry) => entry.get_mut().insert(slice),
            }
        }
    }

    fn remove(&mut self, slice: &S) {
        for endpoint in slice.endpoints() {
            if let Entry::Occupied(mut entry) = self.0.entry(endpoint)
                && entry.get_mut().remove(slice)
            {
                entry.remove();
            }
        }
    }
}
