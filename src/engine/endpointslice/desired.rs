//! The endpoints that a Service's pods make, per port group.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    engine::{canonical_ips::Uncanonical, compat::Profile, membership, record::Recorder, state::Report},
    model::{Conditions, Endpoint, Family, ObjectRef, Pod, Text},
};

use super::{
    Job, LISTS,
    identity::Identity,
    members::{Member, Members},
    notes, oddities,
};

/// An endpoint that is wanted. It is compared with stored ones as it is; an [`Endpoint`] is made of it
/// only where one is written.
pub(super) struct Candidate<'a> {
    pub identity: Identity<'a>,
    /// Index of the pod among the selected ones.
    pub index: usize,
    pub pod: &'a Pod,
    pub zone: Option<&'a Text>,
    /// Whether it has its place in a slice.
    placed: bool,
}

impl<'a> Candidate<'a> {
    /// `podToEndpoint`, as far as the address type matters; `None` if the pod has no address of it.
    fn new(job: &Job<'a>, family: Family, member: &Member<'a>) -> Option<Self> {
        let pod = member.pod;
        let published = pod.ips.iter().filter(|ip| ip.family == family);
        let addresses: SmallVec<[&Text; 1]> =
            published.filter_map(|ip| ip.published(job.profile.canonical_ips)).collect();
        if addresses.is_empty() {
            return None;
        }
        let hostname = membership::published_hostname(pod, job.service);
        let identity = Identity::new(addresses, hostname, Some(&pod.reference), job.profile);
        Some(Self { identity, index: member.index, pod, zone: member.zone, placed: false })
    }

    /// `conditions` of [`Self::endpoint`]. With `publishNotReadyAddresses` even a terminating pod is ready;
    /// `serving` tells the truth.
    fn conditions(&self, job: &Job<'_>) -> Conditions {
        let (serving, terminating) = (self.pod.ready(), self.pod.deleting);
        let ready = job.service.publish_not_ready || (serving && !terminating);
        Conditions { ready: Some(ready), serving: Some(serving), terminating: Some(terminating) }
    }

