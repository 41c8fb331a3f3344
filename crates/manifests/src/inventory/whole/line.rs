//! How a plan is written as one line of JSON.

use roster_engine::{
    compare::{Tally, Writes},
    model::Text,
    reason::Finding,
    state::{Plan, State},
};
use serde::Serialize;

use crate::inventory::{Entry, Findings, Index};

/// Counts over the plans of a whole cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSummary {
    /// Services.
    pub services: u64,
    /// Names that have Endpoints or slices, but no Service.
    pub orphans: u64,
    /// Pods.
    pub pods: u64,
    /// Nodes.
    pub nodes: u64,
    /// Services and orphans with changes.
    pub changed: u64,
    /// Updates that change nothing and are repeated at every sync. No other number includes them.
    pub endless_updates: u64,
    /// Writes of Endpoints.
    pub endpoints: Writes,
    /// Writes of slices.
    pub endpoint_slices: Writes,
    /// Errors in all plans.
    pub errors: u64,
    /// Findings in all plans together; those of the input are apart.
    pub problems: u64,
}

impl ClusterSummary {
    /// Counts of the objects; no plan is counted yet.
    pub fn new(index: &Index<'_>) -> Self {
        Self { pods: count(index.pods()), nodes: count(index.nodes().iter().count()), ..Self::default() }
    }

    /// Counts one plan.
    pub fn count(&mut self, state: &State<'_>, plan: &Plan) {
        *(if state.service.is_some() { &mut self.services } else { &mut self.orphans }) += 1;
        let tally = Tally::of(state, plan);
        self.changed += u64::from(tally.is_change());
        self.endless_updates += tally.endless;
        self.endpoints.add(tally.endpoints);
        self.endpoint_slices.add(tally.endpoint_slices);
        self.errors += count(plan.errors.len());
        self.problems += count(plan.problems.len());
    }

    /// Adds the counts of another part of the same cluster, without pods and nodes.
    pub fn add(&mut self, other: &Self) {
        self.services += other.services;
        self.orphans += other.orphans;
        self.changed += other.changed;
        self.endless_updates += other.endless_updates;
        self.endpoints.add(other.endpoints);
        self.endpoint_slices.add(other.endpoint_slices);
        self.errors += other.errors;
        self.problems += other.problems;
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[derive(Serialize)]
struct Line<'a> {
    service: Name<'a>,
    #[serde(flatten)]
    plan: &'a Plan,
}

#[derive(Serialize)]
struct Name<'a> {
    namespace: &'a Text,
    name: &'a Text,
}

/// The line of one plan.
pub fn line<'a>(entry: &Entry<'a>, plan: &'a Plan) -> impl Serialize + use<'a> {
    Line { service: Name { namespace: entry.namespace, name: entry.name }, plan }
}

/// The line after the last Service: the summary, and the findings about the input.
pub fn last_line<'a, S: Serialize>(summary: &'a S, problems: &'a Findings) -> impl Serialize + use<'a, S> {
    LastLine { summary: SummaryLine { summary, problems: InputProblems::of(problems) } }
}

/// Appends the line of one plan.
pub(super) fn write(out: &mut Vec<u8>, entry: &Entry<'_>, plan: &Plan) {
    append(out, &line(entry, plan));
}

#[derive(Serialize)]
struct LastLine<'a, S> {
    summary: SummaryLine<'a, S>,
}

#[derive(Serialize)]
struct SummaryLine<'a, S> {
    #[serde(flatten)]
    summary: &'a S,
    #[serde(flatten)]
    problems: InputProblems<'a>,
}

/// The findings about the input, as fields of a summary.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputProblems<'a> {
    input_problems: &'a [Finding],
    /// The number of findings that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    more_input_problems: u64,
}

impl<'a> InputProblems<'a> {
    /// The fields of these findings.
    pub fn of(problems: &'a Findings) -> Self {
        Self { input_problems: problems.as_slice(), more_input_problems: problems.more() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Appends the last line.
pub(super) fn write_summary(out: &mut Vec<u8>, summary: &ClusterSummary, problems: &Findings) {
    append(out, &last_line(summary, problems));
}

fn append(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    // Writing to memory does not fail, and the keys of a plan are text. Should it ever, half a line must not stay.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        return;
    }
    out.push(b'\n');
}
