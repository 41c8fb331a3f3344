//! The memory that a value takes on the heap, for the limits of servers: a few bytes of text can become hundreds.

use std::{mem::size_of, net::IpAddr, sync::Arc};

use smallvec::{Array, SmallVec};

use super::{
    AddressType, ContainerPort, Endpoint, EndpointAddress, EndpointPort, EndpointSlice, EndpointSubset, Endpoints,
    HintName, Hints, Labels, Node, NotReadyDetail, ObjectMeta, ObjectRef, OwnerReference, Pod, PodIp, PodReadiness,
    Service, ServicePort, SlicePort, Taint, TargetPort, Text,
};

/// The reference counts of an [`Arc`], and of a text that is not stored in place.
const COUNTS: usize = 2 * size_of::<usize>();

/// What a set that shares a value takes for it, half full.
const SET_ENTRY: usize = 4 * size_of::<usize>();

/// What an allocator takes for this many bytes.
fn allocation(bytes: usize) -> usize {
    bytes.next_multiple_of(COUNTS)
}

/// A value that may own memory on the heap.
pub trait HeapSize {
    /// This memory in bytes, without the value itself. What several values share is counted for the first of them.
    fn heap_size(&self) -> usize;
}

/// Of a slice, without its elements themselves.
fn elements<T: HeapSize>(list: &[T]) -> usize {
    list.iter().map(HeapSize::heap_size).sum()
}

impl HeapSize for Text {
    #[inline]
    fn heap_size(&self) -> usize {
        if self.is_heap_allocated() { allocation(COUNTS + self.len()) } else { 0 }
    }
}

impl HeapSize for IpAddr {
    fn heap_size(&self) -> usize {
        0
    }
}

impl<A: HeapSize, B: HeapSize> HeapSize for (A, B) {
    fn heap_size(&self) -> usize {
        self.0.heap_size() + self.1.heap_size()
    }
}

impl<T: HeapSize> HeapSize for Option<T> {
    #[inline]
    fn heap_size(&self) -> usize {
        self.as_ref().map_or(0, HeapSize::heap_size)
    }
}

impl<T: HeapSize> HeapSize for Box<T> {
    fn heap_size(&self) -> usize {
        allocation(size_of::<T>()) + (**self).heap_size()
    }
}

impl<T: HeapSize> HeapSize for Vec<T> {
    fn heap_size(&self) -> usize {
        allocation(self.capacity() * size_of::<T>()) + elements(self)
    }
}

impl<A: Array<Item: HeapSize>> HeapSize for SmallVec<A> {
    #[inline]
    fn heap_size(&self) -> usize {
        let list = if self.spilled() { allocation(self.capacity() * size_of::<A::Item>()) } else { 0 };
        list + elements(self)
    }
}

/// Whether nobody has the value, but for one object and a set that shares it.
fn is_first<T: ?Sized>(value: &Arc<T>) -> bool {
    Arc::strong_count(value) <= 2
}

impl<T: HeapSize> HeapSize for Arc<T> {
    fn heap_size(&self) -> usize {
        if !is_first(self) {
            return 0;
        }
        SET_ENTRY + allocation(COUNTS + size_of::<T>()) + (**self).heap_size()
    }
}

impl<T: HeapSize> HeapSize for Arc<[T]> {
    fn heap_size(&self) -> usize {
        if !is_first(self) {
            return 0;
        }
        SET_ENTRY + allocation(COUNTS + size_of_val::<[T]>(self)) + elements(self)
    }
}

impl HeapSize for Labels {
    fn heap_size(&self) -> usize {
        // Labels have no capacity to spare.
        let pairs: usize = self.iter().map(|(key, value)| key.heap_size() + value.heap_size()).sum();
        allocation(self.len() * size_of::<(Text, Text)>()) + pairs
    }
}

impl HeapSize for AddressType {
    fn heap_size(&self) -> usize {
        match self {
            Self::V4 | Self::V6 => 0,
            Self::Other(text) => text.heap_size(),
        }
    }
}

impl HeapSize for TargetPort {
    fn heap_size(&self) -> usize {
        match self {
            Self::Number(_) => 0,
            Self::Name(name) => name.heap_size(),
        }
    }
}

