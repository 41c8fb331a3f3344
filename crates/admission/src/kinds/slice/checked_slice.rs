//! An EndpointSlice, reduced to what the rules read.

use std::fmt;

use roster_engine::model::{AddressType, HintName, Text, names, protocol_or_tcp, wire::nullable};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};
use smallvec::SmallVec;

use crate::{
    fault::{AddressReadiness, ObjectTraffic, Traffic, TrafficPort},
    kinds::{
        addresses::{ListedAddress, TargetPod, WrittenAddress},
        object_check::CheckedMeta,
    },
};

/// An EndpointSlice.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::kinds) struct CheckedSlice {
    #[serde(default, deserialize_with = "nullable")]
    pub(super) metadata: CheckedMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) address_type: AddressType,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) endpoints: FirstEndpoints,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) ports: Vec<CheckedPort>,
}

/// Most endpoints of a slice: `maxEndpoints` of the API's validation.
pub(super) const CAPACITY: usize = 1000;

/// The endpoints that an API server can store. It refuses a longer list before it calls a validating webhook: further
/// endpoints are counted and not held, because a thousand times as many fit into a review.
#[derive(Debug, Default)]
pub(super) struct FirstEndpoints {
    /// At most [`CAPACITY`] endpoints.
    pub(super) first: Vec<CheckedEndpoint>,
    /// The number of all endpoints.
    pub(super) count: usize,
}

impl<'de> Deserialize<'de> for FirstEndpoints {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct EndpointsVisitor;
        impl<'de> Visitor<'de> for EndpointsVisitor {
            type Value = FirstEndpoints;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<FirstEndpoints, A::Error> {
                let mut first = Vec::new();
                while first.len() < CAPACITY {
                    let Some(endpoint) = seq.next_element()? else {
                        return Ok(FirstEndpoints { count: first.len(), first });
                    };
                    first.push(endpoint);
                }
                let mut count = first.len();
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(FirstEndpoints { first, count })
            }
        }
        d.deserialize_seq(EndpointsVisitor)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CheckedPort {
    #[serde(deserialize_with = "nullable")]
    pub(super) name: Text,
    #[serde(deserialize_with = "nullable")]
    protocol: Text,
    port: Option<i32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CheckedEndpoint {
    #[serde(deserialize_with = "nullable")]
    addresses: SmallVec<[WrittenAddress; 1]>,
    #[serde(deserialize_with = "nullable")]
    conditions: CheckedConditions,
    #[serde(deserialize_with = "nullable")]
    pub(super) hints: CheckedHints,
    #[serde(rename = "targetRef", deserialize_with = "nullable")]
    target: TargetPod,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct CheckedConditions {
    ready: Option<bool>,
    serving: Option<bool>,
    terminating: Option<bool>,
}

impl CheckedConditions {
    /// As kube-proxy reads them.
    fn readiness(self) -> AddressReadiness {
        if self.ready.unwrap_or(true) {
            AddressReadiness::Ready
        } else if self.serving.unwrap_or(true) && self.terminating.unwrap_or(false) {
            AddressReadiness::Terminating
        } else {
            AddressReadiness::NotReady
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CheckedHints {
    #[serde(deserialize_with = "nullable")]
    pub(super) for_zones: Vec<HintName>,
}

impl CheckedSlice {
    /// Its ports, for its Service.
    pub(super) fn traffic(&self) -> ObjectTraffic {
        let labels = &self.metadata.labels;
        let ports = self.ports.iter().map(|port| TrafficPort {
            name: port.name.clone(),
            protocol: protocol_or_tcp(&port.protocol).into(),
            number: port.port,
            target: None,
        });
        ObjectTraffic {
            is_proxied: !labels.contains_key(names::HEADLESS) && !labels.contains_key(names::PROXY_NAME),
            all: vec![Traffic::to(ports).of_service(self.service_name())],
        }
    }

    /// The addresses of the first endpoints, with their fields.
    pub(super) fn addresses(&self) -> impl Iterator<Item = ListedAddress<'_, EndpointField>> {
        self.endpoints.first.iter().enumerate().flat_map(|(endpoint, e)| {
            let readiness = e.conditions.readiness();
            e.addresses.iter().enumerate().map(move |(at, address)| ListedAddress {
                address,
                target: &e.target,
                field: EndpointField { endpoint, at },
                traffic: 0,
                readiness,
            })
        })
    }

    /// Whether its addresses are host names.
    pub(super) fn has_names(&self) -> bool {
        matches!(&self.address_type, AddressType::Other(t) if t == "FQDN")
    }

    /// The Service in the label of the slice.
    pub(super) fn service_name(&self) -> Option<&str> {
        self.metadata.labels.get(names::SERVICE_NAME).map(AsRef::as_ref).filter(|name: &&str| !name.is_empty())
    }
}

/// The field of an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndpointField {
    endpoint: usize,
    at: usize,
}

impl fmt::Display for EndpointField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "endpoints[{}].addresses[{}]", self.endpoint, self.at)
    }
}
