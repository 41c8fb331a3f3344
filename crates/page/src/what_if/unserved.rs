//! Why pod ports have no traffic after a change: first what the change broke, then what was so before.

use std::collections::BTreeMap;

use roster_engine::{explain::Explanation, phrase::counted};

use super::{
    both_sides,
    difference::{DifferenceCause, lead},
};
use crate::plain_words::things;

/// Pod ports without traffic, for one reason.
#[derive(Default)]
struct Count {
    pod_ports: usize,
    /// What the reason means for the first of them.
    detail: String,
}

type Counts = BTreeMap<DifferenceCause, Count>;

/// Why pod ports have no traffic after a change, in sentences.
pub(super) fn sentences(before: &Explanation, after: &Explanation) -> Vec<String> {
    let (mut lost, mut others): (Counts, Counts) = (BTreeMap::new(), BTreeMap::new());
    both_sides::each(before, after, |pod, places, rows| {
        let is_served = |is_after| rows.iter().any(|side| side.is_after == is_after && side.row.served);
        let now = rows.iter().find(|side| side.is_after).map(|side| side.row);
        let was_served = is_served(false);
        if is_served(true) || (now.is_none() && !was_served) {
            return;
        }
        let (cause, detail) = lead(now);
        let count = if was_served { &mut lost } else { &mut others }.entry(cause).or_default();
        if count.pod_ports == 0 && !detail.is_empty() {
            count.detail = format!(" ({pod}: {detail})");
        }
        count.pod_ports += places.len();
    });
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

fn text(cause: DifferenceCause) -> String {
    match cause {
        DifferenceCause::Code(code) => format!("`{}`", code.code()),
        DifferenceCause::NotSelected => "the selector does not match any more".to_owned(),
    }
}
