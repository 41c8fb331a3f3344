//! Checks of addresses: special ones, and their provenance.

use std::{fmt, net::IpAddr};

use crate::{
    admission::{
        DeniedRange, Knowledge, Rule, Settings, Unknown,
        findings::{FindingKey, RuleFindings},
    },
    model::{installed::POLICY_KIND, parse_lenient},
};

/// The ranges that the policies allow and deny.
#[derive(Clone, Copy)]
pub(super) struct Ranges<'a>(&'a Settings);

impl<'a> Ranges<'a> {
    pub(super) fn of(findings: &RuleFindings<'a>) -> Self {
        Self(findings.settings())
    }

    fn denied(self, ip: IpAddr) -> Option<Objection<'a>> {
        self.0.denied.iter().find(|denied| denied.range.contains(ip)).map(Objection::Denied)
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

/// Why traffic cannot reach an address. The first four reasons are those of `ValidateEndpointIP`; upstream accepts
/// global multicast and broadcast addresses.
fn special(ip: IpAddr) -> Option<&'static str> {
    let (link_local, broadcast) = match ip {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.is_broadcast()),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), false),
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
    } else {
        None
    }
}

/// An address of an object.
pub(super) struct ListedAddress<'a, F> {
    /// The text in the object.
    pub(super) text: &'a str,
    /// The field.
    pub(super) field: F,
}

/// [`Rule::SpecialAddress`].
pub(super) fn check_special<F: std::fmt::Display>(listed: &ListedAddress<'_, F>, findings: &mut RuleFindings<'_>) {
    let why = parse_lenient(listed.text).map_or(Some(NOT_AN_ADDRESS), special);
    if let Some(why) = why {
        let (text, field) = (listed.text, &listed.field);
        findings.add(
            Rule::SpecialAddress,
            FindingKey::Text(text),
            format_args!("{field}"),
            format_args!("{text} {why}"),
        );
    }
}

/// [`Rule::Provenance`] of all addresses of an object in `namespace`.
pub(super) fn check_provenance<'a, F: std::fmt::Display>(
    all: impl Iterator<Item = ListedAddress<'a, F>>,
    namespace: &str,
    cluster: &dyn Knowledge,
    findings: &mut RuleFindings<'_>,
) {
    let ranges = Ranges::of(findings);
    let mut not_known = None;
    for ListedAddress { text, field } in all {
        let ip = parse_lenient(text);
        let (field, about) = (format_args!("{field}"), FindingKey::Text(text));
        if let Some(denied) = ip.and_then(|ip| ranges.denied(ip)) {
            findings.add(Rule::Provenance, about, field, format_args!("{text} {denied}"));
            continue;
        }
        match ip {
            Some(ip) if ranges.allowed(ip) => {}
            Some(ip) => match cluster.is_pod_address(namespace, ip) {
                Ok(true) => {}
                Ok(false) => {
                    let message = format_args!("{text} is not the address of a pod in namespace {namespace}");
                    findings.add(Rule::Provenance, about, field, message);
                }
                Err(Unknown(why)) => not_known = Some(why),
            },
            // A host name may resolve to any address at any time.
            None => {
                findings.add(Rule::Provenance, about, field, format_args!("{text} is not the address of a pod"));
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
            ("10.0.0.1", None),
            ("010.0.0.1", None),
            ("2001:db8::1", None),
        ] {
            assert_eq!(special(parse_lenient(text).unwrap()), want, "{text}");
        }
    }
}
