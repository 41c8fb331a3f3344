//! The other slices of a Service that list the endpoints of a slice.

use std::collections::HashMap;

use roster_admission::{ListedSlice, OtherSlices, Unknown};
use roster_engine::model::{AddressKey, HashSeed, Text};

use super::{
    cluster_index::IndexReader,
    fields::{SliceFields, endpoint_hash},
    table::Row,
};

/// Most slices and port names that are compared for one question, which takes some milliseconds. A Service may have any
/// number of slices with the same addresses, each with twenty thousand ports.
const MAX_COMPARED: usize = 128 << 10;

/// Most addresses that are looked up at once. Between two such steps, others may write.
const ADDRESSES_AT_ONCE: usize = 128;

/// Most slices of these addresses that are remembered at once: any number may list one address.
const PAIRS_AT_ONCE: usize = 4096;

/// The other slices that list the same endpoints. They are only looked up while the index is locked; their ports are compared
/// later, those of each slice once.
pub(super) fn other_slices<I: IndexReader>(reader: &I, slice: &ListedSlice<'_>) -> Result<OtherSlices, Unknown> {
    let ListedSlice { namespace, service, addresses, .. } = *slice;
    let most = reader.left().min(MAX_COMPARED);
    let mut listing = ListingSlices { left: most, ..ListingSlices::default() };
    let DifferentAddresses { hashes, places } = DifferentAddresses::of(
        addresses.iter().map(|address| endpoint_hash(namespace, service, AddressKey::of(address))),
    );
    let mut first = 0;
    // Without addresses, the question is still whether slices are known.
    for some in hashes.chunks(ADDRESSES_AT_ONCE).chain(hashes.is_empty().then_some(&[][..])) {
        let mut turn = Turn { first, ..Turn::default() };
        while !turn.is_over {
            reader.read(|index| {
                let slices = index.live.slices.known()?;
                index.knows(slices, namespace, "no other slices of the namespace were given")?;
                turn.take(some, |hash| slices.lookup().of(hash), &mut listing, slice.name);
                Ok(())
            })?;
        }
        first += some.len();
    }
    let mut answer = listing.sharing(slice.ports, hashes.len());
    reader.spend(most - listing.left);
    if !answer.names.is_empty() {
        answer.names = places.into_iter().map(|place| answer.names[place].clone()).collect();
    }
    Ok(answer)
}

/// Addresses, each once: a slice may list one of them a thousand times.
struct DifferentAddresses {
    hashes: Vec<u64>,
    /// The place among these, for each of all addresses.
    places: Vec<usize>,
}

impl DifferentAddresses {
    fn of(all: impl ExactSizeIterator<Item = u64>) -> Self {
        let mut this = Self { hashes: Vec::new(), places: Vec::with_capacity(all.len()) };
        let mut known: HashMap<u64, usize, HashSeed> = HashMap::default();
        for hash in all {
            let place = *known.entry(hash).or_insert(this.hashes.len());
            if place == this.hashes.len() {
                this.hashes.push(hash);
            }
            this.places.push(place);
        }
        this
    }
}

/// How far the slices of some addresses were looked up.
#[derive(Default)]
struct Turn {
    /// The place of the first of these addresses.
    first: usize,
    /// How many of them are done.
    done: usize,
    /// The last slice of the next one that was looked at.
    after: Option<Text>,
    is_over: bool,
}

impl Turn {
    /// Goes on with the next slices. `of` gives those that list an address, by its hash, in order of their names: others may
    /// have come or gone since the last time.
    fn take<'s, S: SliceFields + Clone + 's>(
        &mut self,
        hashes: &[u64],
        of: impl Fn(u64) -> &'s [S],
        listing: &mut ListingSlices<S>,
        own: &str,
    ) {
        let mut left = PAIRS_AT_ONCE;
        while let Some(hash) = hashes.get(self.done) {
            let all = of(*hash);
            let seen = self.after.as_deref().map_or(0, |after| all.partition_point(|slice| slice.name() <= after));
            let rest = &all[seen..];
            let some = &rest[..rest.len().min(left)];
            listing.add(self.first + self.done, some, own);
            left -= some.len();
            if some.len() < rest.len() && !listing.is_cut {
                if let Some(last) = some.last() {
                    self.after = Some(last.name().into());
                }
                return;
            }
            self.after = None;
            self.done += 1;
        }
        self.is_over = true;
    }
}

