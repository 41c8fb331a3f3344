//! Knowledge of objects that were read, from files or a request.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use super::{Knowledge, Known, Place, addresses_of};
use crate::{
    inventory::Inventory,
    model::{EndpointSlice, Labels, Pod, Service, Text, names},
};

/// What an [`Inventory`] holds, for the rules. Of a kind of which nothing was read, nothing is known.
#[derive(Clone, Debug, Default)]
pub struct Snapshot<'a> {
    services: Option<BTreeMap<(&'a str, &'a str), &'a Service>>,
    pods: Option<Pods<'a>>,
    zones: Option<BTreeSet<&'a str>>,
    /// By namespace, Service and address: the slices that list it.
    slices: Option<Slices<'a>>,
}

type Slices<'a> = BTreeMap<(&'a str, &'a str, &'a str), Vec<&'a EndpointSlice>>;

#[derive(Clone, Debug, Default)]
struct Pods<'a> {
    by_namespace: BTreeMap<&'a str, Vec<&'a Pod>>,
    addresses: BTreeSet<(&'a str, IpAddr)>,
}

impl<'a> Snapshot<'a> {
    /// What `inventory` holds.
    pub fn of(inventory: &'a Inventory) -> Self {
        let mut all = Self::default();
        for service in &inventory.services {
            let key = (namespace(&service.meta.namespace), service.meta.name.as_str());
            all.services.get_or_insert_default().insert(key, service);
        }
        for pod in &inventory.pods {
            let pods = all.pods.get_or_insert_default();
            let namespace = namespace(pod.namespace());
            pods.by_namespace.entry(namespace).or_default().push(pod);
            pods.addresses.extend(addresses_of(pod).map(|ip| (namespace, ip)));
        }
        for node in &inventory.nodes {
            let zones = all.zones.get_or_insert_default();
            zones.extend(node.labels.get(names::ZONE).map(Text::as_str));
        }
        for slice in &inventory.slices {
            let slices = all.slices.get_or_insert_default();
            let Some(service) = slice.service_name() else { continue };
            for address in slice.endpoints.iter().flat_map(|e| &e.addresses) {
                let key = (namespace(&slice.meta.namespace), service.as_str(), address.as_str());
                slices.entry(key).or_default().push(slice);
            }
        }
        all
    }
}

/// Where an object without a namespace would be created.
fn namespace(given: &str) -> &str {
    if given.is_empty() { "default" } else { given }
}

impl Knowledge for Snapshot<'_> {
    fn service(&self, namespace: &str, name: &str) -> Known<Option<Service>> {
        let Some(services) = &self.services else { return Known::No("no Services were given") };
        Known::Yes(services.get(&(namespace, name)).map(|s| (*s).clone()))
    }

    fn pods(&self, namespace: &str, selector: &Labels, see: &mut dyn FnMut(&Pod) -> bool) -> Known<()> {
        let Some(pods) = &self.pods else { return Known::No(NO_PODS) };
        for pod in pods.by_namespace.get(namespace).into_iter().flatten().filter(|p| selector.selects(&p.labels)) {
            if !see(pod) {
                break;
            }
        }
        Known::Yes(())
    }

    fn is_pod_address(&self, namespace: &str, ip: IpAddr) -> Known<bool> {
        let Some(pods) = &self.pods else { return Known::No(NO_PODS) };
        Known::Yes(pods.addresses.contains(&(namespace, ip.to_canonical())))
    }

    fn is_zone(&self, zone: &str) -> Known<bool> {
        let Some(zones) = &self.zones else { return Known::No("no nodes were given") };
        Known::Yes(zones.contains(zone))
    }

    fn other_slice(&self, place: &Place<'_>) -> Known<Option<String>> {
        let Some(slices) = &self.slices else { return Known::No("no other slices were given") };
        let mut others = slices.get(&(place.namespace, place.service, place.address)).into_iter().flatten();
        let found = others.find(|s| s.meta.name.as_str() != place.slice && place.shares_port(&s.port_names()));
        Known::Yes(found.map(|s| s.meta.name.to_string()))
    }
}

const NO_PODS: &str = "no pods were given";
