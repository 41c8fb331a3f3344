//! The canonical form of subsets (`RepackSubsets`): addresses that serve the same ports share a subset.
//!
//! The input consists of blocks: addresses that serve the same ports. A stored subset is a block, and so are all pods
//! with the same numbers under the same names. Addresses and ports are stored once and never multiplied: a port only
//! refers to a set of blocks. The addresses of a set make a sorted list, and ports with equal lists share a subset.
//! Hashes are only computed to order ports and subsets, if there are several.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::{
    budget::{self, TooLarge},
    model::{EndpointAddress, EndpointPort, EndpointSubset, head},
    order_hash::{Hash128, hash},
    profile::HashKind,
};

/// The most addresses that are listed once more for ports of several blocks. Pods are listed as often as they
/// have container ports, which is less; Services with two ports of one name and stored subsets that share ports
/// may want more.
const MAX_MERGED: usize = budget::MAX_WEIGHT / size_of::<SubsetMember>();

/// The canonical form of stored subsets.
///
/// Ports with `appProtocol` never merge: upstream compares them by pointer, and every port that was
/// decoded has its own.
pub fn repack(kind: HashKind, subsets: &[EndpointSubset]) -> Result<Vec<EndpointSubset>, TooLarge> {
    let mut all = Repack::default();
    for subset in subsets {
        let block = all.block();
        for (addresses, ready) in [(&subset.addresses, true), (&subset.not_ready_addresses, false)] {
            for address in addresses {
                all.address(address.clone(), block, ready);
            }
        }
        let set = all.set(vec![block]);
        for port in &subset.ports {
            all.serve(set, port.clone());
        }
        if subset.ports.is_empty() {
            all.serve(set, no_port());
        }
    }
    Ok(all.pack(kind)?.subsets)
}

/// What stands for "no port at all": a port whose number is not positive keeps its addresses, and is not
/// published.
pub(crate) fn no_port() -> EndpointPort {
    EndpointPort { port: -1, ..EndpointPort::default() }
}

/// Addresses that serve the same ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockId(u32);

/// Some blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SetId(u32);

/// Addresses and ports, in the order in which they are found.
#[derive(Default)]
pub(crate) struct Repack {
    addresses: Vec<EndpointAddress>,
    /// The block of each address, and whether it is ready.
    joined: Vec<(BlockId, bool)>,
    blocks: u32,
    sets: Vec<Vec<BlockId>>,
    ports: Vec<(SetId, EndpointPort)>,
    places: bool,
}

/// The subsets, in canonical order.
pub(crate) struct PackedSubsets {
    pub(crate) subsets: Vec<EndpointSubset>,
    /// Where everything went, if [`Repack::record_places`] was called.
    pub(crate) places: SubsetPlaces,
}

/// Where addresses and ports went that were put in. They are known by the order in which they came.
#[derive(Default)]
pub(crate) struct SubsetPlaces {
    /// For each subset its addresses in order, the ready ones and the others.
    pub(crate) listed: Vec<[Vec<usize>; 2]>,
    /// For each address the one that is listed for it: of several with one identity there is one.
    pub(crate) stands_for: Vec<usize>,
    /// For each port its subset; `None` where no address serves it.
    pub(crate) subset_of: Vec<Option<usize>>,
}

impl Repack {
    /// With room for `n` addresses.
    pub(crate) fn with_capacity(n: usize) -> Self {
        Self { addresses: Vec::with_capacity(n), joined: Vec::with_capacity(n), ..Self::default() }
    }

    /// Records [`SubsetPlaces`].
    pub(crate) fn record_places(&mut self) {
        self.places = true;
    }

    /// A new block.
    pub(crate) fn block(&mut self) -> BlockId {
        // There are fewer blocks, and fewer sets, than bytes of input.
        self.blocks += 1;
        BlockId(self.blocks - 1)
    }

    /// The set of these blocks; none is there twice.
    pub(crate) fn set(&mut self, blocks: Vec<BlockId>) -> SetId {
        self.sets.push(blocks);
        SetId(u32::try_from(self.sets.len() - 1).unwrap_or(u32::MAX))
    }

    /// Puts an address into a block, all of whose addresses must serve some port. Of several with one IP and target
    /// uid the first is published, and not ready wins over ready.
    #[inline]
    pub(crate) fn address(&mut self, address: EndpointAddress, block: BlockId, ready: bool) {
        self.addresses.push(address);
        self.joined.push((block, ready));
    }

    /// The addresses of `set` serve `port`. Equal ports are the same, unless they have an `appProtocol`.
    pub(crate) fn serve(&mut self, set: SetId, port: EndpointPort) {
        self.ports.push((set, port));
    }

