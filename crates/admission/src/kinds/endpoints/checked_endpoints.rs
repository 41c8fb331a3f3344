//! An Endpoints object, reduced to what the rules read.

use std::fmt;

use roster_engine::model::{EndpointPort, names, protocol_or_tcp, wire::nullable};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    fault::{AddressReadiness, ObjectTraffic, Traffic, TrafficPort},
    kinds::{
        addresses::{ListedAddress, TargetPod, WrittenAddress},
        object_check::{CheckedMeta, ObjectCheck},
    },
};

/// An Endpoints object. Of an address it holds what its checks read: there may be thousands.
#[derive(Debug, Deserialize)]
#[serde(bound = "A: ReadAddress")]
pub(in crate::kinds) struct CheckedEndpoints<A> {
    #[serde(default, deserialize_with = "nullable")]
    pub(super) metadata: CheckedMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) subsets: Vec<CheckedSubset<A>>,
}

/// What is read of an address.
pub(super) trait ReadAddress: DeserializeOwned + Default + 'static {
    /// The checks that read no more.
    const CHECKS: &'static [ObjectCheck<CheckedEndpoints<Self>>];
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound = "A: ReadAddress")]
pub(super) struct CheckedSubset<A> {
    #[serde(deserialize_with = "nullable")]
    addresses: Vec<A>,
    #[serde(deserialize_with = "nullable")]
    not_ready_addresses: Vec<A>,
    #[serde(deserialize_with = "nullable")]
    pub(super) ports: Vec<EndpointPort>,
}

/// The IP and the pod of an address.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::kinds) struct CheckedAddress {
    #[serde(deserialize_with = "nullable")]
    ip: WrittenAddress,
    #[serde(rename = "targetRef", deserialize_with = "nullable")]
    target: TargetPod,
}

/// The names of the two lists of a subset.
pub(super) const LISTS: [&str; 2] = ["addresses", "notReadyAddresses"];
/// The index of the first.
const READY: usize = 0;

impl<A> CheckedSubset<A> {
    fn lists(&self) -> [&[A]; 2] {
        [&self.addresses, &self.not_ready_addresses]
    }
}

impl<A> CheckedEndpoints<A> {
    /// The lengths of the two lists of each subset.
    pub(super) fn counts(&self) -> Vec<[usize; 2]> {
        self.subsets.iter().map(|s| s.lists().map(<[_]>::len)).collect()
    }

    /// The ports of each subset. The Service has the name of the object, which never changes.
    pub(super) fn traffic(&self) -> ObjectTraffic {
        let port = |port: &EndpointPort| TrafficPort {
            name: port.name.clone(),
            protocol: protocol_or_tcp(&port.protocol).into(),
            number: Some(port.port),
            target: None,
        };
        let CheckedMeta { labels, annotations, .. } = &self.metadata;
        // The mirrored slices inherit the labels. That for a headless Service does not count: a rule corrects it.
        let ignored = labels.get(names::SKIP_MIRROR).is_some_and(|v| v == "true")
            || labels.contains_key(names::PROXY_NAME)
            || annotations.contains_key(names::LEADER);
        ObjectTraffic {
            is_proxied: !ignored,
            all: self.subsets.iter().map(|subset| Traffic::to(subset.ports.iter().map(port))).collect(),
        }
    }
}

impl CheckedEndpoints<CheckedAddress> {
    /// All addresses with their fields.
    pub(super) fn addresses(&self) -> impl Iterator<Item = ListedAddress<'_, AddressField>> {
        self.subsets.iter().enumerate().flat_map(|(subset, s)| {
            s.lists().into_iter().enumerate().flat_map(move |(list, addresses)| {
                addresses.iter().enumerate().map(move |(at, address)| ListedAddress {
                    address: &address.ip,
                    target: &address.target,
                    field: AddressField { subset, list, at },
                    traffic: subset,
                    readiness: if list == READY { AddressReadiness::Ready } else { AddressReadiness::NotReady },
                })
            })
        })
    }
}

/// The field of an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressField {
    pub(super) subset: usize,
    pub(super) list: usize,
    at: usize,
}

impl fmt::Display for AddressField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "subsets[{}].{}[{}].ip", self.subset, LISTS[self.list], self.at)
    }
}
