//! How two explanations of a Service differ, grouped by cause.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use roster_engine::{
    explain::{Explanation, PodState, PodVerdict, PortName},
    reason::Reason,
    record::Scope,
};

use super::both_sides;
use crate::{limits::MAX_ROWS, plain_words::port_text};

/// What a change does to pod ports. The order is that of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// They lose their traffic.
    Lost,
    /// They get traffic.
    Gained,
    /// They are published in another way, and without traffic before and after.
    Other,
}

/// Why. The cause of a loss is what is true after the change, and that of a gain what was true before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DifferenceCause {
    Code(Reason),
    /// The selector does not match the pod.
    NotSelected,
}

/// Pod ports to which a change does the same for the same reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DifferenceGroup {
    pub(crate) effect: Effect,
    pub(crate) cause: DifferenceCause,
    /// What the cause means for the first of them.
    pub(crate) detail: String,
    /// How many there are.
    pub(crate) pod_ports: usize,
    /// The first of them.
    pub(crate) named: Vec<String>,
}

/// What is different for pod ports, grouped by effect and cause.
pub(crate) fn groups(before: &Explanation, after: &Explanation) -> Vec<DifferenceGroup> {
    let mut all: BTreeMap<(Effect, DifferenceCause), DifferenceGroup> = BTreeMap::new();
    both_sides::each(before, after, |_, places, rows| {
        let mut scopes: Vec<Scope> = rows.iter().map(|side| side.row.scope).collect();
        scopes.sort_unstable();
        scopes.dedup();
        let mut seen = BTreeSet::new();
        for scope in scopes {
            let find = |is_after| rows.iter().find(|side| (side.is_after, side.row.scope) == (is_after, scope));
            let (old, new) = (find(false).map(|side| side.row), find(true).map(|side| side.row));
            let Some((effect, cause, detail)) = effect_of(old, new) else { continue };
            let group = all.entry((effect, cause)).or_insert_with(|| DifferenceGroup::of(effect, cause, detail));
            // A pod port of two families counts once.
            if let Some(row) = new.or(old).filter(|_| seen.insert((effect, cause))) {
                group.add(row, places.clone());
            }
        }
    });
    all.into_values().collect()
}

/// What a change does to a pod port in one list, and why; `None` if nothing changes.
fn effect_of<'a>(
    old: Option<&'a PodVerdict>,
    new: Option<&'a PodVerdict>,
) -> Option<(Effect, DifferenceCause, &'a str)> {
    let is_served = |row: Option<&PodVerdict>| row.is_some_and(|row| row.served);
    let effect = match (is_served(old), is_served(new)) {
        (true, false) => Effect::Lost,
        (false, true) => Effect::Gained,
        // The words of a pod port may name others, which have changed.
        _ if is_alike(old, new) => return None,
        _ => Effect::Other,
    };
    let (cause, detail) = lead(if effect == Effect::Gained { old } else { new });
    Some((effect, cause, detail))
}

/// Whether a pod port is published alike, for the same cause.
fn is_alike(old: Option<&PodVerdict>, new: Option<&PodVerdict>) -> bool {
    let state = |row: Option<&PodVerdict>| row.map(|row| row.state);
    (lead(old).0, state(old)) == (lead(new).0, state(new))
}

impl DifferenceGroup {
    fn of(effect: Effect, cause: DifferenceCause, detail: &str) -> Self {
        Self { effect, cause, detail: detail.to_owned(), pod_ports: 0, named: Vec::new() }
    }

    /// Adds these ports of a pod.
    fn add(&mut self, row: &PodVerdict, places: Range<usize>) {
        self.pod_ports += places.len();
        let room = MAX_ROWS - self.named.len();
        let name = |port: Option<&PortName>| match port {
            None => row.pod.to_string(),
            Some(port) => format!("{} ({})", row.pod, port_text(port)),
        };
        self.named.extend(row.ports.at(places).each().take(room).map(name));
    }
}

/// Why a pod port is as it is.
pub(super) fn lead(row: Option<&PodVerdict>) -> (DifferenceCause, &str) {
    let Some(row) = row else { return (DifferenceCause::NotSelected, "") };
    let decisive = row.reasons.iter().find(|cause| row.state == PodState::Ready || cause.code != Reason::Ready);
    decisive
        .map_or((DifferenceCause::Code(Reason::Ready), ""), |cause| (DifferenceCause::Code(cause.code), &cause.detail))
}