    /// Sorts it all out.
    pub(crate) fn pack(mut self, kind: HashKind) -> Result<PackedSubsets, TooLarge> {
        let (blocks, rank, stands_for) = self.addresses_by_block();
        let (lists, served) = self.lists(blocks, rank)?;
        let groups = groups(&lists, served);
        self.check(&groups, &lists)?;
        let shared = groups.len() > 1;
        let mut packed = Vec::with_capacity(groups.len());
        for (list, ports) in groups {
            let mut subset = self.subset(&lists[list], shared);
            let published = ports.iter().map(|p| &self.ports[p.port].1).filter(|p| p.port > 0);
            subset.ports = published.cloned().collect();
            sort_by_hash(&mut subset.ports, |p| hash(kind, p));
            packed.push((subset, list, ports));
        }
        sort_by_hash(&mut packed, |(subset, ..)| hash(kind, subset));
        let places = if self.places { self.places_of(&packed, &lists, stands_for) } else { SubsetPlaces::default() };
        Ok(PackedSubsets { subsets: packed.into_iter().map(|(subset, ..)| subset).collect(), places })
    }

    /// For each block its addresses in order, each once. For each address its place in the order, if there are several
    /// blocks; and, if places are recorded, the address that stands for it.
    fn addresses_by_block(&self) -> (Vec<List>, Vec<usize>, Vec<usize>) {
        let mut sizes = vec![0; self.blocks as usize];
        self.joined.iter().for_each(|(block, _)| sizes[block.0 as usize] += 1);
        let mut lists: Vec<List> = sizes.into_iter().map(List::with_capacity).collect();
        let some = |wanted: bool| if wanted { vec![0; self.addresses.len()] } else { Vec::new() };
        let (mut rank, mut stands_for) = (some(self.blocks > 1), some(self.places));
        // The address that stands for all of its identity.
        let mut first = usize::MAX;
        for (place, at) in self.address_order().enumerate() {
            if let Some(rank) = rank.get_mut(at) {
                *rank = place;
            }
            if first == usize::MAX || identity(&self.addresses[first]) != identity(&self.addresses[at]) {
                first = at;
            }
            if let Some(other) = stands_for.get_mut(at) {
                *other = first;
            }
            let (block, ready) = self.joined[at];
            add(&mut lists[block.0 as usize], SubsetMember::new(first, ready));
        }
        (lists, rank, stands_for)
    }

    /// The addresses by text of the IP, then uid, then as they came (`LessEndpointAddress`; an address
    /// without target sorts as one with an empty uid, because the two are the same).
    fn address_order(&self) -> impl Iterator<Item = usize> {
        let mut order: Vec<(u128, u32)> = (0..).zip(&self.addresses).map(|(i, a)| (head(&a.ip), i)).collect();
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| {
                let of = |i: u32| identity(&self.addresses[i as usize]);
                of(a.1).cmp(&of(b.1)).then(a.1.cmp(&b.1))
            })
        });
        order.into_iter().map(|(_, i)| i as usize)
    }

    /// The addresses of each distinct port: those of its set, or of all its sets together.
    fn lists(&self, blocks: Vec<List>, rank: Vec<usize>) -> Result<(Vec<List>, Vec<Served>), TooLarge> {
        let mut lists = Lists { all: blocks, of_sets: BTreeMap::new(), rank, room: MAX_MERGED };
        let mut served = Vec::with_capacity(self.ports.len());
        let mut order: Vec<usize> = (0..self.ports.len()).collect();
        order.sort_by(|a, b| self.ports[*a].1.cmp(&self.ports[*b].1));
        let equal = |a: &usize, b: &usize| {
            let (a, b) = (&self.ports[*a].1, &self.ports[*b].1);
            a.app_protocol.is_none() && a == b
        };
        for same in order.chunk_by(equal) {
            let mut sets: Sets = same.iter().map(|p| self.ports[*p].0).collect();
            sets.sort_unstable();
            sets.dedup();
            let list = lists.of(sets, self)?;
            let all = if self.places { same.to_vec() } else { Vec::new() };
            served.push(Served { list, port: same[0], all });
        }
        Ok((lists.all, served))
    }

    /// That addresses which are in several subsets do not weigh too much.
    fn check(&self, groups: &[(usize, Vec<Served>)], lists: &[List]) -> Result<(), TooLarge> {
        if groups.len() < 2 {
            return Ok(());
        }
        let weights: Vec<usize> = self.addresses.iter().map(budget::address).collect();
        let once: usize = weights.iter().sum();
        let all = groups.iter().flat_map(|(list, _)| &lists[*list]).map(|m| weights[m.at()]);
        budget::check(all.fold(0usize, usize::saturating_add).saturating_sub(once))
    }

    /// The subset of these addresses. They are moved out unless other subsets may need them.
    fn subset(&mut self, members: &[SubsetMember], shared: bool) -> EndpointSubset {
        let ready = members.iter().filter(|m| m.ready()).count();
        let mut subset = EndpointSubset {
            addresses: Vec::with_capacity(ready),
            not_ready_addresses: Vec::with_capacity(members.len() - ready),
            ports: Vec::new(),
        };
        for member in members {
            let address = &mut self.addresses[member.at()];
            let address = if shared { address.clone() } else { std::mem::take(address) };
            let list = if member.ready() { &mut subset.addresses } else { &mut subset.not_ready_addresses };
            list.push(address);
        }
        subset
    }

    fn places_of(
        &self,
        packed: &[(EndpointSubset, usize, Vec<Served>)],
        lists: &[List],
        stands_for: Vec<usize>,
    ) -> SubsetPlaces {
        let mut places = SubsetPlaces { stands_for, subset_of: vec![None; self.ports.len()], listed: Vec::new() };
        for (subset, (_, list, ports)) in packed.iter().enumerate() {
            let of = |ready| lists[*list].iter().filter(|m| m.ready() == ready).map(|m| m.at()).collect();
            places.listed.push([of(true), of(false)]);
            for port in ports.iter().flat_map(|p| &p.all) {
                places.subset_of[*port] = Some(subset);
            }
        }
        places
    }
}

