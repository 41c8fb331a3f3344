//! One row per pod, list and Service port.

use std::{collections::BTreeMap, ops::Range};

use super::{Cause, MAX_ROWS, MAX_TEXT, MAX_VERDICTS, PodState, PortName, Row, ScopeCounts};
use crate::{
    engine::reason::{Reason, Record, Scope},
    model::{Pod, Service, TargetPort},
};

/// All rows, and what was counted on the way.
#[derive(Default)]
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    pub(super) counts: Vec<ScopeCounts>,
    pub(super) ports: Vec<PortTally>,
    pub(super) omitted: usize,
    /// Pods × ports that clients get, in some list.
    pub(super) served: usize,
    seen: usize,
    text: usize,
}

/// What became of one Service port (or of a Service without ports) in all lists together.
#[derive(Clone, Default)]
pub(super) struct PortTally {
    /// Whether some pod serves it.
    pub(super) served: bool,
    /// The last pod that does.
    last_served: Option<usize>,
    /// For each decisive reason the number of pods, and the last of them.
    pub(super) reasons: BTreeMap<Reason, (usize, usize)>,
}

/// Arranges the notes: by pod, list and port. Notes on a whole pod count for each port. `known` is of how many
/// pods there should be notes.
pub(super) fn table(service: Option<&Service>, pods: &[&Pod], known: usize, mut notes: Vec<Record>) -> Table {
    let Some(service) = service else { return Table::default() };
    let ports = service.ports.len().max(1);
    let mut table = Table { ports: vec![PortTally::default(); ports], ..Table::default() };
    // Stable, so that the notes of one row stay in the order in which the decisions fell. Each list was
    // written down pod by pod: there are few runs to merge.
    notes.retain(|n| n.pod < pods.len() && n.port.is_none_or(|p| p < ports));
    notes.sort_by(|a, b| (a.pod, &a.scope, a.port).cmp(&(b.pod, &b.scope, b.port)));
    let mut lists: Vec<&Scope> = notes.iter().map(|n| &n.scope).collect();
    lists.sort_unstable();
    lists.dedup();
    table.counts = lists.iter().map(|s| ScopeCounts::none(**s)).collect();
    let mut explained = 0;
    for group in notes.chunk_by(|a, b| (a.pod, &a.scope) == (b.pod, &b.scope)) {
        // `None` sorts before every port.
        let (whole, own) = group.split_at(group.partition_point(|n| n.port.is_none()));
        let list = lists.binary_search(&&group[0].scope).unwrap_or_default();
        let place = Place { service, pod: pods[group[0].pod], index: group[0].pod, list };
        let mut next = 0;
        for notes in own.chunk_by(|a, b| a.port == b.port) {
            let port = notes[0].port.unwrap_or_default();
            explained += table.add(&place, next..port, whole, &[]);
            explained += table.add(&place, port..port + 1, whole, notes);
            next = port + 1;
        }
        explained += table.add(&place, next..ports, whole, &[]);
    }
    let total = known.saturating_mul(ports).saturating_mul(table.counts.len());
    table.omitted += total.saturating_sub(explained);
    table
}

/// Where a row belongs.
struct Place<'a> {
    service: &'a Service,
    pod: &'a Pod,
    index: usize,
    list: usize,
}

