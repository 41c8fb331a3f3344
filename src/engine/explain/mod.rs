//! Which pods serve which ports of a Service, and why the others do not.
//!
//! Nothing is decided here. The engine plans, and writes down every decision as it falls; this module
//! arranges what was written: one row per pod, Service port and list ([`Row`]), and what there is to say of
//! the Service as a whole ([`Explanation::reasons`]).
//!
//! Bounds, so that no input makes the answer boundless: [`MAX_ROWS`] rows of [`MAX_TEXT`] are listed and
//! [`MAX_VERDICTS`] counted, of [`MAX_RECORDS`] decisions; what is left out is counted in
//! [`Summary::omitted_rows`]. At most [`MAX_REASONS`] things are said of the Service.

mod near;
mod rows;
mod service;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use near::Kinds;

use crate::{
    engine::{
        compat::Minor,
        plan,
        reason::{Finding, Reason, Record, Recorder, Scope, Severity},
        state::{Controller, Options, Plan, State},
    },
    model::{ObjectKey, TargetPort, Text},
};

/// The most rows that are listed.
pub const MAX_ROWS: usize = 100_000;
/// The most text in the rows that are listed, and in the decisions that are remembered, in bytes: 600 for each of
/// [`MAX_ROWS`].
pub const MAX_TEXT: usize = 60_000_000;
/// The most rows that are looked at: those over [`MAX_ROWS`] are counted only.
pub const MAX_VERDICTS: usize = 1 << 24;
/// The most decisions that are remembered: those of 700 000 pods in three lists, or three ports that they all miss
/// in 200 000.
pub const MAX_RECORDS: usize = 1 << 21;
/// The most things that are said of the Service as a whole.
pub const MAX_REASONS: usize = 1000;

/// Which pods serve a Service, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The Service; the name of it that is left, if it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ObjectKey>,
    /// The release whose controllers are explained.
    pub compat: Minor,
    /// Counts.
    pub summary: Summary,
    /// What there is to say of the Service as a whole; last the problems of the plan.
    pub reasons: Vec<Cause>,
    /// One row per selected pod, list and Service port, in this order; pods as they were given.
    pub rows: Vec<Row>,
}

/// Counts of an [`Explanation`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Pods that the Service selects.
    pub pods: usize,
    /// Ports of the Service.
    pub ports: usize,
    /// Pods × ports that are ready in one list at least: in Endpoints, or in the slices of some address type. Each
    /// counts once, though clients that read another list may not get it (kube-proxy reads slices only): `scopes`
    /// counts each list by itself.
    pub served: usize,
    /// Rows of each list, by state.
    pub scopes: Vec<ScopeCounts>,
    /// Rows that are not listed.
    pub omitted_rows: usize,
    /// Reasons that are not listed.
    pub omitted_reasons: usize,
}

/// How many pods × ports of a list are in which state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeCounts {
    /// The list.
    pub scope: Scope,
    /// Clients that read this list get it.
    pub served: usize,
    /// Published as ready.
    pub ready: usize,
    /// Published as not ready.
    pub not_ready: usize,
    /// Published as terminating.
    pub terminating: usize,
    /// Not published.
    pub absent: usize,
}

/// The verdict on one pod and port in one list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Name of the pod.
    pub pod: Text,
    /// The Service port; `None` if the Service has no ports.
    pub port: Option<PortName>,
    /// The list.
    pub scope: Scope,
    /// Whether clients that read this list get it.
    pub served: bool,
    /// How it is published.
    pub state: PodState,
    /// Why: at least one reason, the decisive one first.
    pub reasons: Vec<Cause>,
}

/// A Service port in a [`Row`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PortName {
    /// Name; may be empty.
    pub name: Text,
    /// Number.
    pub port: i32,
    /// Number or name of the pod's port.
    pub target_port: TargetPort,
}

/// How a pod is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PodState {
    /// As ready.
    Ready,
    /// As not ready.
    NotReady,
    /// As terminating.
    Terminating,
    /// Not at all.
    Absent,
}

