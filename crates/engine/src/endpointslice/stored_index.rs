//! An index of the stored endpoints of one port group, by identity.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use crate::{
    model::{Endpoint, EndpointSlice, Text},
    profile::Profile,
};

use super::identity::Identity;

/// Stored endpoints by identity. Of several with one identity the first one counts.
///
/// The slices of the real controllers list endpoints in random order. A search reads one slot of eight bytes, and the
/// endpoint that it finds; the table of a few thousand endpoints stays in the processor's cache.
pub(super) struct StoredIndex<'a> {
    endpoints: Vec<&'a Endpoint>,
    places: Places,
}

/// Places of endpoints among all of them.
enum Places {
    /// A hash table by the first address, searched from its hash onwards. Its length is a power of two.
    Hashed(Vec<Slot>),
    /// Sorted by identity, if too many share an address or a hash.
    Sorted(Vec<usize>),
}

/// A slot of the table.
#[derive(Clone, Copy)]
struct Slot {
    /// The upper half of the hash.
    tag: u32,
    /// [`FREE`], or the place of an endpoint.
    place: u32,
}

const FREE: u32 = u32::MAX;

/// The most slots that are searched: enough for some thirty pods that share the address of their node, and few enough
/// that input made to collide gains nothing. At most half of the slots are taken, so that a search reaches this limit
/// by chance once in some thousand million endpoints.
const SEARCHED: usize = 32;

/// The result of a search in the table.
enum Search {
    Found(usize),
    /// Not found; this slot is free.
    Free(usize),
    Crowded,
}

impl<'a> StoredIndex<'a> {
    /// The endpoints of these slices, one after the other.
    pub(super) fn of(slices: &[&'a EndpointSlice], profile: &Profile) -> Self {
        let mut endpoints = Vec::with_capacity(slices.iter().map(|s| s.endpoints.len()).sum());
        endpoints.extend(slices.iter().flat_map(|s| &s.endpoints));
        let places = hashed(&endpoints, profile).unwrap_or_else(|| sorted(&endpoints, profile));
        Self { endpoints, places }
    }

    /// How many endpoints there are.
    pub(super) fn len(&self) -> usize {
        self.endpoints.len()
    }

    /// The endpoint of this identity, and its place.
    #[inline]
    pub(super) fn find(&self, identity: &Identity<'_>, profile: &Profile) -> Option<(usize, &'a Endpoint)> {
        let place = match &self.places {
            _ if self.endpoints.is_empty() => return None,
            Places::Hashed(slots) => {
                let first = identity.addresses().first().copied();
                match search(slots, hash(first), |place| identity.is_of(self.endpoints[place], profile)) {
                    Search::Found(place) => place,
                    Search::Free(_) | Search::Crowded => return None,
                }
            }
            Places::Sorted(order) => {
                let of = |place: usize| Identity::of(self.endpoints[place], profile);
                order[order.binary_search_by(|place| of(*place).order(identity)).ok()?]
            }
        };
        Some((place, self.endpoints[place]))
    }
}

/// All places in a hash table; `None` if some search would reach its limit.
fn hashed(endpoints: &[&Endpoint], profile: &Profile) -> Option<Places> {
    let mut slots = vec![Slot { tag: 0, place: FREE }; (2 * endpoints.len()).next_power_of_two()];
    for (place, endpoint) in endpoints.iter().enumerate() {
        let hash = hash(endpoint.addresses.iter().min());
        let is_it = |other: usize| Identity::of(endpoint, profile).is_of(endpoints[other], profile);
        match search(&slots, hash, is_it) {
            Search::Found(_) => {}
            Search::Free(slot) => slots[slot] = Slot { tag: tag(hash), place: u32::try_from(place).ok()? },
            Search::Crowded => return None,
        }
    }
    Some(Places::Hashed(slots))
}

/// All places, sorted.
fn sorted(endpoints: &[&Endpoint], profile: &Profile) -> Places {
    let mut order: Vec<(Identity<'_>, usize)> = endpoints.iter().map(|e| Identity::of(e, profile)).zip(0..).collect();
    order.sort_by(|(a, _), (b, _)| a.order(b));
    order.dedup_by(|(a, _), (b, _)| a.order(b).is_eq());
    Places::Sorted(order.into_iter().map(|(_, place)| place).collect())
}

fn hash(address: Option<&Text>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(address.map_or(&[], |a| a.as_bytes()));
    hasher.finish()
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Searches the slots of a hash; the distance between them grows.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the mask leaves less than this of it")]
fn search(slots: &[Slot], hash: u64, is_it: impl Fn(usize) -> bool) -> Search {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    for step in 1..=SEARCHED {
        let Slot { tag: found, place } = slots[at];
        if place == FREE {
            return Search::Free(at);
        }
        if found == tag(hash) && is_it(place as usize) {
            return Search::Found(place as usize);
        }
        at = (at + step) & mask;
    }
    Search::Crowded
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{model::ObjectRef, profile::Minor};

    fn endpoint(addresses: &[&str], name: &str) -> Endpoint {
        let target = ObjectRef { name: name.into(), ..ObjectRef::default() };
        Endpoint {
            addresses: addresses.iter().map(Text::new).collect(),
            target_ref: Some(Arc::new(target)),
            ..Endpoint::default()
        }
    }

    #[test]
    fn the_first_of_an_identity_is_found() {
        let address = |i: usize| format!("10.0.{}.{}", i / 200, i % 200);
        let apart: Vec<_> = (0..2000).map(|i| endpoint(&[&address(i)], &format!("p{i}"))).collect();
        let twice: Vec<_> = (0..50).map(|i| endpoint(&[&address(i % 40)], "p")).collect();
        let one_address: Vec<_> = (0..100).map(|i| endpoint(&["10.0.0.1"], &format!("p{}", i % 70))).collect();
        let lists = [
            endpoint(&[], "p"),
            endpoint(&["10.0.0.2", "10.0.0.1"], "p"),
            endpoint(&["10.0.0.1", "10.0.0.2"], "p"),
            endpoint(&["10.0.0.1"], "p"),
            endpoint(&["10.0.0.1"], ""),
        ];
        for (case, stored, is_hashed) in [
            ("none", &[][..], true),
            ("one", &apart[..1], true),
            ("all apart", &apart, true),
            ("some twice", &twice, true),
            ("many on one address", &one_address, false),
            ("lists of addresses", &lists, true),
        ] {
            let slices: Vec<_> = stored
                .chunks(100)
                .map(|chunk| EndpointSlice { endpoints: chunk.to_vec(), ..EndpointSlice::default() })
                .collect();
            let slices: Vec<&EndpointSlice> = slices.iter().collect();
            let profile = Minor::NEWEST.profile();
            let index = StoredIndex::of(&slices, profile);
            assert_eq!((index.len(), matches!(index.places, Places::Hashed(_))), (stored.len(), is_hashed), "{case}");
            for wanted in apart.iter().chain(&one_address).chain(&lists) {
                let wanted = Identity::of(wanted, profile);
                let first = stored.iter().position(|e| Identity::of(e, profile).order(&wanted).is_eq());
                assert_eq!(index.find(&wanted, profile).map(|(place, _)| place), first, "{case}: {wanted:?}");
            }
        }
    }
}
