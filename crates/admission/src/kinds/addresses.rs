//! Checks of addresses: special ones, and their provenance.

use std::{fmt, net::IpAddr};

use roster_engine::model::{AddressKey, Text, installed::POLICY_KIND, parse_lenient, wire::nullable};
use serde::{Deserialize, Deserializer, de::Visitor};

use crate::{
    HostNetwork, Knowledge, PodNetwork, Rule, Unknown,
    fault::{AddressReadiness, Fault},
    findings::RuleFindings,
    ranges::{DeniedRange, RangeLookup},
    special_address::{SpecialAddress, embedded},
};

/// Why an address must not be used for the traffic of a Service; `None` if it is allowed. A denied range takes precedence over
/// an allowed one.
pub(super) fn objection<'a>(ranges: &RangeLookup<'a>, text: &str) -> Option<Objection<'a>> {
    let Some(ip) = parse_lenient(text) else { return Some(Objection::NotAnAddress) };
    let not_allowed = || if ranges.allows_any() { Objection::NotAllowed } else { Objection::NothingAllowed };
    denied(ranges, ip).or_else(|| (!ranges.allows(ip)).then(not_allowed))
}

/// An address is also denied for an IPv4 address in it.
fn denied<'a>(ranges: &RangeLookup<'a>, ip: IpAddr) -> Option<Objection<'a>> {
    let inner = || embedded(ip).into_iter().find_map(|inner| ranges.denies(inner.into()));
    ranges.denies(ip).or_else(inner).map(Objection::Denied)
}

/// Why an address must not be used.
#[derive(Clone, Copy, Debug)]
pub(super) enum Objection<'a> {
    NotAnAddress,
    Denied(DeniedRange<'a>),
    NotAllowed,
    /// No policy allows any range, or there is none.
    NothingAllowed,
}

impl fmt::Display for Objection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnAddress => f.write_str(NOT_AN_ADDRESS),
            Self::Denied(DeniedRange { range, policy }) => {
                write!(f, "is in {range}, which {POLICY_KIND} {policy} denies")
            }
            Self::NotAllowed => f.write_str("is not in a range that a policy allows"),
            Self::NothingAllowed => f.write_str("is allowed by no policy"),
        }
    }
}

const NOT_AN_ADDRESS: &str = "is not an IP address";

/// An address as an object contains it, parsed once.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenAddress {
    text: Text,
    ip: Option<IpAddr>,
}

impl WrittenAddress {
    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The address; `None` for any other text.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        self.ip
    }

    /// What it means.
    pub(super) fn key(&self) -> AddressKey<&str> {
        self.ip.map_or(AddressKey::Text(self.text()), AddressKey::Ip)
    }
}

impl<'de> Deserialize<'de> for WrittenAddress {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct AddressVisitor;
        impl Visitor<'_> for AddressVisitor {
            type Value = WrittenAddress;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<WrittenAddress, E> {
                Ok(WrittenAddress { text: text.into(), ip: parse_lenient(text) })
            }
        }
        d.deserialize_str(AddressVisitor)
    }
}

/// An address in an object.
#[derive(Clone, Copy)]
pub(super) struct ListedAddress<'a, F> {
    /// The address.
    pub(super) address: &'a WrittenAddress,
    /// The pod that is said to have it.
    pub(super) target: &'a TargetPod,
    /// The field.
    pub(super) field: F,
    /// The index of its traffic in that of the object.
    pub(super) traffic: usize,
    /// How far it takes this traffic.
    pub(super) readiness: AddressReadiness,
}

impl<'a, F> ListedAddress<'a, F> {
    /// The identity of a finding about it.
    pub(super) fn fault(&self) -> Fault<'a> {
        Fault::Address { address: self.address.key(), traffic: self.traffic, readiness: self.readiness }
    }
}

/// The pod that an endpoint refers to.
#[derive(Debug, Default)]
pub(super) struct TargetPod {
    namespace: Text,
    /// Empty where nothing or something else is referred to.
    name: Text,
}

