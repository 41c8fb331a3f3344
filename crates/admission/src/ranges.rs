//! The address ranges of all policies, compiled once, and the ones that count for an object.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
    net::IpAddr,
    ops::Range,
    sync::Arc,
};

use roster_engine::model::{Cidr, HashSeed, Text};
use smallvec::SmallVec;

/// The ranges that the policies of an object allow and deny.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    all: Arc<PolicyRanges>,
    /// The policies whose allowed ranges count.
    pub(super) allowing: PolicySet,
    /// The policies whose denied ranges count.
    pub(super) denying: PolicySet,
}

impl Ranges {
    /// None of these ranges yet.
    pub(super) fn none_of(all: &Arc<PolicyRanges>) -> Self {
        Self { all: all.clone(), allowing: PolicySet::default(), denying: PolicySet::default() }
    }

    /// The allowed ranges that count, in order.
    pub(super) fn allowed(&self) -> impl Iterator<Item = Cidr> {
        self.all.allowed.counting(&self.allowing).map(|(range, _)| range)
    }

    /// The denied ranges that count, in order, each once.
    pub(super) fn denied(&self) -> impl Iterator<Item = DeniedRange<'_>> {
        let name = |(range, owner)| Some(DeniedRange { range, policy: self.all.names.get(owner)? });
        self.all.denied.counting(&self.denying).filter_map(name)
    }

    /// A look-up of many addresses.
    pub(super) fn lookup(&self) -> RangeLookup<'_> {
        RangeLookup {
            ranges: self,
            allowed: FirstOwners::default(),
            denied: FirstOwners::default(),
            any_allowed: OnceCell::new(),
        }
    }
}

/// Ranges are equal if they have the same effect, whichever policies they come from.
impl PartialEq for Ranges {
    fn eq(&self, other: &Self) -> bool {
        let is_same =
            Arc::ptr_eq(&self.all, &other.all) && (&self.allowing, &self.denying) == (&other.allowing, &other.denying);
        is_same || self.allowed().eq(other.allowed()) && self.denied().eq(other.denied())
    }
}

impl Eq for Ranges {}

/// A range that a policy denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeniedRange<'a> {
    /// The range.
    pub(super) range: Cidr,
    /// The name of the policy.
    pub(super) policy: &'a Text,
}

/// The look-up of addresses in the ranges of an object.
#[derive(Debug)]
pub(super) struct RangeLookup<'a> {
    ranges: &'a Ranges,
    allowed: FirstOwners,
    denied: FirstOwners,
    /// Whether a range is allowed at all. It is found once, since an object may have many addresses and policies many ranges.
    any_allowed: OnceCell<bool>,
}

impl<'a> RangeLookup<'a> {
    /// Whether any policy allows any range.
    pub(super) fn allows_any(&self) -> bool {
        *self.any_allowed.get_or_init(|| self.ranges.allowed().next().is_some())
    }

    /// Whether the address is in an allowed range.
    pub(super) fn allows(&self, ip: IpAddr) -> bool {
        self.ranges.all.allowed.outermost(ip, &self.ranges.allowing, &self.allowed).is_some()
    }

    /// The widest denied range that contains the address. Of several policies that deny it, the first by name counts.
    pub(super) fn denies(&self, ip: IpAddr) -> Option<DeniedRange<'a>> {
        let all = &self.ranges.all;
        let (range, owner) = all.denied.outermost(ip, &self.ranges.denying, &self.denied)?;
        Some(DeniedRange { range, policy: all.names.get(owner)? })
    }
}

/// The ranges of all policies, which are numbered by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PolicyRanges {
    names: Vec<Text>,
    allowed: RangeTree,
    denied: RangeTree,
}

