//! Why pod ports have no traffic after a change: first what the change broke, then what was so before.

use std::collections::BTreeMap;

use roster_engine::{
    explain::{Explanation, PodVerdict},
    model::Text,
    phrase::counted,
    record::Scope,
};

use super::difference::{DifferenceCause, lead};
use crate::plain_words::things;

/// A pod and a port of the Service.
type PodPort<'a> = (&'a Text, Option<(&'a Text, i32)>);

/// What is known of a pod port in all slices: whether one has it ready, and a row that says why not.
struct Seen<'a> {
    is_served: bool,
    row: &'a PodVerdict,
}

/// Pod ports without traffic, for one reason.
#[derive(Default)]
struct Count {
    pod_ports: usize,
    /// What the reason means for the first of them.
    detail: String,
}

/// Why pod ports have no traffic after a change, in sentences.
pub(super) fn sentences(before: &Explanation, after: &Explanation) -> Vec<String> {
    let (old, new) = (pod_ports(before), pod_ports(after));
    let (mut lost, mut others) = (BTreeMap::new(), BTreeMap::new());
    for (key, seen) in new.iter().filter(|(_, seen)| !seen.is_served) {
        let (cause, detail) = lead(Some(seen.row));
        let is_lost = old.get(key).is_some_and(|seen| seen.is_served);
        let count: &mut Count = if is_lost { &mut lost } else { &mut others }.entry(cause).or_default();
        if count.pod_ports == 0 && !detail.is_empty() {
            count.detail = format!(" ({}: {detail})", key.0);
        }
        count.pod_ports += 1;
    }
    let unselected = old.iter().filter(|(key, seen)| seen.is_served && !new.contains_key(key)).count();
    if unselected > 0 {
        lost.entry(DifferenceCause::NotSelected).or_default().pod_ports += unselected;
    }
    let mut all = Vec::new();
    for (cause, Count { pod_ports, detail }) in &lost {
        let verb = if *pod_ports == 1 { "loses its" } else { "lose their" };
        all.push(format!("{} {verb} traffic: {}{detail}.", counted(*pod_ports, things(before)), text(*cause)));
    }
    let others: Vec<String> = others
        .iter()
        .map(|(cause, count)| format!("{}: {}", text(*cause), counted(count.pod_ports, things(after))))
        .collect();
    if !others.is_empty() {
        let intro = if all.is_empty() { "" } else { "Without traffic before, too: " };
        all.push(format!("{intro}{}.", others.join("; ")));
    }
    all
}

fn pod_ports(explanation: &Explanation) -> BTreeMap<PodPort<'_>, Seen<'_>> {
    let mut all: BTreeMap<PodPort<'_>, Seen<'_>> = BTreeMap::new();
    for row in explanation.rows.iter().filter(|row| row.scope != Scope::Endpoints) {
        let key = (&row.pod, row.port.as_ref().map(|port| (&port.name, port.port)));
        all.entry(key).or_insert(Seen { is_served: false, row }).is_served |= row.served;
    }
    all
}

fn text(cause: DifferenceCause) -> String {
    match cause {
        DifferenceCause::Code(code) => format!("`{}`", code.code()),
        DifferenceCause::NotSelected => "the selector does not match any more".to_owned(),
    }
}
