//! What a slice holds: how much, of which type, for which zones.

use std::{collections::BTreeMap, net::IpAddr};

use super::Listed;
use crate::{
    admission::{
        Known, Rule,
        findings::{About, Findings},
        kinds::Subject,
    },
    model::{AddressType, dns, parse_lenient},
};

/// `maxEndpoints` of the API's validation.
const CAPACITY: usize = 1000;

pub(super) fn capacity(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    let n = subject.object.endpoints.len();
    if n > CAPACITY {
        let message = format_args!("{n} endpoints; a slice holds at most {CAPACITY}");
        findings.add(Rule::SliceOverCapacity, About::Count(n), format_args!("endpoints"), message);
    }
}

/// Whether the addresses are of the type that the slice says. Text that is no address at all is another rule's.
pub(super) fn address_type(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    let slice = subject.object;
    let of_type: fn(&str) -> bool = match &slice.address_type {
        AddressType::V4 => |text| !matches!(parse_lenient(text), Some(IpAddr::V6(_))),
        AddressType::V6 => |text| !matches!(parse_lenient(text), Some(IpAddr::V4(_))),
        AddressType::Other(_) if slice.has_names() => is_domain,
        AddressType::Other(other) => {
            let message = format_args!("{other:?} is none of IPv4, IPv6 and FQDN");
            findings.add(Rule::AddressType, About::Text(other), format_args!("addressType"), message);
            return;
        }
    };
    for listed in slice.addresses().filter(|l| !of_type(l.text)) {
        let (text, field) = (listed.text, listed.field);
        let message = format_args!("{text} is not of type {}", slice.address_type.as_str());
        findings.add(Rule::AddressType, About::Text(text), format_args!("{field}"), message);
    }
}

/// `IsFullyQualifiedDomainName`; an address looks like one, and is none.
fn is_domain(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    let labels = name.split('.').filter(|l| dns::is_label(l.as_bytes())).count();
    labels >= 2 && labels == name.split('.').count() && parse_lenient(text).is_none()
}

/// Hints for zones that no node has.
pub(super) fn zones(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    for (i, endpoint) in subject.object.endpoints.iter().enumerate() {
        for (j, zone) in endpoint.hints.for_zones.iter().enumerate() {
            let name = zone.name.as_str();
            let there = match known.get(name) {
                Some(there) => *there,
                None => match subject.cluster.is_zone(name) {
                    Known::Yes(there) => *known.entry(name).or_insert(there),
                    Known::No(why) => return findings.unchecked(Rule::UnknownZone, why),
                },
            };
            if !there {
                let field = format_args!("endpoints[{i}].hints.forZones[{j}].name");
                findings.add(Rule::UnknownZone, About::Text(name), field, format_args!("no node is in zone {name:?}"));
            }
        }
    }
}
