//! Checks of the content of a slice: size, address type, and zones of hints.

use std::collections::BTreeMap;

use roster_engine::model::{AddressType, dns};

use super::checked_slice::{CAPACITY, CheckedSlice};
use crate::{
    Rule, Unknown,
    fault::Fault,
    findings::RuleFindings,
    kinds::{addresses::WrittenAddress, object_check::Subject},
};

/// The rules that the number of endpoints matters to.
pub(super) const CAPACITY_RULES: &[Rule] = &[
    Rule::SliceOverCapacity,
    Rule::AddressType,
    Rule::SpecialAddress,
    Rule::DuplicateEndpoint,
    Rule::UnknownZone,
    Rule::Provenance,
];

/// [`Rule::SliceOverCapacity`]. The other rules check only the endpoints that can be stored, and say so.
pub(super) fn check_capacity(subject: &Subject<'_, CheckedSlice>, findings: &mut RuleFindings<'_>) {
    let n = subject.object.endpoints.count;
    if n > CAPACITY {
        for rule in &CAPACITY_RULES[1..] {
            findings
                .unchecked(*rule, "no endpoints after the first 1000 are checked, because an API server stores none");
        }
        let message = format_args!("{n} endpoints; a slice holds at most {CAPACITY}");
        findings.add(Rule::SliceOverCapacity, Fault::Count(n), format_args!("endpoints"), message);
    }
}

/// [`Rule::AddressType`]. Text that is not an address is a finding of [`Rule::SpecialAddress`].
pub(super) fn check_address_type(subject: &Subject<'_, CheckedSlice>, findings: &mut RuleFindings<'_>) {
    let slice = subject.object;
    let of_type: fn(&WrittenAddress) -> bool = match &slice.address_type {
        AddressType::V4 => |address| !address.ip().is_some_and(|ip| ip.is_ipv6()),
        AddressType::V6 => |address| !address.ip().is_some_and(|ip| ip.is_ipv4()),
        AddressType::Other(_) if slice.has_names() => is_domain,
        AddressType::Other(other) => {
            let message = format_args!("{other:?} is not one of IPv4, IPv6 and FQDN");
            findings.add(Rule::AddressType, Fault::Text(other), format_args!("addressType"), message);
            return;
        }
    };
    for listed in slice.addresses().filter(|l| !of_type(l.address)) {
        let (text, field) = (listed.address.text(), listed.field);
        let message = format_args!("{text} is not of type {}", slice.address_type.as_str());
        findings.add(Rule::AddressType, listed.fault(), format_args!("{field}"), message);
    }
}

/// Whether a text is a domain name (`IsFullyQualifiedDomainName`) and not an address.
fn is_domain(address: &WrittenAddress) -> bool {
    let text = address.text();
    let name = text.strip_suffix('.').unwrap_or(text);
    let labels = name.split('.').filter(|l| dns::is_label(l.as_bytes())).count();
    labels >= 2 && labels == name.split('.').count() && address.ip().is_none()
}

/// [`Rule::UnknownZone`].
pub(super) fn check_zones(subject: &Subject<'_, CheckedSlice>, findings: &mut RuleFindings<'_>) {
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    for (i, endpoint) in subject.object.endpoints.first.iter().enumerate() {
        for (j, zone) in endpoint.hints.for_zones.iter().enumerate() {
            let name = zone.name.as_str();
            let exists = match known.get(name) {
                Some(exists) => *exists,
                None => match subject.cluster.is_zone(name) {
                    Ok(exists) => *known.entry(name).or_insert(exists),
                    Err(Unknown(why)) => return findings.unchecked(Rule::UnknownZone, why),
                },
            };
            if !exists {
                let field = format_args!("endpoints[{i}].hints.forZones[{j}].name");
                findings.add(Rule::UnknownZone, Fault::Text(name), field, format_args!("no node is in zone {name:?}"));
            }
        }
    }
}
