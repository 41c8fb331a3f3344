//! New slices, and copies of stored ones.

use crate::{
    engine::{
        compat::HashKind,
        order_hash::{self, hash},
    },
    model::{EndpointSlice, Family, ObjectMeta, OwnerReference, SlicePort, Text, dns},
};

use super::Job;

/// `newEndpointSlice`: a slice without endpoints, to be created.
pub(super) fn slice(job: &Job<'_>, family: Family, ports: &[SlicePort]) -> EndpointSlice {
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

/// A copy of a stored slice, to be changed. As upstream sorts ports and addresses of what it has looked
/// at, they are sorted in the copy.
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

/// The order of ports in a slice: by their hash (`portsInOrder`).
pub(crate) fn sort_ports(ports: &mut [SlicePort], kind: HashKind) {
    if ports.len() > 1 {
        ports.sort_by_cached_key(|p| -> order_hash::Hash128 { hash(kind, p) });
    }
}

/// `getEndpointSlicePrefix`: the name with a dash, unless that cannot begin a name.
pub(crate) fn generate_name(service: &Text) -> Text {
    // As `NameIsDNSSubdomain` has it for prefixes: the last two characters count as one letter.
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
    fn names_are_generated_with_a_dash_where_it_may_stand() {
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
