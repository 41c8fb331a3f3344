//! Checks of the content of a slice: size, address type, and zones of hints.

use std::{collections::BTreeMap, net::IpAddr};

use super::object::CheckedSlice;
use crate::{
    admission::{
        Rule, Unknown,
        findings::{FindingKey, RuleFindings},
        kinds::check::Subject,
    },
    model::{AddressType, dns, parse_lenient},
};

/// Most endpoints of a slice: `maxEndpoints` of the API's validation.
const CAPACITY: usize = 1000;

/// [`Rule::SliceOverCapacity`].
pub(super) fn check_capacity(subject: &Subject<'_, CheckedSlice>, findings: &mut RuleFindings<'_>) {
    let n = subject.object.endpoints.len();
    if n > CAPACITY {
        let message = format_args!("{n} endpoints; a slice holds at most {CAPACITY}");
        findings.add(Rule::SliceOverCapacity, FindingKey::Count(n), format_args!("endpoints"), message);
    }
}

/// [`Rule::AddressType`]. Text that is not an address is a finding of [`Rule::SpecialAddress`].
pub(super) fn check_address_type(subject: &Subject<'_, CheckedSlice>, findings: &mut RuleFindings<'_>) {
    let slice = subject.object;
    let of_type: fn(&str) -> bool = match &slice.address_type {
        AddressType::V4 => |text| !matches!(parse_lenient(text), Some(IpAddr::V6(_))),
        AddressType::V6 => |text| !matches!(parse_lenient(text), Some(IpAddr::V4(_))),
        AddressType::Other(_) if slice.has_names() => is_domain,
        AddressType::Other(other) => {
            let message = format_args!("{other:?} is not one of IPv4, IPv6 and FQDN");
            findings.add(Rule::AddressType, FindingKey::Text(other), format_args!("addressType"), message);
            return;
        }
    };
    for listed in slice.addresses().filter(|l| !of_type(l.text)) {
        let (text, field) = (listed.text, listed.field);
        let message = format_args!("{text} is not of type {}", slice.address_type.as_str());
        findings.add(Rule::AddressType, FindingKey::Text(text), format_args!("{field}"), message);
    }
}

/// Whether a text is a domain name (`IsFullyQualifiedDomainName`) and not an address.
fn is_domain(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    let labels = name.split('.').filter(|l| dns::is_label(l.as_bytes())).count();
    labels >= 2 && labels == name.split('.').count() && parse_lenient(text).is_none()
}

/// [`Rule::UnknownZone`].
pub(super) fn check_zones(subject: &Subject<'_, CheckedSlice>, findings: &mut RuleFindings<'_>) {
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    for (i, endpoint) in subject.object.endpoints.iter().enumerate() {
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
                findings.add(
                    Rule::UnknownZone,
                    FindingKey::Text(name),
                    field,
                    format_args!("no node is in zone {name:?}"),
                );
            }
        }
    }
}
