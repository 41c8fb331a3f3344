//! One verdict per pod, list and run of Service ports, made of the records of a plan.

use std::ops::Range;

use super::{
    explanation::{Cause, MAX_LISTED_VERDICTS, MAX_TEXT, MAX_VERDICTS, PodState, PodVerdict, ScopeCounts},
    port_run::{CountByPlace, PortRun},
    port_tallies::{PortTallies, PortTally, TalliedRun},
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
    /// For each list, how many pods serve a port.
    served_ports: Vec<CountByPlace>,
    /// The verdicts on pods that serve while they shut down, each with its list.
    ending: Vec<(usize, usize)>,
    seen: usize,
    /// How many pods × ports are listed, and the length of their texts.
    listed: usize,
    text: usize,
}

/// Arranges records by pod, list and port. A record that names no port counts for every port. `known` is the number
/// of pods that should have records.
pub(super) fn table(service: Option<&Service>, pods: &[&Pod], known: usize, mut records: Vec<Record>) -> VerdictTable {
    let Some(service) = service else { return VerdictTable::default() };
    let all = PortRun::of_service(service);
    let ports = all.places().len();
    let port_texts = all.texts();
    // A stable sort, so that the records of one verdict stay in the order of the decisions. Each list was recorded
    // pod by pod: there are few runs to merge.
    records.retain(|r| r.pod < pods.len() && r.ports.as_ref().is_none_or(|of| of.start < of.end && of.end <= ports));
    records.sort_by(|a, b| (a.pod, &a.scope, first(a)).cmp(&(b.pod, &b.scope, first(b))));
    let mut lists: Vec<&Scope> = records.iter().map(|r| &r.scope).collect();
    lists.sort_unstable();
    lists.dedup();
    let mut table = VerdictTable {
        counts: lists.iter().map(|s| ScopeCounts::none(**s)).collect(),
        served_ports: vec![CountByPlace::of(ports); lists.len()],
        ..VerdictTable::default()
    };
    let has_slices = lists.iter().any(|list| matches!(list, Scope::Slices(_)));
    let mut tallies = PortTallies::of(ports);
    let mut explained = 0;
    for of_pod in records.chunk_by(|a, b| a.pod == b.pod) {
        let mut read: Vec<Vec<TalliedRun>> = Vec::new();
        for of_list in of_pod.chunk_by(|a, b| a.scope == b.scope) {
            let scope = of_list[0].scope;
            let list = lists.binary_search(&&scope).unwrap_or_default();
            let pod = pods[of_list[0].pod];
            let place = Place { service, pod, scope, list, all: &all, port_texts: &port_texts };
            let runs = table.add_list(&place, of_list, &mut explained);
            // kube-proxy reads nothing else.
            if scope != Scope::Endpoints || !has_slices {
                read.push(runs);
            }
        }
        tallies.add_pod(&read);
    }
    table.served = tallies.served();
    table.ports = tallies.finish();
    table.explain_ending(service.declared_headless());
    let total = known.saturating_mul(ports).saturating_mul(table.counts.len());
    table.omitted += total.saturating_sub(explained);
    table
}

/// The first port that a record names; `None`, which sorts before every port, if it names none.
fn first(record: &Record) -> Option<usize> {
    record.ports.as_ref().map(|ports| ports.start)
}

/// The pod and list of a verdict.
struct Place<'a> {
    service: &'a Service,
    pod: &'a Pod,
    scope: Scope,
    list: usize,
    /// The ports of the Service.
    all: &'a PortRun,
    /// For each port, how much text the ports before it have.
    port_texts: &'a [usize],
}

