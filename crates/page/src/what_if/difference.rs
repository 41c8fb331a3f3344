//! How two explanations of a Service differ, grouped by cause.

use std::collections::BTreeMap;

use roster_engine::{
    explain::{Explanation, PodState, PodVerdict},
    model::Text,
    reason::Reason,
    record::Scope,
};

use crate::plain_words::port_text;

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
    /// The pods and ports, each once.
    pub(crate) pod_ports: Vec<String>,
}

type RowKey<'a> = (&'a Text, Option<(&'a Text, i32)>, Scope);

/// The rows of the slices, which kube-proxy reads.
fn rows(explanation: &Explanation) -> BTreeMap<RowKey<'_>, &PodVerdict> {
    let of_slices = explanation.rows.iter().filter(|row| row.scope != Scope::Endpoints);
    of_slices.map(|row| ((&row.pod, row.port.as_ref().map(|p| (&p.name, p.port)), row.scope), row)).collect()
}

/// What is different for pod ports, grouped by effect and cause.
pub(crate) fn groups(before: &Explanation, after: &Explanation) -> Vec<DifferenceGroup> {
    let (old, new) = (rows(before), rows(after));
    let mut all: BTreeMap<(Effect, DifferenceCause), DifferenceGroup> = BTreeMap::new();
    let mut keys: Vec<&RowKey<'_>> = old.keys().chain(new.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let (old, new) = (old.get(key).copied(), new.get(key).copied());
        let is_served = |row: Option<&PodVerdict>| row.is_some_and(|row| row.served);
        let effect = match (is_served(old), is_served(new)) {
            (true, false) => Effect::Lost,
            (false, true) => Effect::Gained,
            _ if lead(old) == lead(new) => continue,
            _ => Effect::Other,
        };
        let of = if effect == Effect::Gained { old } else { new };
        let (cause, detail) = lead(of);
        let group = all.entry((effect, cause)).or_insert_with(|| DifferenceGroup {
            effect,
            cause,
            detail: detail.to_owned(),
            pod_ports: Vec::new(),
        });
        if let Some(row) = new.or(old) {
            let name =
                row.port.as_ref().map_or_else(|| row.pod.to_string(), |p| format!("{} ({})", row.pod, port_text(p)));
            if group.pod_ports.last() != Some(&name) {
                group.pod_ports.push(name);
            }
        }
    }
    all.into_values().collect()
}

/// Why a pod port is as it is.
pub(super) fn lead(row: Option<&PodVerdict>) -> (DifferenceCause, &str) {
    let Some(row) = row else { return (DifferenceCause::NotSelected, "") };
    let decisive = row.reasons.iter().find(|cause| row.state == PodState::Ready || cause.code != Reason::Ready);
    decisive
        .map_or((DifferenceCause::Code(Reason::Ready), ""), |cause| (DifferenceCause::Code(cause.code), &cause.detail))
}
