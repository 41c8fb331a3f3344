//! Two explanations of a Service side by side: before a change, and after it.

use std::{collections::BTreeMap, ops::Range};

use roster_engine::{
    explain::{Explanation, PodVerdict, each_piece},
    model::Text,
    record::Scope,
};

/// A verdict of one of the explanations.
#[derive(Clone, Copy)]
pub(super) struct SideRow<'a> {
    pub(super) is_after: bool,
    pub(super) row: &'a PodVerdict,
}

/// Visits pod by pod the ports of which both explanations say the same. Rows of Endpoints do not count: kube-proxy reads slices.
/// No change adds a port to a Service or takes one away, so the places of ports stay.
pub(super) fn each<'a>(
    before: &'a Explanation,
    after: &'a Explanation,
    mut visit: impl FnMut(&'a Text, Range<usize>, &[SideRow<'a>]),
) {
    let mut pods: BTreeMap<&Text, Vec<SideRow<'_>>> = BTreeMap::new();
    for (is_after, explanation) in [(false, before), (true, after)] {
        for row in explanation.rows.iter().filter(|row| row.scope != Scope::Endpoints) {
            pods.entry(&row.pod).or_default().push(SideRow { is_after, row });
        }
    }
    for (pod, rows) in &pods {
        let is_one_list = |a: &SideRow<'_>, b: &SideRow<'_>| (a.is_after, a.row.scope) == (b.is_after, b.row.scope);
        let lists: Vec<&[SideRow<'_>]> = rows.chunk_by(is_one_list).collect();
        each_piece(
            &lists,
            |side| side.row.ports.places(),
            |places, rows| {
                let rows: Vec<SideRow<'_>> = rows.iter().map(|side| **side).collect();
                visit(pod, places, &rows);
            },
        );
    }
}
