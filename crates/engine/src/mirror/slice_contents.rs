//! What the mirrored slices of an Endpoints object should contain.

use std::{collections::BTreeMap, net::IpAddr};

use crate::{
    budget::{self, TooLarge},
    endpointslice::{Identity, sort_ports},
    model::{
        AddressType, Conditions, Endpoint, EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Family, PodIp,
        SlicePort, Text,
    },
    profile::Profile,
    state::SyncContext,
    subsets,
};

/// The key of a slice: address type and ports, sorted by value. `None` stands for a stored slice without a port list,
/// in releases that tell it from one with an empty list (versions.md#s17).
pub(super) type SliceKey = (AddressType, Option<Vec<SlicePort>>);

/// The key of a slice (`newAddrTypePortMapKey`).
pub(super) fn slice_key(address_type: &AddressType, ports: Option<&[SlicePort]>, profile: &Profile) -> SliceKey {
    let ports = if profile.nil_ports_are_empty { Some(ports.unwrap_or_default()) } else { ports };
    let mut ports = ports.map(<[SlicePort]>::to_vec);
    ports.as_deref_mut().unwrap_or_default().sort_unstable();
    (address_type.clone(), ports)
}

/// What one slice should contain.
pub(super) struct SliceContent {
    pub(super) address_type: AddressType,
    /// In the order in which they are written.
    pub(super) ports: Vec<SlicePort>,
    /// Each endpoint once, in the order of identities.
    pub(super) endpoints: Vec<Endpoint>,
}

impl SliceContent {
    /// The endpoint with the same identity as `stored`.
    pub(super) fn find(&self, stored: &Endpoint, profile: &Profile) -> Option<&Endpoint> {
        let identity = Identity::of(stored, profile);
        let at = self.endpoints.binary_search_by(|e| Identity::of(e, profile).order(&identity));
        at.ok().map(|i| &self.endpoints[i])
    }

    /// Sorts the endpoints. Of several with the same identity the last one counts (`EndpointSet.Insert`).
    fn sort(&mut self, profile: &Profile) {
        self.endpoints.reverse();
        self.endpoints.sort_by(|a, b| Identity::of(a, profile).order(&Identity::of(b, profile)));
        self.endpoints.dedup_by(|a, b| Identity::of(a, profile).order(&Identity::of(b, profile)).is_eq());
    }
}

/// What all slices should contain, and what was left out.
#[derive(Default)]
pub(super) struct MirrorContents {
    /// The slices in the order in which their keys came. Upstream has a map here: up to eight keys come in the order of
    /// insertion, starting at a random one. Sorted keys may come in an order that never happens there, and the order
    /// decides which slices reuse the names of deleted ones.
    pub(super) slices: Vec<SliceContent>,
    /// The places of the slices by key.
    pub(super) places: BTreeMap<SliceKey, usize>,
    /// The number of invalid addresses, and the first of them.
    pub(super) invalid: usize,
    pub(super) first_invalid: Text,
    /// The first address that is not canonical.
    pub(super) uncanonical: Option<Text>,
    /// The number of addresses that were left out, including the invalid ones.
    pub(super) skipped: usize,
}

/// The contents of all slices of an Endpoints object.
pub(super) fn slice_contents(endpoints: &Endpoints, context: &SyncContext) -> Result<MirrorContents, TooLarge> {
    let repacked;
    let subsets = if context.profile.mirror_repacks {
        repacked = subsets::repack(context.profile.hash, &endpoints.subsets)?;
        &repacked
    } else {
        // versions.md#m2: up to 1.26 subsets are mirrored as they are written.
        &endpoints.subsets
    };
    let mut contents = MirrorContents::default();
    for subset in subsets {
        contents.add(subset, context);
    }
    for content in &mut contents.slices {
        content.sort(context.profile);
    }
    contents.check(endpoints)?;
    Ok(contents)
}

impl MirrorContents {
    /// Checks the weight of what every slice repeats of the Endpoints.
    fn check(&self, endpoints: &Endpoints) -> Result<(), TooLarge> {
        let meta = &endpoints.meta;
        let slices = self.slices.iter().filter(|w| !w.endpoints.is_empty()).count();
        let weight = budget::owner(meta) + budget::labels(&meta.labels) + budget::labels(&meta.annotations);
        budget::check(weight.saturating_mul(slices.saturating_sub(1)))
    }

    fn add(&mut self, subset: &EndpointSubset, context: &SyncContext) {
        let profile = context.profile;
        let mut ports: Vec<SlicePort> = subset.ports.iter().map(slice_port).collect();
        sort_ports(&mut ports, profile.hash);
        // Both families have a key, if only to find that a stored slice of the family should be empty.
        let places = [Family::V4, Family::V6].map(|family| self.place(&family.into(), &ports, profile));
        let ready = subset.addresses.iter().map(|a| (a, true));
        let all = ready.chain(subset.not_ready_addresses.iter().map(|a| (a, false)));
        let mut added = 0;
        for (address, ready) in all {
            // Upstream stops here, and does not count later invalid addresses as such.
            if added >= context.per_subset {
                break;
            }
            let Some(ip) = parsed(&address.ip, profile) else {
                if self.invalid == 0 {
                    self.first_invalid = address.ip.clone();
                }
                self.invalid += 1;
                continue;
            };
            if ip.uncanonical {
                self.uncanonical.get_or_insert_with(|| ip.raw.clone());
            }
            let family = ip.family;
            let endpoint = endpoint(address, ip.published(profile.canonical_ips).cloned().unwrap_or_default(), ready);
            let place = if family == Family::V4 { places[0] } else { places[1] };
            self.slices[place].endpoints.push(endpoint);
            added += 1;
        }
        self.skipped += subset.addresses.len() + subset.not_ready_addresses.len() - added;
    }

    /// The place of the slice with these ports, which it writes in this order.
    fn place(&mut self, address_type: &AddressType, ports: &[SlicePort], profile: &Profile) -> usize {
        let key = slice_key(address_type, Some(ports), profile);
        let place = *self.places.entry(key).or_insert(self.slices.len());
        if place == self.slices.len() {
            let (address_type, ports) = (address_type.clone(), Vec::new());
            self.slices.push(SliceContent { address_type, ports, endpoints: Vec::new() });
        }
        self.slices[place].ports = ports.to_vec();
        place
    }
}

/// An address as the release parses it.
fn parsed(raw: &Text, profile: &Profile) -> Option<PodIp> {
    // versions.md#m1: 1.22, built as the reference was, does not read leading zeros.
    if !profile.mirror_leading_zeros && raw.parse::<IpAddr>().is_err() {
        return None;
    }
    Some(PodIp::new(raw.clone())).filter(|ip| ip.canonical.is_some())
}

/// `addressToEndpoint`.
fn endpoint(address: &EndpointAddress, text: Text, ready: bool) -> Endpoint {
    Endpoint {
        addresses: [text].into(),
        conditions: Conditions { ready: Some(ready), ..Conditions::default() },
        hostname: Some(&address.hostname).filter(|h| !h.is_empty()).cloned(),
        target_ref: address.target_ref.clone(),
        node_name: address.node_name.clone(),
        ..Endpoint::default()
    }
}

/// `epPortsToEpsPorts`.
fn slice_port(port: &EndpointPort) -> SlicePort {
    SlicePort {
        name: Some(port.name.clone()),
        protocol: Some(port.protocol.clone()),
        port: Some(port.port),
        app_protocol: port.app_protocol.clone(),
    }
}