/// Something to say, with what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// Stable code.
    pub code: Reason,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about here; may be empty, where the code says all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What can be done; empty where nothing needs doing.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub fix: &'static str,
    /// The object, where it is another one than the row or the Service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectKey>,
    /// For [`Reason::LabelDiffers`]: the labels that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LabelMiss>,
}

impl Cause {
    /// A finding with the severity and fix of its code.
    pub fn new(code: Reason, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { code, severity: code.severity(), detail, fix: code.fix(), object: None, labels: Vec::new() }
    }

    /// How long it is where it is written.
    fn text(&self) -> usize {
        self.detail.len() + self.fix.len()
    }

    fn of_problem(problem: Finding, service: Option<&ObjectKey>) -> Self {
        let object = Some(problem.object).filter(|o| Some(o) != service);
        Self { severity: problem.severity, object, ..Self::new(problem.code, problem.message) }
    }
}

/// A pair of the selector that a pod's labels do not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabelMiss {
    /// Key of the label.
    pub key: Text,
    /// The value that the selector asks for.
    pub wanted: Text,
    /// The value of the pod; `None` if it has no such label.
    pub found: Option<Text>,
}

/// What is asked of an explanation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Focus<'a> {
    /// Only this one of the selected pods, by its place among [`plan::selected_pods`].
    pub pod: Option<usize>,
    /// Whom a selector that matches nothing may have meant, where others than the pods of the state are known.
    pub kinds: Option<&'a Kinds<'a>>,
}

/// Explains what all three controllers make of one Service.
///
/// To hear of near misses of a selector that matches nothing, pass pods beside the selected ones: those of the
/// namespace, or of all.
pub fn explain(state: &State<'_>, options: &Options) -> Explanation {
    explain_only(state, options, Focus::default())
}

/// [`explain`], as far as it is asked.
pub fn explain_only(state: &State<'_>, options: &Options, focus: Focus<'_>) -> Explanation {
    let mut records = RecordList { only: focus.pod, list: Vec::new(), seen: 0, text: 0 };
    let plan = plan::plan_recorded(state, &Controller::ALL, options, &mut records);
    arrange(state, options, focus, records.list, plan)
}

/// Arranges what the engine wrote down.
fn arrange(state: &State<'_>, options: &Options, focus: Focus<'_>, records: Vec<Record>, plan: Plan) -> Explanation {
    let pods = plan::selected_pods(state);
    let known = if focus.pod.is_some() { pods.len().min(1) } else { pods.len() };
    let table = rows::table(state.service, &pods, known, records);
    let key = service::key(state);
    let mut reasons = service::findings(state, options, &pods, focus.kinds);
    if focus.pod.is_none() {
        // Of one pod nothing can be told of the others.
        reasons.extend(service::unserved_ports(state, &table));
    }
    reasons.extend(plan.problems.into_iter().map(|p| Cause::of_problem(p, key.as_ref())));
    let omitted_reasons = reasons.len().saturating_sub(MAX_REASONS);
    reasons.truncate(MAX_REASONS);
    Explanation {
        service: key,
        compat: options.compat,
        summary: Summary {
            pods: known,
            ports: state.service.map_or(0, |s| s.ports.len()),
            served: table.served,
            scopes: table.counts,
            omitted_rows: table.omitted,
            omitted_reasons,
        },
        reasons,
        rows: table.rows,
    }
}

/// Remembers the first [`MAX_RECORDS`] decisions, as far as [`MAX_TEXT`] goes, of all pods or of one.
struct RecordList {
    only: Option<usize>,
    list: Vec<Record>,
    /// How many there were.
    seen: usize,
    /// How long the details are that are remembered.
    text: usize,
}

impl Recorder for RecordList {
    fn open(&self) -> bool {
        self.list.len() < MAX_RECORDS && self.seen < MAX_VERDICTS && self.text < MAX_TEXT
    }

    fn record(&mut self, record: impl FnOnce() -> Record) {
        if !self.open() {
            return;
        }
        self.seen += 1;
        let record = record();
        if self.only.is_none_or(|pod| pod == record.pod) {
            self.text += record.detail.len();
            self.list.push(record);
        }
    }
}
