//! New slices, and copies of stored ones.

use crate::{
    model::{EndpointSlice, Family, ObjectMeta, OwnerReference, SlicePort, Text, dns},
    order_hash::{self, hash},
    profile::HashKind,
};

use super::job::SliceJob;

/// A new slice without endpoints (`newEndpointSlice`).
pub(super) fn new_slice(job: &SliceJob<'_>, family: Family, ports: &[SlicePort]) -> EndpointSlice {
    let meta = &job.service.meta;
    EndpointSlice {
        meta: ObjectMeta {
            generate_name: generate_name(&meta.name),
            namespace: meta.namespace.clone(),
            labels: job.labels.clone(),
            owner_references: vec![OwnerReference::controller("Service", &meta.name, &meta.uid)],
            ..ObjectMeta::default()
        },
        address_type: family.into(),
        endpoints: Vec::new(),
        ports: Some(ports.to_vec()),
    }
}

/// A copy of a stored slice, to be changed. Its ports and addresses are sorted, as upstream sorts them in slices that it
/// compares.
pub(super) fn copy(stored: &EndpointSlice, kind: HashKind) -> EndpointSlice {
    let mut copy = stored.clone();
    if let Some(ports) = &mut copy.ports {
        sort_ports(ports, kind);
    }
    for endpoint in &mut copy.endpoints {
        endpoint.addresses.sort_unstable();
    }
    copy
}

/// Sorts the ports of a slice by their hash (`portsInOrder`).
pub(crate) fn sort_ports(ports: &mut [SlicePort], kind: HashKind) {
    if ports.len() > 1 {
        ports.sort_by_cached_key(|p| -> order_hash::Hash128 { hash(kind, p) });
    }
}

/// The `generateName` of a slice: the name of the Service with a dash, unless that cannot start a name
/// (`getEndpointSlicePrefix`).
pub(crate) fn generate_name(service: &Text) -> Text {
    // As `NameIsDNSSubdomain` checks prefixes: the last two characters count as one letter.
    let bytes = service.as_bytes();
    match bytes.split_last() {
        Some((_, head)) if dns::is_subdomain(&[head, b"a"].concat()) => smol_str::format_smolstr!("{service}-"),
        _ => service.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_have_a_dash_unless_it_makes_them_invalid() {
        let long = "a".repeat(253);
        for (service, want) in [
            ("web", "web-".to_owned()),
            ("a.b", "a.b-".to_owned()),
            ("Web", "Web".to_owned()),
            ("we_b", "we_b".to_owned()),
            ("naïve", "naïve".to_owned()),
            ("a..b", "a..b".to_owned()),
            ("", String::new()),
            (&long, format!("{long}-")),
            (&"a".repeat(254), "a".repeat(254)),
        ] {
            assert_eq!(generate_name(&service.into()), want, "{service}");
        }
    }
}
