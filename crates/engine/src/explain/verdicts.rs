//! One verdict per pod, list and Service port, made of the records of a plan.

use std::{collections::BTreeMap, ops::Range};

use super::explanation::{
    Cause, MAX_LISTED_VERDICTS, MAX_TEXT, MAX_VERDICTS, PodState, PodVerdict, PortName, ScopeCounts,
};
use crate::{
    model::{Pod, Service},
    reason::Reason,
    record::{Record, Scope},
};

/// All verdicts, with their counts.
#[derive(Default)]
pub(super) struct VerdictTable {
    pub(super) verdicts: Vec<PodVerdict>,
    pub(super) counts: Vec<ScopeCounts>,
    pub(super) ports: Vec<PortTally>,
    pub(super) omitted: usize,
    /// Pods × ports that kube-proxy sends traffic to, because of some list.
    pub(super) served: usize,
    /// Whether a pod serves a port in a list, for each list all ports.
    served_ports: Vec<bool>,
    /// The verdicts on pods that serve while they shut down, each with its place in `served_ports`.
    ending: Vec<(usize, usize)>,
    /// Whether there are slices: kube-proxy reads nothing else.
    has_slices: bool,
    seen: usize,
    text: usize,
}

/// The counts of one Service port (or of a Service without ports) over the lists that kube-proxy reads.
#[derive(Clone, Default)]
pub(super) struct PortTally {
    /// Whether some pod serves it.
    pub(super) served: bool,
    /// The last pod that does.
    last_served: Option<usize>,
    /// The last pod, and the most severe of its decisive reasons.
    last: Option<(usize, Reason)>,
    /// For each reason why pods do not serve it the number of pods: each pod counts once.
    pub(super) reasons: BTreeMap<Reason, usize>,
}

/// Arranges records by pod, list and port. A record that names no port counts for every port. `known` is the number
/// of pods that should have records.
pub(super) fn table(service: Option<&Service>, pods: &[&Pod], known: usize, mut records: Vec<Record>) -> VerdictTable {
    let Some(service) = service else { return VerdictTable::default() };
    let ports = service.ports.len().max(1);
    let mut table = VerdictTable { ports: vec![PortTally::default(); ports], ..VerdictTable::default() };
    // A stable sort, so that the records of one verdict stay in the order of the decisions. Each list was recorded
    // pod by pod: there are few runs to merge.
    records.retain(|r| r.pod < pods.len() && r.port.is_none_or(|p| p < ports));
    records.sort_by(|a, b| (a.pod, &a.scope, a.port).cmp(&(b.pod, &b.scope, b.port)));
    let mut lists: Vec<&Scope> = records.iter().map(|r| &r.scope).collect();
    lists.sort_unstable();
    lists.dedup();
    table.served_ports = vec![false; ports * lists.len()];
    table.counts = lists.iter().map(|s| ScopeCounts::none(**s)).collect();
    table.has_slices = lists.iter().any(|list| matches!(list, Scope::Slices(_)));
    let mut explained = 0;
    for group in records.chunk_by(|a, b| (a.pod, &a.scope) == (b.pod, &b.scope)) {
        // `None` sorts before every port.
        let (of_pod, of_ports) = group.split_at(group.partition_point(|r| r.port.is_none()));
        let list = lists.binary_search(&&group[0].scope).unwrap_or_default();
        let place = Place { service, pod: pods[group[0].pod], index: group[0].pod, list };
        let mut next = 0;
        for of_port in of_ports.chunk_by(|a, b| a.port == b.port) {
            let port = of_port[0].port.unwrap_or_default();
            explained += table.add(&place, next..port, of_pod, &[]);
            explained += table.add(&place, port..port + 1, of_pod, of_port);
            next = port + 1;
        }
        explained += table.add(&place, next..ports, of_pod, &[]);
    }
    table.ports.iter_mut().for_each(PortTally::finish_pod);
    table.explain_ending();
    let total = known.saturating_mul(ports).saturating_mul(table.counts.len());
    table.omitted += total.saturating_sub(explained);
    table
}

/// The pod and list of a verdict.
struct Place<'a> {
    service: &'a Service,
    pod: &'a Pod,
    index: usize,
    list: usize,
}

