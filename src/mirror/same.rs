//! When two endpoints are the same one, and when one needs no update.

use smallvec::SmallVec;

use crate::{
    compat::{HashKind, Profile},
    hash::hash,
    model::{Endpoint, SlicePort, Text},
};

/// What tells endpoints apart (`hashEndpoint`): addresses and host name, and from 1.26 the target's namespace
/// and name (S9). Its uid is no part of it: a pod that was made anew is an update in place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    addresses: SmallVec<[Text; 1]>,
    hostname: Text,
    target: (Text, Text),
}

impl Identity {
    /// The identity of an endpoint.
    pub(super) fn of(endpoint: &Endpoint, profile: &Profile) -> Self {
        let mut addresses = endpoint.addresses.clone();
        addresses.sort_unstable();
        let target = endpoint.target_ref.as_ref().filter(|_| profile.target_in_identity);
        Self {
            addresses,
            hostname: endpoint.hostname.clone().unwrap_or_default(),
            target: target.map(|t| (t.namespace.clone(), t.name.clone())).unwrap_or_default(),
        }
    }
}

/// Whether two endpoints of one identity say the same (`EndpointsEqualBeyondHash`).
pub(super) fn equal_beyond_identity(a: &Endpoint, b: &Endpoint, profile: &Profile) -> bool {
    let same = |a: Option<bool>, b: Option<bool>| {
        // S10: up to 1.25 a condition that one side lacks is not compared.
        a == b || (!profile.compare_missing_conditions && (a.is_none() || b.is_none()))
    };
    let same_target = match (&a.target_ref, &b.target_ref) {
        (Some(a), Some(b)) => a.same_target(b),
        (None, None) => true,
        _ => false,
    };
    // S3: up to 1.23 node name and zone are compared with themselves.
    let same_place = !profile.compare_topology || (a.node_name == b.node_name && a.zone == b.zone);
    same_place
        && a.conditions.ready == b.conditions.ready
        && same(a.conditions.serving, b.conditions.serving)
        && same(a.conditions.terminating, b.conditions.terminating)
        && same_target
}

/// The order of ports in a slice: by their hash (`portsInOrder`).
pub(super) fn sort_ports(ports: &mut [SlicePort], kind: HashKind) {
    if ports.len() > 1 {
        ports.sort_by_cached_key(|p| hash(kind, p));
    }
}

/// `getEndpointSlicePrefix`: the name with a dash, unless that cannot begin a name.
pub(super) fn generate_name(service: &Text) -> Text {
    // As `NameIsDNSSubdomain` has it for prefixes: the last character and the dash count as one letter.
    match service.as_bytes().split_last() {
        Some((_, head)) if is_subdomain(&[head, b"a"].concat()) => smol_str::format_smolstr!("{service}-"),
        _ => service.clone(),
    }
}

fn is_subdomain(name: &[u8]) -> bool {
    let letter = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let label = |l: &[u8]| {
        l.first().is_some_and(letter) && l.last().is_some_and(letter) && l.iter().all(|b| letter(b) || *b == b'-')
    };
    name.len() <= 253 && name.split(|b| *b == b'.').all(label)
}