impl VerdictTable {
    /// Adds the verdicts on one pod in one list. Adds to `explained` how many pods × ports that accounts for.
    fn add_list(&mut self, place: &Place<'_>, records: &[Record], explained: &mut usize) -> Vec<TalliedRun> {
        // `None` sorts before every port.
        let (of_pod, of_ports) = records.split_at(records.partition_point(|r| r.ports.is_none()));
        let ends = of_ports.iter().flat_map(|r| r.ports.iter().flat_map(|ports| [ports.start, ports.end]));
        let mut cuts: Vec<usize> = ends.chain([0, place.all.places().end]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut to_come = of_ports.iter().peekable();
        // The records of the ports that are looked at, in their order.
        let mut here: Vec<&Record> = Vec::new();
        let mut runs = Vec::new();
        for (begin, end) in cuts.iter().zip(&cuts[1..]) {
            here.retain(|r| r.ports.as_ref().is_some_and(|ports| ports.end > *begin));
            while let Some(record) = to_come.next_if(|r| first(r) == Some(*begin)) {
                here.push(record);
            }
            let records: Vec<&Record> = of_pod.iter().chain(here.iter().copied()).collect();
            if !records.is_empty() {
                *explained += end - begin;
                runs.extend(self.add(place, *begin..*end, records));
            }
        }
        runs
    }

    /// Adds the verdict on `ports`, which all have these records.
    fn add(&mut self, place: &Place<'_>, ports: Range<usize>, records: Vec<&Record>) -> Option<TalliedRun> {
        let asked = ports.len();
        let ports = ports.start..ports.start + asked.min(MAX_VERDICTS.saturating_sub(self.seen));
        self.seen += ports.len();
        self.omitted += asked - ports.len();
        if ports.is_empty() {
            return None;
        }
        let (state, mut records) = decide(place.scope, records);
        let served = is_served(place, state, &records);
        self.counts[place.list].count(state, served, ports.len());
        if served {
            self.served_ports[place.list].add(&ports);
        }
        records.sort_by_key(|r| state_of(r.reason, place.scope) != Some(state));
        let reason = records[0].reason;
        let is_ending = state == PodState::Terminating && !served && place.pod.ready();
        self.list(place, ports.clone(), is_ending, |ports| PodVerdict {
            pod: place.pod.name().clone(),
            ports,
            scope: place.scope,
            served,
            state,
            reasons: records.iter().map(|r| Cause::of_pods(place.service, r.reason, r.detail.clone())).collect(),
            is_last_resort: false,
        });
        Some(TalliedRun { ports, is_served: served, reason })
    }

    /// Lists a verdict, for as many of its ports as there is room for.
    fn list(
        &mut self,
        place: &Place<'_>,
        ports: Range<usize>,
        is_ending: bool,
        verdict: impl FnOnce(PortRun) -> PodVerdict,
    ) {
        let room = if self.text > MAX_TEXT { 0 } else { MAX_LISTED_VERDICTS - self.listed };
        let shown = ports.len().min(room);
        if shown > 0 {
            let mut verdict = verdict(place.all.at(ports.clone()));
            let of_pod = verdict.text();
            let (before, begin) = (self.text, place.port_texts[ports.start]);
            let text = |rows: usize| before + place.port_texts[ports.start + rows] - begin + rows * of_pod;
            // The row that goes beyond the limit is the last one.
            let listed =
                if text(shown) <= MAX_TEXT { shown } else { (0..shown).filter(|rows| text(*rows) <= MAX_TEXT).count() };
            self.text = text(listed);
            self.listed += listed;
            self.omitted += ports.len() - listed;
            verdict.ports = place.all.at(ports.start..ports.start + listed);
            if is_ending {
                self.ending.push((self.verdicts.len(), place.list));
            }
            self.verdicts.push(verdict);
        } else {
            self.omitted += ports.len();
        }
    }

    /// Says what becomes of connections to pods that serve while they shut down: kube-proxy uses them only if no pod is
    /// ready, and DNS never does. A verdict on ports of both kinds becomes several.
    fn explain_ending(&mut self, is_headless: bool) {
        let mut ending = std::mem::take(&mut self.ending).into_iter().peekable();
        if ending.peek().is_none() {
            return;
        }
        let is_served = |counts: &CountByPlace| counts.counts().map(|pods| pods > 0).collect();
        let replaced: Vec<Vec<bool>> = self.served_ports.iter().map(is_served).collect();
        let verdicts = std::mem::take(&mut self.verdicts);
        for (at, verdict) in verdicts.into_iter().enumerate() {
            let Some((_, list)) = ending.next_if(|(of, _)| *of == at) else {
                self.verdicts.push(verdict);
                continue;
            };
            let mut begin = verdict.ports.places().start;
            let in_list = replaced[list].get(verdict.ports.places()).unwrap_or_default();
            for part in in_list.chunk_by(|a, b| a == b) {
                let ports = verdict.ports.at(begin..begin + part.len());
                begin += part.len();
                self.verdicts.push(ending_verdict(PodVerdict { ports, ..verdict.clone() }, is_headless || part[0]));
            }
        }
    }
}

/// Whether kube-proxy sends traffic to a pod because of a list.
fn is_served(place: &Place<'_>, state: PodState, records: &[&Record]) -> bool {
    match state {
        // kube-proxy reads slices only.
        _ if place.scope == Scope::Endpoints => false,
        PodState::Ready => true,
        // A stored endpoint was written for the Service as it was then.
        PodState::Terminating if stays_as_stored(records) => {
            records.iter().any(|r| state_of(r.reason, place.scope) == Some(PodState::Ready))
        }
        // The only terminating endpoints that are ready.
        PodState::Terminating => place.service.publish_not_ready,
        PodState::NotReady | PodState::Absent => false,
    }
}

/// The verdict on a pod that serves while it shuts down; `is_replaced` says that clients get others, or none.
fn ending_verdict(mut verdict: PodVerdict, is_replaced: bool) -> PodVerdict {
    let detail = if is_replaced {
        "it is shutting down, and gets no new connections"
    } else {
        "it is shutting down, and still serves: kube-proxy uses it while no pod is ready"
    };
    verdict.is_last_resort = !is_replaced;
    for cause in verdict.reasons.iter_mut().filter(|cause| cause.code == Reason::Terminating) {
        detail.clone_into(&mut cause.detail);
    }
    verdict
}

/// The state that the records of a verdict add up to, and those that then matter.
///
/// A record that leaves the pod out wins, and makes records on a published pod void. If the stored objects stay as
/// they are, they are what publishes the pod: a record that would leave the pod out is listed, but has no effect.
fn decide(scope: Scope, mut records: Vec<&Record>) -> (PodState, Vec<&Record>) {
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
