//! Look-ups of tables: what an address, a zone or an endpoint belongs to.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasher, RandomState},
    net::IpAddr,
};

use smallvec::SmallVec;

use super::{
    fields::{NodeFields, PodFields, SliceFields},
    table::Lookup,
};
use crate::{
    admission::PodNetwork,
    model::{AddressKey, Text},
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
            PodNetwork::Pod => &mut self.own,
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

/// By zone, how many nodes are in it.
#[derive(Clone, Debug, Default)]
pub struct NodeZones(HashMap<Text, u32>);

impl NodeZones {
    /// Whether a node is in the zone.
    pub fn contains(&self, zone: &str) -> bool {
        self.0.contains_key(zone)
    }
}

impl<N: NodeFields> Lookup<N> for NodeZones {
    fn add(&mut self, node: &N) {
        if let Some(zone) = node.zone() {
            *self.0.entry(zone.clone()).or_default() += 1;
        }
    }

    fn remove(&mut self, node: &N) {
        let Some(zone) = node.zone() else { return };
        if let Some(count) = self.0.get_mut(zone) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(zone);
            }
        }
    }
}

/// By namespace, Service and address, the names of the slices that list the address.
///
/// The key is a hash of the three, which would take more memory than everything else; the caller compares with the slice.
#[derive(Clone, Debug, Default)]
pub struct SliceAddresses {
    names: HashMap<u64, SmallVec<[Text; 1]>>,
    hasher: RandomState,
}

impl SliceAddresses {
    /// The names of the slices that may list the address.
    pub(crate) fn candidates(&self, namespace: &str, service: &str, address: AddressKey<&str>) -> &[Text] {
        self.names.get(&self.hash(namespace, service, address)).map_or(&[], SmallVec::as_slice)
    }

    fn hash(&self, namespace: &str, service: &str, address: AddressKey<&str>) -> u64 {
        self.hasher.hash_one((namespace, service, address))
    }

    /// How many addresses there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }
}

impl<S: SliceFields> Lookup<S> for SliceAddresses {
    fn add(&mut self, slice: &S) {
        let Some(service) = slice.service_name() else { return };
        for address in slice.addresses() {
            let hash = self.hash(slice.namespace(), service, AddressKey::of(address));
            let names = self.names.entry(hash).or_default();
            if !names.iter().any(|n| n == slice.name()) {
                names.push(slice.name().into());
            }
        }
    }

    fn remove(&mut self, slice: &S) {
        let Some(service) = slice.service_name() else { return };
        for address in slice.addresses() {
            if let Entry::Occupied(mut names) =
                self.names.entry(self.hash(slice.namespace(), service, AddressKey::of(address)))
            {
                names.get_mut().retain(|n| n != slice.name());
                if names.get().is_empty() {
                    names.remove();
                }
            }
        }
    }
}
