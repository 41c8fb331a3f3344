//! Which endpoints the slices of an Endpoints object should hold.

use std::{collections::BTreeMap, net::IpAddr};

use crate::{
    engine::{
        budget::{self, TooLarge},
        compat::Profile,
        endpointslice::{Identity, sort_ports},
        state::Context,
        subsets,
    },
    model::{
        AddressType, Conditions, Endpoint, EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Family, PodIp,
        SlicePort, Text,
    },
};

/// What tells slices apart: address type and ports, sorted by value; `None` where a stored slice has no port
/// list and the release takes that for another one than the empty list (S17).
pub(super) type Key = (AddressType, Option<Vec<SlicePort>>);

/// The key of a slice (`newAddrTypePortMapKey`).
pub(super) fn key(address_type: &AddressType, ports: Option<&[SlicePort]>, profile: &Profile) -> Key {
    let ports = if profile.nil_ports_are_empty { Some(ports.unwrap_or_default()) } else { ports };
    let mut ports = ports.map(<[SlicePort]>::to_vec);
    ports.as_deref_mut().unwrap_or_default().sort_unstable();
    (address_type.clone(), ports)
}

/// What one slice should hold.
#[derive(Default)]
pub(super) struct Wanted {
    /// How many keys were met before this one.
    pub(super) at: usize,
    /// In the order in which they are written.
    pub(super) ports: Vec<SlicePort>,
    /// Each endpoint once, in the order of identities.
    pub(super) endpoints: Vec<Endpoint>,
}

impl Wanted {
    /// The wanted endpoint that is the same one as `stored`.
    pub(super) fn find(&self, stored: &Endpoint, profile: &Profile) -> Option<&Endpoint> {
        let identity = Identity::of(stored, profile);
        let at = self.endpoints.binary_search_by(|e| Identity::of(e, profile).order(&identity));
        at.ok().map(|i| &self.endpoints[i])
    }

    /// Puts the endpoints in order. Of several that are the same one the last counts (`EndpointSet.Insert`).
    fn settle(&mut self, profile: &Profile) {
        self.endpoints.reverse();
        self.endpoints.sort_by(|a, b| Identity::of(a, profile).order(&Identity::of(b, profile)));
        self.endpoints.dedup_by(|a, b| Identity::of(a, profile).order(&Identity::of(b, profile)).is_eq());
    }
}

/// What all slices should hold, and what was left out.
#[derive(Default)]
pub(super) struct Desired {
    pub(super) slices: BTreeMap<Key, Wanted>,
    /// Addresses that are none; the first of them.
    pub(super) invalid: usize,
    pub(super) first_invalid: Text,
    /// The first address that is not canonical.
    pub(super) uncanonical: Option<Text>,
    /// Addresses that were left out, the invalid ones included.
    pub(super) skipped: usize,
}

/// What this controller writes, in a sentence.
pub(super) const LISTS: &str = "mirrored slices";

/// The desired slices.
pub(super) fn desired(endpoints: &Endpoints, context: &Context) -> Result<Desired, TooLarge> {
    let repacked;
    let subsets = if context.profile.mirror_repacks {
        repacked = subsets::repack(context.profile.hash, &endpoints.subsets)?;
        &repacked
    } else {
        // M2: up to 1.26 subsets are taken as they are written.
        &endpoints.subsets
    };
    let mut desired = Desired::default();
    for subset in subsets {
        desired.add(subset, context);
    }
    for wanted in desired.slices.values_mut() {
        wanted.settle(context.profile);
    }
    desired.check(endpoints)?;
    Ok(desired)
}

impl Desired {
    /// The slices in the order in which their keys were met. Upstream walks through a map here: up to eight keys come
    /// in the order in which they were put in, from a random one on, and round. Sorted keys may come in an order that
    /// never happens there, and with slices to be reused the order decides which of them get one.
    pub(super) fn in_turn(&self) -> Vec<(&Key, &Wanted)> {
        let mut all: Vec<_> = self.slices.iter().collect();
        all.sort_unstable_by_key(|(_, wanted)| wanted.at);
        all
    }

    /// That what every slice repeats of the Endpoints does not weigh too much.
    fn check(&self, endpoints: &Endpoints) -> Result<(), TooLarge> {
        let meta = &endpoints.meta;
        let slices = self.slices.values().filter(|w| !w.endpoints.is_empty()).count();
        let weight = budget::owner(meta) + budget::labels(&meta.labels) + budget::labels(&meta.annotations);
        budget::check(weight.saturating_mul(slices.saturating_sub(1)))
    }

    fn add(&mut self, subset: &EndpointSubset, context: &Context) {
        let profile = context.profile;
        let mut ports: Vec<SlicePort> = subset.ports.iter().map(slice_port).collect();
        sort_ports(&mut ports, profile.hash);
        // Both families are wanted, if only to find that there is nothing to put into a stored slice.
        let keys = [Family::V4, Family::V6].map(|f| key(&f.into(), Some(&ports), profile));
        for key in &keys {
            let at = self.slices.len();
            let wanted = self.slices.entry(key.clone()).or_insert_with(|| Wanted { at, ..Wanted::default() });
            wanted.ports.clone_from(&ports);
        }
        let ready = subset.addresses.iter().map(|a| (a, true));
        let all = ready.chain(subset.not_ready_addresses.iter().map(|a| (a, false)));
        let mut added = 0;
        for (address, ready) in all {
            // Upstream stops here, so that invalid addresses further down are not counted as such.
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
            let key = if family == Family::V4 { &keys[0] } else { &keys[1] };
            if let Some(wanted) = self.slices.get_mut(key) {
                wanted.endpoints.push(endpoint);
            }
            added += 1;
        }
        self.skipped += subset.addresses.len() + subset.not_ready_addresses.len() - added;
    }
}

/// An address, if the release reads it as one.
fn parsed(raw: &Text, profile: &Profile) -> Option<PodIp> {
    // M1: 1.22, built as the reference was, reads no leading zeros.
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