impl PolicyRanges {
    /// The ranges of policies in order of their names: the name, the allowed and the denied ranges.
    pub(super) fn new<'a>(policies: impl Iterator<Item = (&'a Text, &'a [Cidr], &'a [Cidr])>) -> Self {
        let (mut names, mut allowed, mut denied) = (Vec::new(), Vec::new(), Vec::new());
        for (owner, (name, allow, deny)) in policies.enumerate() {
            names.push(name.clone());
            allowed.extend(allow.iter().map(|range| (*range, owner)));
            denied.extend(deny.iter().map(|range| (*range, owner)));
        }
        Self { names, allowed: RangeTree::new(allowed), denied: RangeTree::new(denied) }
    }
}

/// Ranges in order. Two ranges are disjoint, or one contains the other: a range knows the next wider one, so that an address
/// is found by a binary search and at most 129 steps outwards.
#[derive(Debug, Default, PartialEq, Eq)]
struct RangeTree {
    nodes: Vec<RangeNode>,
    /// The policies of all ranges, those of one range beside each other and in order.
    owners: Vec<usize>,
}

/// A range, each once.
#[derive(Debug, PartialEq, Eq)]
struct RangeNode {
    range: Cidr,
    /// The place of the next wider range that contains it.
    wider: Option<usize>,
    /// The places of its policies.
    owners: Range<usize>,
}

impl RangeTree {
    fn new(mut ranges: Vec<(Cidr, usize)>) -> Self {
        ranges.sort_unstable();
        ranges.dedup();
        let (mut nodes, mut owners): (Vec<RangeNode>, Vec<usize>) = (Vec::new(), Vec::new());
        for (range, owner) in ranges {
            let place = owners.len();
            owners.push(owner);
            if let Some(last) = nodes.last_mut().filter(|last| last.range == range) {
                last.owners.end = owners.len();
                continue;
            }
            // A wider range comes before those that it contains.
            let mut wider = nodes.len().checked_sub(1);
            while let Some(at) = wider.filter(|at| !nodes[*at].range.contains_range(&range)) {
                wider = nodes[at].wider;
            }
            nodes.push(RangeNode { range, wider, owners: place..owners.len() });
        }
        Self { nodes, owners }
    }

    /// The ranges of these policies, each with the first of the policies that has it.
    fn counting(&self, counting: &PolicySet) -> impl Iterator<Item = (Cidr, usize)> {
        let first =
            |node: &RangeNode| self.owners[node.owners.clone()].iter().find(|o| counting.contains(**o)).copied();
        self.nodes.iter().filter_map(move |node| Some((node.range, first(node)?)))
    }

    /// The widest range of these policies that contains an address, and the first of the policies that has it.
    fn outermost(&self, ip: IpAddr, counting: &PolicySet, known: &FirstOwners) -> Option<(Cidr, usize)> {
        let ip = ip.to_canonical();
        let mut next = self.nodes.partition_point(|node| node.range.first() <= ip).checked_sub(1);
        let (mut inside, mut found) = (false, None);
        while let Some(at) = next {
            let node = &self.nodes[at];
            inside = inside || node.range.contains(ip);
            if inside && let Some(owner) = known.first(at, &self.owners[node.owners.clone()], counting) {
                found = Some((node.range, owner));
            }
            next = node.wider;
        }
        found
    }
}

/// By range, the first of its policies that counts: a thousand policies may have one range, and an object a thousand
/// addresses in it.
#[derive(Debug, Default)]
struct FirstOwners(RefCell<HashMap<usize, Option<usize>, HashSeed>>);

impl FirstOwners {
    /// The most policies that are compared faster than looked up.
    const FEW: usize = 8;

    fn first(&self, range: usize, owners: &[usize], counting: &PolicySet) -> Option<usize> {
        let search = || owners.iter().copied().find(|owner| counting.contains(*owner));
        if owners.len() <= Self::FEW {
            return search();
        }
        *self.0.borrow_mut().entry(range).or_insert_with(search)
    }
}

/// A set of policies, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PolicySet(SmallVec<[u64; 2]>);