impl TargetPod {
    /// The name of the pod, in this namespace.
    fn name_in(&self, namespace: &str) -> Option<&str> {
        let is_here = self.namespace.is_empty() || self.namespace == namespace;
        (is_here && !self.name.is_empty()).then_some(&self.name)
    }
}

impl<'de> Deserialize<'de> for TargetPod {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct ObjectReference {
            #[serde(deserialize_with = "nullable")]
            kind: Text,
            #[serde(deserialize_with = "nullable")]
            namespace: Text,
            #[serde(deserialize_with = "nullable")]
            name: Text,
        }
        let ObjectReference { kind, namespace, name } = ObjectReference::deserialize(d)?;
        Ok(if kind == "Pod" { Self { namespace, name } } else { Self::default() })
    }
}

/// [`Rule::SpecialAddress`], of all addresses of an object.
pub(super) fn check_special<'a, F: fmt::Display>(
    all: impl Iterator<Item = ListedAddress<'a, F>>,
    findings: &mut RuleFindings<'_>,
) {
    let ranges = findings.settings().ranges.lookup();
    for listed in all {
        let (text, field, fault) = (listed.address.text(), format_args!("{}", listed.field), listed.fault());
        let Some(ip) = listed.address.ip() else {
            findings.add(Rule::SpecialAddress, fault, field, format_args!("{text} {NOT_AN_ADDRESS}"));
            continue;
        };
        // A policy may allow some of them, and all the addresses that embed one.
        let forbidden = |inner: IpAddr| {
            let is_allowed = || ranges.allows(inner) || ranges.allows(ip);
            SpecialAddress::of(inner).filter(|special| !(special.may_be_allowed() && is_allowed()))
        };
        if let Some(why) = forbidden(ip) {
            findings.add(Rule::SpecialAddress, fault, field, format_args!("{text} {why}"));
        } else if let Some((inner, why)) =
            embedded(ip).into_iter().find_map(|inner| Some((inner, forbidden(inner.into())?)))
        {
            findings.add(Rule::SpecialAddress, fault, field, format_args!("{text} embeds {inner}, which {why}"));
        }
    }
}

/// [`Rule::Provenance`] of all addresses of an object in `namespace`.
pub(super) fn check_provenance<'a, F: fmt::Display>(
    all: impl Iterator<Item = ListedAddress<'a, F>>,
    namespace: &str,
    cluster: &dyn Knowledge,
    findings: &mut RuleFindings<'_>,
) {
    let ranges = findings.settings().ranges.lookup();
    let host_network = findings.settings().host_network;
    let mut not_known = None;
    for listed in all {
        let (text, field, fault) = (listed.address.text(), format_args!("{}", listed.field), listed.fault());
        let mut add = |why: fmt::Arguments<'_>| {
            findings.add(Rule::Provenance, fault, field, format_args!("{text} {why}"));
        };
        // A host name may resolve to any address at any time.
        let Some(ip) = listed.address.ip() else {
            add(format_args!("is not the address of a pod"));
            continue;
        };
        if let Some(denied) = denied(&ranges, ip) {
            add(format_args!("{denied}"));
        } else if !ranges.allows(ip) {
            match cluster.pod_network(namespace, ip) {
                Ok(Some(PodNetwork::Host)) if host_network == HostNetwork::Deny => add(format_args!(
                    "is the address of a node, which only pods of the host network in namespace {namespace} have"
                )),
                Ok(Some(PodNetwork::Node)) if host_network == HostNetwork::Deny => {
                    add(format_args!("is the address of a pod in namespace {namespace}, but also of a node"));
                }
                Ok(Some(_)) => {
                    if let Some(pod) = listed.target.name_in(namespace)
                        && cluster.lacks_address(namespace, pod, ip) == Ok(true)
                    {
                        add(format_args!("is not an address of pod {pod}, which targetRef names"));
                    }
                }
                Ok(None) => add(format_args!("is not the address of a pod in namespace {namespace}")),
                Err(Unknown(why)) => not_known = Some(why),
            }
        }
    }
    if let Some(why) = not_known {
        findings.unchecked(Rule::Provenance, why);
    }
}