impl HeapSize for PodReadiness {
    fn heap_size(&self) -> usize {
        match self {
            Self::Ready => 0,
            Self::NotReady(why) => why.heap_size(),
        }
    }
}

macro_rules! heap_size_of_fields {
    ($($type:ident { $($field:ident),* $(; $($plain:ident),*)? })*) => {$(
        impl HeapSize for $type {
            fn heap_size(&self) -> usize {
                // Every field is named: a new one has to be judged here.
                let Self { $($field,)* $($($plain: _,)*)? } = self;
                0 $(+ $field.heap_size())*
            }
        }
    )*};
}

heap_size_of_fields! {
    ContainerPort { name, protocol; number, sidecar }
    Endpoint { addresses, hostname, target_ref, deprecated_topology, node_name, zone, hints; conditions }
    EndpointAddress { ip, hostname, node_name, target_ref }
    EndpointPort { name, protocol, app_protocol; port }
    EndpointSlice { meta, address_type, endpoints, ports }
    EndpointSubset { addresses, not_ready_addresses, ports }
    Endpoints { meta, subsets }
    HintName { name }
    Hints { for_zones, for_nodes }
    Node { name, labels, taints, addresses; ready, cpu_nano, unschedulable }
    NotReadyDetail { status, reason, scheduling_gates, containers, gates; unscheduled, scheduling_gated }
    ObjectMeta {
        name, generate_name, namespace, self_link, uid, resource_version, labels, annotations, owner_references, finalizers;
        generation, creation_timestamp, deletion_timestamp, deletion_grace_period_seconds
    }
    ObjectRef { kind, namespace, name, uid, api_version, resource_version, field_path }
    OwnerReference { api_version, kind, name, uid; controller, block_owner_deletion }
    Pod {
        reference, resource_version, labels, node_name, hostname, subdomain, ports, ips, readiness, owner;
        deleting, host_network, phase, has_pod_ip, pod_ip_family, readiness_since, has_status, is_hook
    }
    PodIp { raw, canonical; family, uncanonical }
    Service {
        meta, selector, ports, cluster_ip, cluster_ips, family_policy, traffic_distribution, topology_keys,
        internal_traffic_policy,
        external_ips, load_balancer_ip, load_balancer_vips;
        kind, families, publish_not_ready, external_local, without_node_ports
    }
    ServicePort { name, protocol, target_port, app_protocol; port, node_port }
    SlicePort { name, protocol, app_protocol; port }
    Taint { key, value, effect }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    fn size<T: DeserializeOwned + HeapSize>(json: &str) -> usize {
        serde_json::from_str::<T>(json).unwrap().heap_size()
    }

    #[test]
    fn what_lies_behind_pointers_is_counted() {
        let long = "x".repeat(100);
        let list = 4 * size_of::<EndpointAddress>();
        let reference = SET_ENTRY + allocation(COUNTS + size_of::<ObjectRef>());
        for (name, got, want) in [
            ("a short text", size::<Text>("\"a\""), 0),
            ("a long text", size::<Text>(&format!("{long:?}")), 128),
            ("nothing", size::<EndpointSubset>("{}"), 0),
            ("a list of one, with room for four", size::<EndpointSubset>(r#"{"addresses":[{}]}"#), list),
            ("one address, in place", size::<Endpoint>(r#"{"addresses":["a"]}"#), 0),
            ("two addresses", size::<Endpoint>(r#"{"addresses":["a","b"]}"#), 2 * size_of::<Text>()),
            ("a reference", size::<Endpoint>(r#"{"targetRef":{}}"#), reference),
            ("hints", size::<Endpoint>(r#"{"hints":{}}"#), size_of::<Hints>()),
            ("labels", size::<ObjectMeta>(r#"{"labels":{"a":"b"}}"#), 2 * size_of::<Text>()),
        ] {
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn what_is_shared_is_counted_once() {
        let first = Arc::new(ObjectRef::default());
        let set = Arc::clone(&first);
        let counted = first.heap_size();
        let second = Arc::clone(&set);
        assert_eq!((counted > 0, second.heap_size()), (true, 0));
    }
}