impl PolicySet {
    pub(super) fn insert(&mut self, policy: usize) {
        let word = policy / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (policy % 64);
    }

    pub(super) fn insert_all(&mut self, policies: &[usize]) {
        for policy in policies {
            self.insert(*policy);
        }
    }

    /// Adds the policies of another set.
    pub(super) fn extend(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, policy: usize) -> bool {
        self.0.get(policy / 64).is_some_and(|word| word >> (policy % 64) & 1 == 1)
    }
}

impl Ranges {
    /// The ranges of policies that all count: name, allowed and denied ranges.
    pub fn of(policies: &[(&str, &[Cidr], &[Cidr])]) -> Self {
        let names: Vec<Text> = policies.iter().map(|(name, ..)| Text::from(*name)).collect();
        let all = names.iter().zip(policies).map(|(name, (_, allowed, denied))| (name, *allowed, *denied));
        let mut ranges = Self::none_of(&Arc::new(PolicyRanges::new(all)));
        for policy in 0..policies.len() {
            ranges.allowing.insert(policy);
            ranges.denying.insert(policy);
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a scan of all ranges in order finds.
    fn scanned(policies: &[(String, Vec<Cidr>)], counting: &PolicySet, ip: IpAddr) -> Option<(Cidr, String)> {
        let mut all: Vec<(Cidr, &str)> = policies
            .iter()
            .enumerate()
            .filter(|(i, _)| counting.contains(*i))
            .flat_map(|(_, (name, ranges))| ranges.iter().map(|range| (*range, name.as_str())))
            .collect();
        all.sort_unstable();
        all.into_iter().find(|(range, _)| range.contains(ip)).map(|(range, name)| (range, name.to_owned()))
    }

    fn range() -> impl Strategy<Value = Cidr> {
        let v4 = (0u32..=0xff, 24u32..=32).prop_map(|(low, length)| {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            format!("{}/{length}", std::net::Ipv4Addr::from((0x0a00_0000 | low) & mask))
        });
        let v6 = (0u128..=0xff, 120u32..=128).prop_map(|(low, length)| {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            format!("{}/{length}", std::net::Ipv6Addr::from((0xfd00u128 << 112 | low) & mask))
        });
        prop_oneof![v4, v6, Just("0.0.0.0/0".to_owned()), Just("::/0".to_owned())].prop_map(|t| t.parse().unwrap())
    }

    proptest! {
        #[test]
        fn a_look_up_finds_what_a_scan_in_order_finds(
            lists in prop::collection::vec(prop::collection::vec(range(), 0..12), 0..14),
            counting in any::<u64>(),
            low in 0u8..=255,
        ) {
            let policies: Vec<(String, Vec<Cidr>)> =
                lists.into_iter().enumerate().map(|(i, ranges)| (format!("p{i:02}"), ranges)).collect();
            let names: Vec<Text> = policies.iter().map(|(name, _)| name.as_str().into()).collect();
            let compiled = PolicyRanges::new(
                policies.iter().zip(&names).map(|((_, ranges), name)| (name, [].as_slice(), ranges.as_slice())),
            );
            let mut ranges = Ranges::none_of(&Arc::new(compiled));
            for policy in (0..policies.len()).filter(|policy| counting >> policy & 1 == 1) {
                ranges.denying.insert(policy);
            }
            let lookup = ranges.lookup();
            let v6 = std::net::Ipv6Addr::from(0xfd00u128 << 112 | u128::from(low));
            for ip in [IpAddr::from([10, 0, 0, low]), v6.into(), IpAddr::from([9, 0, 0, low])] {
                let found = lookup.denies(ip).map(|denied| (denied.range, denied.policy.to_string()));
                prop_assert_eq!(found, scanned(&policies, &ranges.denying, ip), "{}", ip);
                prop_assert!(!lookup.allows(ip));
            }
        }
    }
}