/// The slices that list an address, while they are collected.
struct ListingSlices<S> {
    /// Each slice once.
    slices: Vec<S>,
    /// Their places, by number.
    places: HashMap<usize, usize, HashSeed>,
    /// The places of an address and of a slice that lists it, in order.
    pairs: Vec<(usize, usize)>,
    /// How many more slices and port names may be compared.
    left: usize,
    is_cut: bool,
}

impl<S> Default for ListingSlices<S> {
    fn default() -> Self {
        Self { slices: Vec::new(), places: HashMap::default(), pairs: Vec::new(), left: 0, is_cut: false }
    }
}

impl<S: SliceFields + Clone> ListingSlices<S> {
    /// Adds the slices that list an address, but for the one of this name.
    fn add(&mut self, address: usize, slices: &[S], own: &str) {
        let most = slices.len().min(self.left);
        self.is_cut |= slices.len() > most;
        self.left -= most;
        for slice in slices[..most].iter().filter(|slice| slice.name() != own) {
            let place = *self.places.entry(slice.id()).or_insert_with(|| {
                self.slices.push(slice.clone());
                self.slices.len() - 1
            });
            self.pairs.push((address, place));
        }
    }

    /// The first slice for each address that has one of these ports.
    fn sharing(&mut self, ports: &[Text], addresses: usize) -> OtherSlices {
        let mut answer = OtherSlices { names: Vec::new(), is_cut: self.is_cut };
        if self.pairs.is_empty() {
            return answer;
        }
        answer.names.resize(addresses, None);
        let mut shares: Vec<Option<bool>> = vec![None; self.slices.len()];
        for &(address, place) in &self.pairs {
            if answer.names[address].is_some() {
                continue;
            }
            let other = &self.slices[place];
            let is_shared = *shares[place].get_or_insert_with(|| {
                let cost = cost_of_comparison(ports, other.port_names());
                if cost > self.left {
                    answer.is_cut = true;
                    return false;
                }
                self.left -= cost;
                share_a_port(ports, other.port_names())
            });
            if is_shared {
                answer.names[address] = Some(other.name().into());
            }
        }
        answer
    }
}

/// The number of names that [`share_a_port`] compares at most.
fn cost_of_comparison(a: &[Text], b: &[Text]) -> usize {
    let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let steps = usize::try_from(many.len().checked_ilog2().map_or(1, |log| log + 1)).unwrap_or(1);
    (few.len() * steps).min(few.len() + many.len())
}

/// Whether slices with these ports would send the same traffic to an address: pods whose named ports have different numbers
/// are in different slices, and so are addresses of different ports. Without ports there is only DNS. The names are sorted.
fn share_a_port(a: &[Text], b: &[Text]) -> bool {
    if a.is_empty() && b.is_empty() {
        return true;
    }
    let (few, mut many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let is_searched = cost_of_comparison(a, b) < few.len() + many.len();
    few.iter().any(|name| {
        let at = if is_searched {
            many.partition_point(|other| other < name)
        } else {
            many.iter().position(|other| other >= name).unwrap_or(many.len())
        };
        many = &many[at..];
        many.first() == Some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_share_a_port_if_a_name_is_in_both_or_neither_has_any() {
        let many = (0..100).map(|i| format!("p{i:03}")).collect::<Vec<_>>().join(" ");
        for (a, b, want) in [
            ("", "", true),
            ("", "http", false),
            ("http", "http", true),
            ("http", "https", false),
            ("a c e", "b d e", true),
            ("a c e", "b d f", false),
            ("p099", &many, true),
            ("p000 x", &many, true),
            ("a p0505 z", &many, false),
        ] {
            let names = |text: &str| text.split_whitespace().map(Text::from).collect::<Vec<_>>();
            let (a, b) = (names(a), names(b));
            assert_eq!((share_a_port(&a, &b), share_a_port(&b, &a)), (want, want), "{a:?} {b:?}");
        }
    }
}
