//! The answers of an index to the questions that rules ask about a cluster.

use std::net::IpAddr;

use roster_admission::{Knowledge, KnownService, ListedSlice, LivePods, OtherSlices, PodNetwork, Unknown};
use roster_engine::model::{Labels, Resource};

use super::{
    cluster_index::{IndexReader, NO_PODS},
    fields::{PodFields, ServiceFields},
    other_slices, selected_pods,
};

/// An index as the rules of admission ask it.
#[derive(Clone, Copy, Debug)]
pub struct Answers<I>(pub I);

impl<I: IndexReader> Knowledge for Answers<I> {
    fn service(&self, namespace: &str, name: &str) -> Result<Option<KnownService>, Unknown> {
        self.0.read(|index| {
            let services = index.live.services.known()?;
            index.knows(services, namespace, "no Services of the namespace were given")?;
            Ok(services.get(namespace, name).map(ServiceFields::known))
        })
    }

    fn live_pods(&self, namespace: &str, selector: &Labels, only_one: bool) -> Result<LivePods, Unknown> {
        selected_pods::live_pods(&self.0, namespace, selector, only_one)
    }

    fn pod_network(&self, namespace: &str, ip: IpAddr) -> Result<Option<PodNetwork>, Unknown> {
        self.0.read(|index| {
            let pods = index.live.pods.known()?;
            index.knows(pods, namespace, NO_PODS)?;
            let found = pods.lookup().network(namespace, ip);
            let is_node = || index.live.nodes.last_known().lookup().has_address(ip);
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
        self.0.read(|index| {
            let Some(pod) = index.live.pods.known()?.get(namespace, pod) else { return Ok(false) };
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
        self.0.read(|index| Ok(index.live.nodes.known()?.lookup().has_zone(zone)))
    }

    fn other_slices(&self, slice: &ListedSlice<'_>) -> Result<OtherSlices, Unknown> {
        other_slices::other_slices(&self.0, slice)
    }

    fn comparable(&self, resource: Resource, namespace: &str) -> usize {
        self.0.read(|index| match resource {
            Resource::Service => index.live.pods.known().map_or(0, |pods| pods.of_namespace(namespace).len()),
            Resource::EndpointSlice => {
                index.live.slices.known().map_or(0, |slices| slices.of_namespace(namespace).len())
            }
            _ => 0,
        })
    }
}