impl VerdictTable {
    /// Adds the verdicts on `ports`, which all have the same records: those of the whole pod and those of the port.
    /// Returns how many verdicts that accounts for.
    fn add(&mut self, place: &Place<'_>, ports: Range<usize>, of_pod: &[Record], of_port: &[Record]) -> usize {
        let Some(first) = of_pod.first().or(of_port.first()) else { return 0 };
        let asked = ports.len();
        let ports = ports.start..ports.start + asked.min(MAX_VERDICTS.saturating_sub(self.seen));
        self.seen += ports.len();
        self.omitted += asked - ports.len();
        let (state, mut records) = decide(first.scope, of_pod.iter().chain(of_port));
        let served = match state {
            // kube-proxy reads slices only.
            _ if first.scope == Scope::Endpoints => false,
            PodState::Ready => true,
            // A stored endpoint was written for the Service as it was then.
            PodState::Terminating if stays_as_stored(&records) => {
                records.iter().any(|r| state_of(r.reason, first.scope) == Some(PodState::Ready))
            }
            // The only terminating endpoints that are ready.
            PodState::Terminating => place.service.publish_not_ready,
            PodState::NotReady | PodState::Absent => false,
        };
        self.counts[place.list].count(state, served, ports.len());
        records.sort_by_key(|r| state_of(r.reason, first.scope) != Some(state));
        let is_ending = state == PodState::Terminating && !served && place.pod.ready();
        for port in ports {
            let in_list = place.list * self.ports.len() + port;
            self.served_ports[in_list] |= served;
            let tally = &mut self.ports[port];
            if first.scope != Scope::Endpoints || !self.has_slices {
                tally.count_reason(place.index, records[0].reason);
            }
            self.served += usize::from(tally.count_served(place.index, served));
            if self.verdicts.len() == MAX_LISTED_VERDICTS || self.text > MAX_TEXT {
                self.omitted += 1;
                continue;
            }
            let verdict = PodVerdict {
                pod: place.pod.name().clone(),
                port: place.service.ports.get(port).map(|p| PortName {
                    name: p.name.clone(),
                    port: p.port,
                    target_port: p.target_port.clone(),
                }),
                scope: first.scope,
                served,
                state,
                reasons: records.iter().map(|r| Cause::new(r.reason, r.detail.clone())).collect(),
                is_last_resort: false,
            };
            if is_ending {
                self.ending.push((self.verdicts.len(), in_list));
            }
            self.text += verdict.text();
            self.verdicts.push(verdict);
        }
        asked
    }

    /// Says what becomes of connections to pods that serve while they shut down: kube-proxy uses them only if no pod is ready.
    fn explain_ending(&mut self) {
        for (place, in_list) in std::mem::take(&mut self.ending) {
            let Some(verdict) = self.verdicts.get_mut(place) else { continue };
            let is_replaced = self.served_ports.get(in_list).copied().unwrap_or_default();
            let detail = if is_replaced {
                "it is shutting down, and gets no new connections"
            } else {
                "it is shutting down, and still serves: kube-proxy uses it while no pod is ready"
            };
            verdict.is_last_resort = !is_replaced;
            for cause in verdict.reasons.iter_mut().filter(|cause| cause.code == Reason::Terminating) {
                detail.clone_into(&mut cause.detail);
            }
        }
    }
}

impl PortTally {
    /// Counts a verdict, and returns whether this is the first list in which the pod serves the port.
    fn count_served(&mut self, pod: usize, served: bool) -> bool {
        self.served |= served;
        served && self.last_served.replace(pod) != Some(pod)
    }

    /// Notes why a pod does not serve the port. Verdicts come pod by pod: each pod counts once, in however many lists.
    fn count_reason(&mut self, pod: usize, reason: Reason) {
        match &mut self.last {
            Some((last, worst)) if *last == pod => {
                if reason.severity() > worst.severity() {
                    *worst = reason;
                }
            }
            _ => {
                self.finish_pod();
                self.last = Some((pod, reason));
            }
        }
    }

    /// Counts the last pod.
    fn finish_pod(&mut self) {
        let is_cause = |reason: &Reason| !matches!(reason, Reason::Ready | Reason::PublishedNotReady);
        if let Some((_, reason)) = self.last.take().filter(|(_, reason)| is_cause(reason)) {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }
}

/// The state that the records of a verdict add up to, and those that then matter.
///
/// A record that leaves the pod out wins, and makes records on a published pod void. If the stored objects stay as
/// they are, they are what publishes the pod: a record that would leave the pod out is listed, but has no effect.
fn decide<'a>(scope: Scope, records: impl Iterator<Item = &'a Record>) -> (PodState, Vec<&'a Record>) {
    let mut records: Vec<&Record> = records.collect();
    let as_stored = stays_as_stored(&records);
    let states = records.iter().filter_map(|r| state_of(r.reason, scope));
    let state = states.filter(|s| !as_stored || *s != PodState::Absent).max().unwrap_or(PodState::Absent);
    if state == PodState::Absent && records.iter().any(|r| state_of(r.reason, scope) == Some(state)) {
        records.retain(|r| state_of(r.reason, scope) == Some(state));
    }
    (state, records)
}

/// Whether the stored objects stay as they are. Records on a published pod are then about those.
fn stays_as_stored(records: &[&Record]) -> bool {
    records.iter().any(|r| matches!(r.reason, Reason::Frozen | Reason::PlanTooLarge))
}

/// The state that a reason stands for; `None` if it only comments on another one.
fn state_of(reason: Reason, scope: Scope) -> Option<PodState> {
    Some(match reason {
        Reason::Ready | Reason::PublishedNotReady => PodState::Ready,
        Reason::NotReady => PodState::NotReady,
        Reason::Terminating if scope != Scope::Endpoints => PodState::Terminating,
        Reason::Terminating
        | Reason::PodEnded
        | Reason::NoPodIp
        | Reason::FamilyMismatch
        | Reason::UnparsablePodIp
        | Reason::NamedPortMissing
        | Reason::ProtocolMismatch
        | Reason::SidecarPortIgnored
        | Reason::NoPorts
        | Reason::Truncated
        | Reason::DuplicateAddress
        | Reason::NodeUnknown
        | Reason::Frozen
        | Reason::PlanTooLarge
        | Reason::ServiceDeleting => PodState::Absent,
        _ => return None,
    })
}