type Sets = SmallVec<[SetId; 1]>;

/// Lists of addresses: first those of the blocks, then those that were made of several.
struct Lists {
    all: Vec<List>,
    of_sets: BTreeMap<Sets, usize>,
    /// For each address its place in the order, if there are several blocks.
    rank: Vec<usize>,
    /// How many more may be listed.
    room: usize,
}

impl Lists {
    /// Which list the addresses of these sets are, made if it is the first time that they are asked for.
    fn of(&mut self, sets: Sets, repack: &Repack) -> Result<usize, TooLarge> {
        let blocks = || sets.iter().flat_map(|s| &repack.sets[s.0 as usize]).map(|b| b.0 as usize);
        if let ([_], Some(block), 1) = (sets.as_slice(), blocks().next(), blocks().take(2).count()) {
            return Ok(block);
        }
        if let Some(known) = self.of_sets.get(&sets) {
            return Ok(*known);
        }
        let mut blocks: Vec<usize> = blocks().collect();
        blocks.sort_unstable();
        blocks.dedup();
        let members = blocks.iter().map(|b| self.all[*b].len()).sum();
        let over = TooLarge { weight: size_of::<SubsetMember>() * (MAX_MERGED + members) };
        self.room = self.room.checked_sub(members).ok_or(over)?;
        let list = merge(blocks.iter().map(|b| self.all[*b].as_slice()), &self.rank);
        self.all.push(list);
        self.of_sets.insert(sets, self.all.len() - 1);
        Ok(self.all.len() - 1)
    }
}

/// A port that some addresses serve.
struct Served {
    /// Which list of addresses.
    list: usize,
    /// The port.
    port: usize,
    /// All equal ports, if places are recorded.
    all: Vec<usize>,
}

/// The ports grouped by equal lists of addresses, without ports that no address serves.
fn groups(lists: &[List], mut served: Vec<Served>) -> Vec<(usize, Vec<Served>)> {
    served.retain(|p| !lists[p.list].is_empty());
    // Lists are compared with each other, and not once more for every port.
    let mut order: Vec<usize> = (0..lists.len()).collect();
    order.sort_by(|a, b| lists[*a].cmp(&lists[*b]));
    let mut first_equal = vec![0; lists.len()];
    for equal in order.chunk_by(|a, b| lists[*a] == lists[*b]) {
        for list in equal {
            first_equal[*list] = equal[0];
        }
    }
    served.sort_by_key(|p| first_equal[p.list]);
    let mut groups: Vec<(usize, Vec<Served>)> = Vec::new();
    for port in served {
        let list = first_equal[port.list];
        match groups.last_mut() {
            Some((known, ports)) if *known == list => ports.push(port),
            _ => groups.push((list, vec![port])),
        }
    }
    groups
}

/// All members of some lists, in the order of their addresses.
fn merge<'a>(lists: impl Iterator<Item = &'a [SubsetMember]>, rank: &[usize]) -> List {
    let mut all: List = lists.flatten().copied().collect();
    // Each list is in order: there are few runs to merge.
    all.sort_by_key(|m| rank[m.at()]);
    let mut merged = List::with_capacity(all.len());
    for member in all {
        add(&mut merged, member);
    }
    merged
}

/// The addresses of a block, in order.
type List = Vec<SubsetMember>;

/// Appends an address, unless it is there already: then not ready wins.
fn add(list: &mut List, member: SubsetMember) {
    match list.last_mut() {
        Some(known) if known.at() == member.at() => known.unite(member.ready()),
        _ => list.push(member),
    }
}

/// What tells two addresses apart: IP and uid of the target.
fn identity(a: &EndpointAddress) -> (&str, &str) {
    (&a.ip, a.target_ref.as_ref().map_or("", |t| t.uid.as_str()))
}

/// An address of a block: its index, and whether it is ready there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SubsetMember(u64);

impl SubsetMember {
    fn new(at: usize, ready: bool) -> Self {
        Self((at as u64) << 1 | u64::from(ready))
    }

    fn at(self) -> usize {
        usize::try_from(self.0 >> 1).unwrap_or(usize::MAX)
    }

    fn ready(self) -> bool {
        self.0 & 1 == 1
    }

    fn unite(&mut self, ready: bool) {
        if !ready {
            self.0 &= !1;
        }
    }
}

/// Sorts by hash, which is only computed where there is an order to find.
fn sort_by_hash<T>(items: &mut [T], of: impl Fn(&T) -> Hash128) {
    if items.len() > 1 {
        items.sort_by_cached_key(of);
    }
}
