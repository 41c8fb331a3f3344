//! The endpoints that a Service's pods make, per port group.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    engine::{canonical_ips::Uncanonical, compat::Profile, membership, record::Recorder, state::Report},
    model::{Conditions, Endpoint, EndpointSlice, Family, ObjectRef, Text},
};

use super::{
    Job, LISTS,
    identity::Identity,
    index::Index,
    members::{Member, Members},
    notes, oddities,
};

/// An endpoint that is wanted: a member, as one address type sees it. It is compared with stored endpoints as it is;
/// an [`Endpoint`] is made of it only where one is written.
#[derive(Clone, Copy)]
struct Candidate<'a, 'm> {
    member: &'m Member<'a>,
    family: Family,
}

impl<'a> Candidate<'a, '_> {
    /// `podToEndpoint`, as far as the address type matters. A pod that has no address of it makes no endpoint.
    #[inline]
    fn identity(self, job: &Job<'a>) -> Identity<'a> {
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

    /// `conditions` of [`Self::endpoint`]. With `publishNotReadyAddresses` even a terminating pod is ready;
    /// `serving` tells the truth.
    fn conditions(self, job: &Job<'_>) -> Conditions {
        let (serving, terminating) = (self.member.pod.ready(), self.member.pod.deleting);
        let ready = job.service.publish_not_ready || (serving && !terminating);
        Conditions { ready: Some(ready), serving: Some(serving), terminating: Some(terminating) }
    }

    fn node_name(self) -> Option<&'a Text> {
        Some(&self.member.pod.node_name).filter(|n| !n.is_empty())
    }

    /// The endpoint as it is written.
    fn endpoint(self, job: &Job<'a>) -> Endpoint {
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

    fn reference(self, job: &Job<'_>) -> Arc<ObjectRef> {
        let pod = self.member.pod;
        if !job.profile.target_resource_version {
            return Arc::clone(&pod.reference);
        }
        let resource_version = pod.resource_version.clone();
        Arc::new(ObjectRef { resource_version, ..(*pod.reference).clone() })
    }

    /// What [`Self::endpoint`] says beyond its identity.
    fn said(self, job: &Job<'_>) -> Said<'a> {
        Said {
            conditions: self.conditions(job),
            topology: (self.node_name(), self.member.zone),
            target: Some(&self.member.pod.reference),
        }
    }
}

/// What an endpoint says beyond its identity. Mirroring compares by it too.
pub(crate) struct Said<'a> {
    conditions: Conditions,
    /// Name and zone of the node.
    topology: (Option<&'a Text>, Option<&'a Text>),
    target: Option<&'a ObjectRef>,
}

impl Said<'_> {
    /// Whether two endpoints of one identity say the same (`EndpointsEqualBeyondHash`).
    pub(crate) fn same_as(&self, other: &Said<'_>, profile: &Profile) -> bool {
        let same = |a: Option<bool>, b: Option<bool>| {
            // S10: up to 1.25 a condition that one side lacks is not compared.
            a == b || (!profile.compare_missing_conditions && (a.is_none() || b.is_none()))
        };
        // S3: up to 1.23 node name and zone are compared with themselves.
        (!profile.compare_topology || self.topology == other.topology)
            && self.conditions.ready == other.conditions.ready
            && same(self.conditions.serving, other.conditions.serving)
            && same(self.conditions.terminating, other.conditions.terminating)
            && ObjectRef::same_targets(self.target, other.target)
    }
}

impl Endpoint {
    /// What it says beyond its identity.
    pub(crate) fn said(&self) -> Said<'_> {
        Said {
            conditions: self.conditions,
            topology: (self.node_name.as_ref(), self.zone.as_ref()),
            target: self.target_ref.as_deref(),
        }
    }
}

/// The endpoints of one port group (`EndpointSet`): those that a slice lists, and those that need a place.
pub(super) struct Desired<'a, 'm> {
    members: &'m [Member<'a>],
    family: Family,
    stored: Index<'a>,
    /// For each endpoint of the stored slices, in their order, the one that is wanted in its place.
    kept: Vec<Option<Kept>>,
    /// The others by their members, and the heads of their identities: all that nearly every comparison looks at.
    missing: Vec<(u128, usize)>,
    /// How many of those have their place.
    filled: usize,
}

/// An endpoint that is wanted and stored.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    /// The place of its member.
    member: usize,
    /// Whether the stored one needs no write.
    pub current: bool,
    /// Whether node name and zone of the stored one are up to date.
    pub current_topology: bool,
}

impl<'a, 'm> Desired<'a, 'm> {
    /// Nothing yet; `slices` are the stored ones of the group.
    fn new(members: &'m [Member<'a>], family: Family, slices: &[&'a EndpointSlice], profile: &Profile) -> Self {
        let stored = Index::of(slices, profile);
        let kept = vec![None; stored.len()];
        Self { members, family, stored, kept, missing: Vec::new(), filled: 0 }
    }

    fn candidate(&self, member: usize) -> Candidate<'a, 'm> {
        Candidate { member: &self.members[member], family: self.family }
    }

    /// Adds the endpoint of a member, which is `stored` or not, and says whether it takes the place of an earlier one.
    #[inline]
    fn add(
        &mut self,
        member: usize,
        identity: &Identity<'_>,
        stored: Option<(usize, &Endpoint)>,
        job: &Job<'_>,
    ) -> bool {
        let Some((place, stored)) = stored else {
            self.missing.push((identity.head(), member));
            return false;
        };
        let (said, stored) = (self.candidate(member).said(job), stored.said());
        let current = said.same_as(&stored, job.profile);
        // The one includes the other, but for releases that do not look.
        let current_topology = (current && job.profile.compare_topology) || said.topology == stored.topology;
        self.kept[place].replace(Kept { member, current, current_topology }).is_some()
    }

