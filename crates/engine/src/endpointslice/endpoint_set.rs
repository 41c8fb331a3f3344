//! The endpoints that the pods of a Service make, one set for each port group.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    canonical_ips::UncanonicalAddresses,
    membership,
    model::{Conditions, Endpoint, EndpointSlice, Family, ObjectRef, Text},
    profile::Profile,
    record::Recorder,
    state::SyncReport,
};

use super::{
    findings,
    identity::{EndpointState, Identity},
    job::{OUTPUT, SliceJob},
    members::{Member, Members},
    records,
    stored_index::StoredIndex,
};

/// The endpoint of a member for one address type. It is compared with stored endpoints as it is; an [`Endpoint`] is only
/// made where one is written.
#[derive(Clone, Copy)]
struct Candidate<'a, 'm> {
    member: &'m Member<'a>,
    family: Family,
}

impl<'a> Candidate<'a, '_> {
    /// The identity of the endpoint, without addresses if the pod has none of the address type (`podToEndpoint`).
    #[inline]
    fn identity(self, job: &SliceJob<'a>) -> Identity<'a> {
        let pod = self.member.pod;
        let of_family = pod.ips.iter().filter(|ip| ip.family == self.family);
        let mut published = of_family.filter_map(|ip| ip.published(job.profile.canonical_ips));
        let mut addresses = published.next().map(|first| SmallVec::from([first])).unwrap_or_default();
        for further in published {
            addresses.push(further);
        }
        let hostname = membership::published_hostname(pod, job.service);
        Identity::new(addresses, hostname, Some(&pod.reference), job.profile)
    }

    /// The conditions of [`Self::endpoint`]. With `publishNotReadyAddresses` even a terminating pod is `ready`, while
    /// `serving` is whether it really is.
    fn conditions(self, job: &SliceJob<'_>) -> Conditions {
        let (serving, terminating) = (self.member.pod.ready(), self.member.pod.deleting);
        let ready = job.service.publish_not_ready || (serving && !terminating);
        Conditions { ready: Some(ready), serving: Some(serving), terminating: Some(terminating) }
    }

    fn node_name(self) -> Option<&'a Text> {
        Some(&self.member.pod.node_name).filter(|n| !n.is_empty())
    }

    /// The endpoint as it is written.
    fn endpoint(self, job: &SliceJob<'a>) -> Endpoint {
        let identity = self.identity(job);
        let addresses = match identity.addresses() {
            [only] => SmallVec::from([(*only).clone()]),
            all => all.iter().map(|a| (*a).clone()).collect(),
        };
        Endpoint {
            addresses,
            conditions: self.conditions(job),
            hostname: identity.hostname().cloned(),
            target_ref: Some(self.reference(job)),
            node_name: self.node_name().cloned(),
            zone: self.member.zone.cloned(),
            ..Endpoint::default()
        }
    }

    fn reference(self, job: &SliceJob<'_>) -> Arc<ObjectRef> {
        let pod = self.member.pod;
        if !job.profile.target_resource_version {
            return Arc::clone(&pod.reference);
        }
        let resource_version = pod.resource_version.clone();
        Arc::new(ObjectRef { resource_version, ..(*pod.reference).clone() })
    }

    /// The state of [`Self::endpoint`].
    fn state(self, job: &SliceJob<'_>) -> EndpointState<'a> {
        EndpointState {
            conditions: self.conditions(job),
            topology: (self.node_name(), self.member.zone),
            target: Some(&self.member.pod.reference),
        }
    }
}

/// The endpoints of one port group (`EndpointSet`): those that a stored slice lists, and those that need a place.
pub(super) struct EndpointSet<'a, 'm> {
    members: &'m [Member<'a>],
    family: Family,
    stored: StoredIndex<'a>,
    /// For each endpoint of the stored slices, in their order, the member that matches it.
    matches: Vec<Option<StoredMatch>>,
    /// The other members, each with the head of its identity: nearly every comparison needs no more than that.
    missing: Vec<(u128, usize)>,
    /// How many of those have got their place.
    filled: usize,
}

/// A member whose endpoint is stored.
#[derive(Clone, Copy)]
pub(super) struct StoredMatch {
    /// Index of the member.
    member: usize,
    /// Whether the stored endpoint needs no write.
    pub current: bool,
    /// Whether node name and zone of the stored endpoint are up to date.
    pub current_topology: bool,
}

impl<'a, 'm> EndpointSet<'a, 'm> {
    /// A set without endpoints; `slices` are the stored slices of the group.
    fn new(members: &'m [Member<'a>], family: Family, slices: &[&'a EndpointSlice], profile: &Profile) -> Self {
        let stored = StoredIndex::of(slices, profile);
        let matches = vec![None; stored.len()];
        Self { members, family, stored, matches, missing: Vec::new(), filled: 0 }
    }

    fn candidate(&self, member: usize) -> Candidate<'a, 'm> {
        Candidate { member: &self.members[member], family: self.family }
    }

    /// Adds the endpoint of a member, which may be `stored`, and returns whether it replaces an earlier one.
    #[inline]
    fn add(
        &mut self,
        member: usize,
        identity: &Identity<'_>,
        stored: Option<(usize, &Endpoint)>,
        job: &SliceJob<'_>,
    ) -> bool {
        let Some((place, stored)) = stored else {
            self.missing.push((identity.head(), member));
            return false;
        };
        let (state, stored) = (self.candidate(member).state(job), EndpointState::of(stored));
        let current = state.equals(&stored, job.profile);
        // The first implies the second, except in releases that do not compare the topology.
        let current_topology = (current && job.profile.compare_topology) || state.topology == stored.topology;
        self.matches[place].replace(StoredMatch { member, current, current_topology }).is_some()
    }