impl Table {
    /// Adds rows that have the same reasons. Says how many rows it took care of.
    fn add(&mut self, place: &Place<'_>, ports: Range<usize>, whole: &[Record], own: &[Record]) -> usize {
        let Some(first) = whole.first().or(own.first()) else { return 0 };
        let asked = ports.len();
        let ports = ports.start..ports.start + asked.min(MAX_VERDICTS.saturating_sub(self.seen));
        self.seen += ports.len();
        self.omitted += asked - ports.len();
        let (state, mut notes) = verdict(first.scope, whole.iter().chain(own));
        let served = match state {
            PodState::Ready => true,
            // A stored endpoint was written for what the Service said then.
            PodState::Terminating if kept(&notes) => {
                notes.iter().any(|n| means(n.reason, first.scope) == Some(PodState::Ready))
            }
            // The only terminating endpoints that are ready (spec B.3).
            PodState::Terminating => place.service.publish_not_ready,
            PodState::NotReady | PodState::Absent => false,
        };
        self.counts[place.list].count(state, served, ports.len());
        notes.sort_by_key(|n| means(n.reason, first.scope) != Some(state));
        for port in ports {
            self.served += usize::from(self.ports[port].count(place.index, notes[0].reason, served));
            if self.rows.len() == MAX_ROWS || self.text > MAX_TEXT {
                self.omitted += 1;
                continue;
            }
            let row = Row {
                pod: place.pod.name().clone(),
                port: place.service.ports.get(port).map(|p| PortName {
                    name: p.name.clone(),
                    port: p.port,
                    target_port: p.target_port.clone(),
                }),
                scope: first.scope,
                served,
                state,
                reasons: notes.iter().map(|n| Cause::new(n.reason, n.detail.clone())).collect(),
            };
            self.text += row.text();
            self.rows.push(row);
        }
        asked
    }
}

impl ScopeCounts {
    fn none(scope: Scope) -> Self {
        Self { scope, served: 0, ready: 0, not_ready: 0, terminating: 0, absent: 0 }
    }

    fn count(&mut self, state: PodState, served: bool, rows: usize) {
        let of_state = match state {
            PodState::Ready => &mut self.ready,
            PodState::NotReady => &mut self.not_ready,
            PodState::Terminating => &mut self.terminating,
            PodState::Absent => &mut self.absent,
        };
        *of_state += rows;
        self.served += if served { rows } else { 0 };
    }
}

impl PortTally {
    /// Rows come pod by pod: a pod is counted once for each reason, in however many lists. Tells whether it is the
    /// first list in which the pod serves the port.
    fn count(&mut self, pod: usize, reason: Reason, served: bool) -> bool {
        self.served |= served;
        let first = served && self.last_served.replace(pod) != Some(pod);
        let (pods, last) = self.reasons.entry(reason).or_insert((0, usize::MAX));
        if *last != pod {
            *pods += 1;
        }
        *last = pod;
        first
    }
}

impl Row {
    /// How long it is where it is written.
    fn text(&self) -> usize {
        let port = self.port.as_ref().map_or(0, |p| match &p.target_port {
            TargetPort::Name(target) => p.name.len() + target.len(),
            TargetPort::Number(_) => p.name.len(),
        });
        self.pod.len() + port + self.reasons.iter().map(Cause::text).sum::<usize>()
    }
}

/// The state that the notes of a row add up to, and those that matter then. What leaves a pod out wins;
/// after it nothing is true any more that was said of a published pod. Where stored objects stay as they are, it is
/// they that publish: what would leave the pod out of others is told, and changes nothing.
fn verdict<'a>(scope: Scope, notes: impl Iterator<Item = &'a Record>) -> (PodState, Vec<&'a Record>) {
    let mut notes: Vec<&Record> = notes.collect();
    let kept = kept(&notes);
    let states = notes.iter().filter_map(|n| means(n.reason, scope));
    let state = states.filter(|s| !kept || *s != PodState::Absent).max().unwrap_or(PodState::Absent);
    if state == PodState::Absent && notes.iter().any(|n| means(n.reason, scope) == Some(state)) {
        notes.retain(|n| means(n.reason, scope) == Some(state));
    }
    (state, notes)
}

/// Whether stored objects stay as they are: what publishes the pod is then said of those.
fn kept(notes: &[&Record]) -> bool {
    notes.iter().any(|n| matches!(n.reason, Reason::Frozen | Reason::PlanTooLarge))
}

/// The state that a reason stands for; `None` if it only adds to another one.
fn means(reason: Reason, scope: Scope) -> Option<PodState> {
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