    /// Brings those without a place into order. Of several with one identity the last one counts
    /// (`EndpointSet.Insert`). Says whether there were such.
    fn sort(&mut self, job: &Job<'a>) -> bool {
        let (members, family) = (self.members, self.family);
        let identity = |member: usize| Candidate { member: &members[member], family }.identity(job);
        let before = self.missing.len();
        // First by the heads alone, which no two IPv4 addresses have in common: that is done without a branch.
        self.missing.sort_unstable_by_key(|(head, _)| *head);
        for same_head in self.missing.chunk_by_mut(|(x, _), (y, _)| x == y).filter(|chunk| chunk.len() > 1) {
            let mut order: Vec<_> = same_head.iter().map(|(_, member)| (identity(*member), *member)).collect();
            order.sort_unstable_by(|(x, a), (y, b)| x.order(y).then(b.cmp(a)));
            same_head.iter_mut().zip(order).for_each(|(place, (_, member))| place.1 = member);
        }
        self.missing.dedup_by(|(x, lost), (y, kept)| x == y && identity(*lost).order(&identity(*kept)).is_eq());
        self.missing.len() < before
    }

    /// How many have no place yet.
    pub(super) fn left(&self) -> usize {
        self.missing.len() - self.filled
    }

    /// For each endpoint of the stored slices, in their order, the one that is wanted in its place.
    pub(super) fn kept(&self) -> &[Option<Kept>] {
        &self.kept
    }

    /// A stored endpoint as it is wanted.
    pub(super) fn endpoint(&self, kept: Kept, job: &Job<'a>) -> Endpoint {
        self.candidate(kept.member).endpoint(job)
    }

    /// Puts what is left, in order, into a slice until that is full (`PopAny`).
    pub(super) fn fill(&mut self, endpoints: &mut Vec<Endpoint>, job: &Job<'a>) {
        let room = job.context.per_slice.saturating_sub(endpoints.len()).min(self.left());
        let next = &self.missing[self.filled..][..room];
        endpoints.extend(next.iter().map(|(_, member)| self.candidate(*member).endpoint(job)));
        self.filled += room;
    }
}

/// So many members are looked for one right after the other: the processor waits for the memory of several at once,
/// as nothing else stands between them.
const BATCH: usize = 32;

/// The second half of `reconcileByAddressType`'s loop over pods: what each port group wants listed. `slices` are the
/// stored ones of each group.
pub(super) fn of_family<'a, 'm>(
    job: &Job<'a>,
    family: Family,
    members: &'m Members<'a>,
    slices: &[Vec<&'a EndpointSlice>],
    report: &mut Report,
    trace: &mut impl Recorder,
) -> Vec<Desired<'a, 'm>> {
    let mut groups: Vec<_> = slices.iter().map(|s| Desired::new(&members.list, family, s, job.profile)).collect();
    // Of several groups nobody knows how large each will be.
    if let [group] = groups.as_mut_slice()
        && group.kept.is_empty()
    {
        group.missing.reserve_exact(members.list.len());
    }
    let mut uncanonical = Uncanonical::new(LISTS, job.profile.canonical_ips);
    let mut hidden = false;
    let mut at = 0;
    for batch in members.list.chunks(BATCH) {
        let of_batch = batch.iter().map(|member| Candidate { member, family }.identity(job));
        let identities: SmallVec<[Identity<'_>; BATCH]> = of_batch.collect();
        let group = |member: &Member<'_>| members.groups.of_row(member.row);
        let find = |(member, identity)| groups[group(member)].stored.find(identity, job.profile);
        let stored: SmallVec<[_; BATCH]> = batch.iter().zip(&identities).map(find).collect();
        for ((member, identity), stored) in batch.iter().zip(&identities).zip(stored) {
            oddities::addresses(job, family, member, &mut uncanonical, report);
            if identity.addresses().is_empty() {
                notes::no_address(job, family, member, trace);
            } else {
                notes::published(job, family, member, trace);
                hidden |= groups[group(member)].add(at, identity, stored, job);
            }
            at += 1;
        }
    }
    uncanonical.tell(|| job.service.key(), report);
    for group in &mut groups {
        hidden |= group.sort(job);
    }
    if hidden {
        let twice = twice(job, family, members);
        for &(lost, kept) in &twice {
            notes::duplicate(job, family, lost, kept, trace);
        }
        oddities::shared_addresses(job, family, &twice, report);
    }
    groups
}

/// The pods that others of the same port group and identity hide, each with the one that does, in the order of groups
/// and identities.
fn twice(job: &Job<'_>, family: Family, members: &Members<'_>) -> Vec<(usize, usize)> {
    let identity = |member| Candidate { member, family }.identity(job);
    let listed = members.list.iter().filter(|m| !identity(m).addresses().is_empty());
    let mut all: Vec<_> = listed.map(|m| (members.groups.of_row(m.row), identity(m), m.index)).collect();
    let order = |(x, a, _): &(usize, Identity<'_>, usize), (y, b, _): &(usize, Identity<'_>, usize)| {
        x.cmp(y).then_with(|| a.order(b))
    };
    all.sort_by(|a, b| order(a, b).then(b.2.cmp(&a.2)));
    let equal = all.chunk_by(|a, b| order(a, b).is_eq());
    let pairs = equal.filter_map(|equal| equal.split_first());
    pairs.flat_map(|(kept, lost)| lost.iter().map(|lost| (lost.2, kept.2))).collect()
}
