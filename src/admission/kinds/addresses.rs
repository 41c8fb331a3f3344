//! Addresses: which of them nobody should publish, and which are whose.

use std::{fmt, net::IpAddr};

use crate::{
    admission::{
        Denied, Knowledge, Known, Rule, Settings,
        findings::{About, Findings},
        policy::version::KIND,
    },
    model::parse_lenient,
};

/// The ranges of a policy.
#[derive(Clone, Copy)]
pub(super) struct Ranges<'a>(&'a Settings);

impl<'a> Ranges<'a> {
    pub(super) fn of(findings: &Findings<'a>) -> Self {
        Self(findings.settings())
    }

    fn denied(self, ip: IpAddr) -> Option<Objection<'a>> {
        self.0.denied.iter().find(|denied| denied.range.contains(ip)).map(Objection::Denied)
    }

    fn allowed(self, ip: IpAddr) -> bool {
        self.0.allowed.iter().any(|range| range.contains(ip))
    }

    /// Why an address must not be used; `None` if it is allowed. What is denied is denied even where it is allowed.
    pub(super) fn objection(self, text: &str) -> Option<Objection<'a>> {
        let Some(ip) = parse_lenient(text) else { return Some(Objection::NoAddress) };
        self.denied(ip).or_else(|| (!self.allowed(ip)).then_some(Objection::NotAllowed))
    }
}

/// Why an address must not be used.
#[derive(Clone, Copy, Debug)]
pub(super) enum Objection<'a> {
    NoAddress,
    Denied(&'a Denied),
    NotAllowed,
}

impl fmt::Display for Objection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress => f.write_str(NO_ADDRESS),
            Self::Denied(Denied { range, policy }) => write!(f, "is in {range}, which {KIND} {policy} denies"),
            Self::NotAllowed => f.write_str("is in no range that a policy allows"),
        }
    }
}

const NO_ADDRESS: &str = "is no IP address";

/// Why an address is no place that traffic could go to. The first four are `ValidateEndpointIP`'s; upstream lets
/// global multicast and broadcast pass.
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
pub(super) struct Listed<'a, F> {
    /// As it is written.
    pub(super) text: &'a str,
    /// Its field.
    pub(super) field: F,
}

/// [`Rule::SpecialAddress`].
pub(super) fn check_special<F: std::fmt::Display>(listed: &Listed<'_, F>, findings: &mut Findings<'_>) {
    let why = parse_lenient(listed.text).map_or(Some(NO_ADDRESS), special);
    if let Some(why) = why {
        let (text, field) = (listed.text, &listed.field);
        findings.add(Rule::SpecialAddress, About::Text(text), format_args!("{field}"), format_args!("{text} {why}"));
    }
}

/// [`Rule::Provenance`] of all addresses of an object in `namespace`.
pub(super) fn check_provenance<'a, F: std::fmt::Display>(
    all: impl Iterator<Item = Listed<'a, F>>,
    namespace: &str,
    cluster: &dyn Knowledge,
    findings: &mut Findings<'_>,
) {
    let ranges = Ranges::of(findings);
    let mut blind = None;
    for Listed { text, field } in all {
        let ip = parse_lenient(text);
        let (field, about) = (format_args!("{field}"), About::Text(text));
        if let Some(denied) = ip.and_then(|ip| ranges.denied(ip)) {
            findings.add(Rule::Provenance, about, field, format_args!("{text} {denied}"));
            continue;
        }
        match ip {
            Some(ip) if ranges.allowed(ip) => {}
            Some(ip) => match cluster.is_pod_address(namespace, ip) {
                Known::Yes(true) => {}
                Known::Yes(false) => {
                    let message = format_args!("{text} is no address of a pod in namespace {namespace}");
                    findings.add(Rule::Provenance, about, field, message);
                }
                Known::No(why) => blind = Some(why),
            },
            // A name may stand for any address at any time.
            None => {
                findings.add(Rule::Provenance, about, field, format_args!("{text} is no address of a pod"));
            }
        }
    }
    if let Some(why) = blind {
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