    fn node_name(&self) -> Option<&'a Text> {
        Some(&self.pod.node_name).filter(|n| !n.is_empty())
    }

    /// The endpoint as it is written.
    pub(super) fn endpoint(&self, job: &Job<'_>) -> Endpoint {
        Endpoint {
            addresses: self.identity.addresses().iter().map(|a| (*a).clone()).collect(),
            conditions: self.conditions(job),
            hostname: self.identity.hostname().cloned(),
            target_ref: Some(self.reference(job)),
            node_name: self.node_name().cloned(),
            zone: self.zone.cloned(),
            ..Endpoint::default()
        }
    }

    fn reference(&self, job: &Job<'_>) -> Arc<ObjectRef> {
        if !job.profile.target_resource_version {
            return Arc::clone(&self.pod.reference);
        }
        let resource_version = self.pod.resource_version.clone();
        Arc::new(ObjectRef { resource_version, ..(*self.pod.reference).clone() })
    }

    /// What [`Self::endpoint`] says beyond its identity.
    fn said(&self, job: &Job<'_>) -> Said<'_> {
        Said {
            conditions: self.conditions(job),
            topology: (self.node_name(), self.zone),
            target: Some(&self.pod.reference),
        }
    }

    /// Whether a stored endpoint of the same identity needs no write.
    pub(super) fn same_as(&self, stored: &Endpoint, job: &Job<'_>) -> bool {
        self.said(job).same_as(&stored.said(), job.profile)
    }

    /// Whether node name and zone are up to date.
    pub(super) fn same_topology(&self, stored: &Endpoint) -> bool {
        (self.node_name(), self.zone) == stored.said().topology
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

/// The endpoints of one port group (`EndpointSet`), each until it has its place in a slice.
pub(super) struct Desired<'a> {
    /// In the order of the pods.
    candidates: Vec<Candidate<'a>>,
    /// In the order of their identities: the head of each, which is all that a search looks at, and its place
    /// among the candidates.
    order: Vec<(u128, usize)>,
    left: usize,
    /// Stored slices mostly list endpoints in our own order: this one is probably asked for next.
    next: usize,
    /// All before this one have their place.
    filled: usize,
}

impl<'a> Desired<'a> {
    /// Of several endpoints with one identity the last one counts (`EndpointSet.Insert`); `twice` is told of each
    /// that does not, and of the one that does.
    fn new(candidates: Vec<Candidate<'a>>, mut twice: impl FnMut(&Candidate<'a>, &Candidate<'a>)) -> Self {
        let mut order: Vec<_> = candidates.iter().map(|c| c.identity.head()).zip(0..).collect();
        let by_identity = |a: usize, b: usize| candidates[a].identity.order(&candidates[b].identity);
        order.sort_unstable_by(|(x, a), (y, b)| x.cmp(y).then_with(|| by_identity(*a, *b).then(b.cmp(a))));
        order.dedup_by(|(x, lost), (y, kept)| {
            let same = x == y && by_identity(*lost, *kept).is_eq();
            if same {
                twice(&candidates[*lost], &candidates[*kept]);
            }
            same
        });
        Self { left: order.len(), candidates, order, next: 0, filled: 0 }
    }

    /// How many have no place yet.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// An endpoint that [`Self::take`] gave.
    pub(super) fn get(&self, index: usize) -> &Candidate<'a> {
        &self.candidates[index]
    }

    /// Takes the endpoint that is the same one as `stored`, unless it has its place already.
    pub(super) fn take(&mut self, stored: &Endpoint, job: &Job<'_>) -> Option<usize> {
        let wanted = Identity::of(stored, job.profile);
        let head = wanted.head();
        let order = |&(_, at): &(u128, usize)| self.candidates[at].identity.order(&wanted);
        let same = |at: usize| self.order.get(at).is_some_and(|c| c.0 == head && order(c).is_eq());
        let mut at = self.next;
        if !same(at) {
            at = self.order.partition_point(|c| c.0 < head);
            if !same(at) {
                let end = at + self.order[at..].partition_point(|c| c.0 == head);
                at += self.order[at..end].binary_search_by(order).ok()?;
            }
        }
        self.next = at + 1;
        let index = self.order[at].1;
        if std::mem::replace(&mut self.candidates[index].placed, true) {
            return None;
        }
        self.left -= 1;
        Some(index)
    }

    /// Puts what is left, in order, into a slice until that is full (`PopAny`).
    pub(super) fn fill(&mut self, endpoints: &mut Vec<Endpoint>, job: &Job<'_>) {
        let Self { candidates, order, left, filled, .. } = self;
        for &(_, index) in &order[*filled..] {
            if *left == 0 || endpoints.len() >= job.context.per_slice {
                break;
            }
            *filled += 1;
            let candidate = &mut candidates[index];
            if !std::mem::replace(&mut candidate.placed, true) {
                endpoints.push(candidate.endpoint(job));
                *left -= 1;
            }
        }
    }
}

/// The second half of `reconcileByAddressType`'s loop over pods: what each port group wants listed.
pub(super) fn of_family<'a>(
    job: &Job<'a>,
    family: Family,
    members: &Members<'a>,
    report: &mut Report,
    trace: &mut impl Recorder,
) -> Vec<Desired<'a>> {
    let mut lists: Vec<Vec<Candidate<'_>>> = Vec::new();
    lists.resize_with(members.groups.len(), Vec::new);
    if let [list] = lists.as_mut_slice() {
        list.reserve_exact(members.list.len());
    }
    let mut uncanonical = Uncanonical::new(LISTS, job.profile.canonical_ips);
    for member in &members.list {
        oddities::addresses(job, family, member, &mut uncanonical, report);
        if let Some(candidate) = Candidate::new(job, family, member) {
            notes::published(job, family, member, trace);
            lists[members.groups.of_row(member.row)].push(candidate);
        } else {
            notes::no_address(job, family, member, trace);
        }
    }
    uncanonical.tell(|| job.service.key(), report);
    let mut twice = Vec::new();
    let desired =
        lists.into_iter().map(|list| Desired::new(list, |lost, kept| twice.push((lost.index, kept.index)))).collect();
    for &(lost, kept) in &twice {
        notes::duplicate(job, family, lost, kept, trace);
    }
    oddities::shared_addresses(job, family, &twice, report);
    desired
}