    /// Sorts the members without a place. Of several with one identity the last one counts (`EndpointSet.Insert`);
    /// returns whether there were such.
    fn sort(&mut self, job: &SliceJob<'a>) -> bool {
        let (members, family) = (self.members, self.family);
        let identity = |member: usize| Candidate { member: &members[member], family }.identity(job);
        let before = self.missing.len();
        // First by the heads alone, which are unique for IPv4 addresses: that sort needs no branches.
        self.missing.sort_unstable_by_key(|(head, _)| *head);
        for same_head in self.missing.chunk_by_mut(|(x, _), (y, _)| x == y).filter(|chunk| chunk.len() > 1) {
            let mut order: Vec<_> = same_head.iter().map(|(_, member)| (identity(*member), *member)).collect();
            order.sort_unstable_by(|(x, a), (y, b)| x.order(y).then(b.cmp(a)));
            same_head.iter_mut().zip(order).for_each(|(place, (_, member))| place.1 = member);
        }
        self.missing.dedup_by(|(x, hidden), (y, listed)| x == y && identity(*hidden).order(&identity(*listed)).is_eq());
        self.missing.len() < before
    }

    /// How many members have no place yet.
    pub(super) fn left(&self) -> usize {
        self.missing.len() - self.filled
    }

    /// For each endpoint of the stored slices, in their order, the member that matches it.
    pub(super) fn matches(&self) -> &[Option<StoredMatch>] {
        &self.matches
    }

    /// A stored endpoint in its present form.
    pub(super) fn endpoint(&self, matched: StoredMatch, job: &SliceJob<'a>) -> Endpoint {
        self.candidate(matched.member).endpoint(job)
    }

    /// Moves members without a place, in order, into a slice until it is full (`PopAny`).
    pub(super) fn fill(&mut self, endpoints: &mut Vec<Endpoint>, job: &SliceJob<'a>) {
        let room = job.context.per_slice.saturating_sub(endpoints.len()).min(self.left());
        let next = &self.missing[self.filled..][..room];
        endpoints.extend(next.iter().map(|(_, member)| self.candidate(*member).endpoint(job)));
        self.filled += room;
    }
}

/// The number of members that are looked up directly after each other, so that the processor waits for the memory of
/// several at once.
const BATCH: usize = 32;

/// The endpoint set of each port group: the second half of the loop over pods in `reconcileByAddressType`. `slices` are
/// the stored slices of each group.
pub(super) fn of_family<'a, 'm>(
    job: &SliceJob<'a>,
    family: Family,
    members: &'m Members<'a>,
    slices: &[Vec<&'a EndpointSlice>],
    report: &mut SyncReport,
    recorder: &mut impl Recorder,
) -> Vec<EndpointSet<'a, 'm>> {
    let mut groups: Vec<_> = slices.iter().map(|s| EndpointSet::new(&members.list, family, s, job.profile)).collect();
    // The sizes of several groups are not known in advance.
    if let [group] = groups.as_mut_slice()
        && group.matches.is_empty()
    {
        group.missing.reserve_exact(members.list.len());
    }
    let mut uncanonical = UncanonicalAddresses::new(OUTPUT, job.profile.canonical_ips);
    let mut any_hidden = false;
    let mut at = 0;
    for batch in members.list.chunks(BATCH) {
        let of_batch = batch.iter().map(|member| Candidate { member, family }.identity(job));
        let identities: SmallVec<[Identity<'_>; BATCH]> = of_batch.collect();
        let group = |member: &Member<'_>| members.groups.of_row(member.row);
        let find = |(member, identity)| groups[group(member)].stored.find(identity, job.profile);
        let stored: SmallVec<[_; BATCH]> = batch.iter().zip(&identities).map(find).collect();
        for ((member, identity), stored) in batch.iter().zip(&identities).zip(stored) {
            findings::addresses(job, family, member, &mut uncanonical, report);
            if identity.addresses().is_empty() {
                records::no_address(job, family, member.index, recorder);
            } else {
                records::published(job, family, member.index, recorder);
                any_hidden |= groups[group(member)].add(at, identity, stored, job);
            }
            at += 1;
        }
    }
    uncanonical.report(|| job.service.key(), report);
    for group in &mut groups {
        any_hidden |= group.sort(job);
    }
    if any_hidden {
        let pairs = hidden_pods(job, family, members);
        for &(hidden, listed) in &pairs {
            records::duplicate(job, family, hidden, listed, recorder);
        }
        findings::shared_addresses(job, family, &pairs, report);
    }
    groups
}

/// Pairs of a pod and the one of the same port group and identity that hides it, in the order of groups and
/// identities.
fn hidden_pods(job: &SliceJob<'_>, family: Family, members: &Members<'_>) -> Vec<(usize, usize)> {
    let identity = |member| Candidate { member, family }.identity(job);
    let listed = members.list.iter().filter(|m| !identity(m).addresses().is_empty());
    let mut all: Vec<_> = listed.map(|m| (members.groups.of_row(m.row), identity(m), m.index)).collect();
    let order = |(x, a, _): &(usize, Identity<'_>, usize), (y, b, _): &(usize, Identity<'_>, usize)| {
        x.cmp(y).then_with(|| a.order(b))
    };
    all.sort_by(|a, b| order(a, b).then(b.2.cmp(&a.2)));
    let equal = all.chunk_by(|a, b| order(a, b).is_eq());
    let pairs = equal.filter_map(|equal| equal.split_first());
    pairs.flat_map(|(listed, hidden)| hidden.iter().map(|hidden| (hidden.2, listed.2))).collect()
}
