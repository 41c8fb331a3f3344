//! Checks of addresses: special ones, and their provenance.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
};

use serde::{Deserialize, Deserializer, de::Visitor};

use crate::{
    admission::{
        DeniedRange, HostNetwork, Knowledge, PodNetwork, Rule, Settings, Unknown,
        fault::{AddressReadiness, Fault},
        findings::RuleFindings,
    },
    model::{AddressKey, Text, installed::POLICY_KIND, parse_lenient},
};

/// The ranges that the policies allow and deny.
#[derive(Clone, Copy)]
pub(super) struct Ranges<'a>(&'a Settings);

impl<'a> Ranges<'a> {
    pub(super) fn of(findings: &RuleFindings<'a>) -> Self {
        Self(findings.settings())
    }

    /// An address is also denied for an IPv4 address in it.
    fn denied(self, ip: IpAddr) -> Option<Objection<'a>> {
        let of = |ip| self.0.denied.iter().find(|denied| denied.range.contains(ip));
        of(ip).or_else(|| of(embedded(ip)?.into())).map(Objection::Denied)
    }

    fn allowed(self, ip: IpAddr) -> bool {
        self.0.allowed.iter().any(|range| range.contains(ip))
    }

    /// Why an address must not be used; `None` if it is allowed. A denied range takes precedence over an allowed one.
    pub(super) fn objection(self, text: &str) -> Option<Objection<'a>> {
        let Some(ip) = parse_lenient(text) else { return Some(Objection::NotAnAddress) };
        self.denied(ip).or_else(|| (!self.allowed(ip)).then_some(Objection::NotAllowed))
    }
}

/// Why an address must not be used.
#[derive(Clone, Copy, Debug)]
pub(super) enum Objection<'a> {
    NotAnAddress,
    Denied(&'a DeniedRange),
    NotAllowed,
}

impl fmt::Display for Objection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnAddress => f.write_str(NOT_AN_ADDRESS),
            Self::Denied(DeniedRange { range, policy }) => {
                write!(f, "is in {range}, which {POLICY_KIND} {policy} denies")
            }
            Self::NotAllowed => f.write_str("is not in a range that a policy allows"),
        }
    }
}

const NOT_AN_ADDRESS: &str = "is not an IP address";

/// The prefixes of IPv6 addresses that embed an IPv4 address, with the bit at which it begins: translated (RFC 6052), 6to4
/// (RFC 3056), and IPv4-compatible (RFC 4291). IPv4-mapped addresses are read as IPv4 already.
const EMBEDDING: [(u128, u32, u32); 3] = [(0x0064_ff9b << 96, 96, 96), (0x2002 << 112, 16, 16), (0, 96, 96)];

/// The IPv4 address in an IPv6 address, which a gateway sends the packet to.
fn embedded(ip: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(v6) = ip else { return None };
    let bits = v6.to_bits();
    let (.., begin) = EMBEDDING.iter().find(|(prefix, length, _)| (bits ^ prefix) >> (128 - length) == 0)?;
    u32::try_from(bits << begin >> 96).ok().map(Ipv4Addr::from_bits)
}

/// Why traffic cannot reach an address. The first four reasons are those of `ValidateEndpointIP`; upstream accepts
/// global multicast, broadcast and reserved addresses.
fn special(ip: IpAddr) -> Option<&'static str> {
    let (link_local, broadcast, reserved) = match ip {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.is_broadcast(), v4.octets()[0] >= 240),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), false, false),
    };
    if ip.is_unspecified() {
        Some("is the unspecified address")
    } else if ip.is_loopback() {
        Some("is a loopback address")
    } else if link_local {
        Some("is a link-local address")
    } else if ip.is_multicast() {
        Some("is a multicast address")
    } else if broadcast {
        Some("is the broadcast address")
    } else if reserved {
        Some("is a reserved address")
    } else {
        None
    }
}

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

/// [`Rule::SpecialAddress`].
pub(super) fn check_special<F: fmt::Display>(listed: &ListedAddress<'_, F>, findings: &mut RuleFindings<'_>) {
    let (text, field, fault) = (listed.address.text(), format_args!("{}", listed.field), listed.fault());
    let Some(ip) = listed.address.ip() else {
        findings.add(Rule::SpecialAddress, fault, field, format_args!("{text} {NOT_AN_ADDRESS}"));
        return;
    };
    if let Some(why) = special(ip) {
        findings.add(Rule::SpecialAddress, fault, field, format_args!("{text} {why}"));
    } else if let Some(inner) = embedded(ip)
        && let Some(why) = special(inner.into())
    {
        findings.add(Rule::SpecialAddress, fault, field, format_args!("{text} embeds {inner}, which {why}"));
    }
}

/// [`Rule::Provenance`] of all addresses of an object in `namespace`.
pub(super) fn check_provenance<'a, F: fmt::Display>(
    all: impl Iterator<Item = ListedAddress<'a, F>>,
    namespace: &str,
    cluster: &dyn Knowledge,
    findings: &mut RuleFindings<'_>,
) {
    let ranges = Ranges::of(findings);
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
        if let Some(denied) = ranges.denied(ip) {
            add(format_args!("{denied}"));
        } else if !ranges.allowed(ip) {
            match cluster.pod_network(namespace, ip) {
                Ok(Some(PodNetwork::Pod)) => {}
                Ok(Some(PodNetwork::Host)) if host_network == HostNetwork::Allow => {}
                Ok(Some(PodNetwork::Host)) => add(format_args!(
                    "is the address of a node, which only pods of the host network in namespace {namespace} have"
                )),
                Ok(None) => add(format_args!("is not the address of a pod in namespace {namespace}")),
                Err(Unknown(why)) => not_known = Some(why),
            }
        }
    }
    if let Some(why) = not_known {
        findings.unchecked(Rule::Provenance, why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_those_of_the_api_server_and_two_more() {
        for (text, want) in [
            ("0.0.0.0", Some("is the unspecified address")),
            ("::", Some("is the unspecified address")),
            ("127.0.0.1", Some("is a loopback address")),
            ("127.255.0.9", Some("is a loopback address")),
            ("::1", Some("is a loopback address")),
            ("::ffff:127.0.0.1", Some("is a loopback address")),
            ("169.254.169.254", Some("is a link-local address")),
            ("fe80::1", Some("is a link-local address")),
            ("febf::1", Some("is a link-local address")),
            ("fec0::1", None),
            ("224.0.0.1", Some("is a multicast address")),
            ("239.1.2.3", Some("is a multicast address")),
            ("ff02::1", Some("is a multicast address")),
            ("ff0e::1", Some("is a multicast address")),
            ("255.255.255.255", Some("is the broadcast address")),
            ("240.0.0.0", Some("is a reserved address")),
            ("255.255.255.254", Some("is a reserved address")),
            ("10.0.0.1", None),
            ("010.0.0.1", None),
            ("2001:db8::1", None),
        ] {
            assert_eq!(special(parse_lenient(text).unwrap()), want, "{text}");
        }
    }
}
