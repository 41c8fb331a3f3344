//! What `explain` answers: the verdicts on every pod, and the causes that concern the Service.

use serde::{Serialize, Serializer};

use super::port_run::{PortName, PortRun};
use crate::{
    model::{ObjectKey, Service, Text},
    profile::Minor,
    reason::{Finding, Reason, Severity},
    record::Scope,
};

/// The most verdicts that are listed.
pub const MAX_LISTED_VERDICTS: usize = 100_000;
/// The most text in the listed verdicts, and in the records that are kept for them, in bytes: 600 for each of
/// [`MAX_LISTED_VERDICTS`].
pub const MAX_TEXT: usize = 60_000_000;
/// The most verdicts that are reached: those over [`MAX_LISTED_VERDICTS`] are only counted.
pub const MAX_VERDICTS: usize = 1 << 24;
/// The most records that are kept: those of 700 000 pods in three lists, or of 200 000 pods that all lack three ports.
pub const MAX_RECORDS: usize = 1 << 21;
/// The most causes that are listed for the Service as a whole.
pub const MAX_REASONS: usize = 1000;

/// Which pods serve a Service, and why the others do not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The Service; if it was deleted, its name as the remaining objects give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ObjectKey>,
    /// The release whose controllers are explained.
    pub compat: Minor,
    /// Counts.
    pub summary: Summary,
    /// What concerns the Service as a whole, followed by the findings of the plan.
    pub reasons: Vec<Cause>,
    /// The verdicts on each selected pod, list by list and port by port. Pods keep their order. In JSON each port has a row.
    #[serde(serialize_with = "row_by_row")]
    pub rows: Vec<PodVerdict>,
}

/// Counts of an [`Explanation`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Pods that the Service selects.
    pub pods: usize,
    /// Ports of the Service.
    pub ports: usize,
    /// Pods × ports that are ready in a list that kube-proxy reads: in the slices of at least one address type. Each
    /// counts once; `scopes` counts each list separately.
    pub served: usize,
    /// Addresses in stored slices whose pod or node is gone. They do not count as served.
    pub stale_addresses: usize,
    /// Verdicts of each list, by state.
    pub scopes: Vec<ScopeCounts>,
    /// Verdicts that are not listed.
    pub omitted_rows: usize,
    /// Causes that are not listed.
    pub omitted_reasons: usize,
}

/// How many pods × ports of a list are in which state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeCounts {
    /// The list.
    pub scope: Scope,
    /// kube-proxy sends traffic to it: 0 for Endpoints, which kube-proxy does not read.
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

impl ScopeCounts {
    /// No verdicts of `scope` yet.
    pub(super) fn none(scope: Scope) -> Self {
        Self { scope, served: 0, ready: 0, not_ready: 0, terminating: 0, absent: 0 }
    }

    /// Counts some verdicts that are the same.
    pub(super) fn count(&mut self, state: PodState, served: bool, verdicts: usize) {
        let of_state = match state {
            PodState::Ready => &mut self.ready,
            PodState::NotReady => &mut self.not_ready,
            PodState::Terminating => &mut self.terminating,
            PodState::Absent => &mut self.absent,
        };
        *of_state += verdicts;
        self.served += if served { verdicts } else { 0 };
    }
}

/// The answer for one pod and some Service ports in one list: published or not, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodVerdict {
    /// Name of the pod.
    pub pod: Text,
    /// The Service ports: at least one, or the Service as a whole if it has none.
    pub ports: PortRun,
    /// The list.
    pub scope: Scope,
    /// Whether kube-proxy sends traffic to it because of this list: never because of Endpoints, which it does not read.
    pub served: bool,
    /// How it is published.
    pub state: PodState,
    /// Why: at least one cause, the decisive one first.
    pub reasons: Vec<Cause>,
    /// Whether kube-proxy uses it for as long as it runs, because no pod of the list is ready: for pictures and pages.
    pub is_last_resort: bool,
}

impl PodVerdict {
    /// The length of the texts that each of its rows repeats.
    pub(super) fn text(&self) -> usize {
        self.pod.len() + self.reasons.iter().map(|c| c.detail.len() + c.fix.len()).sum::<usize>()
    }
}

/// What JSON says of one port of a verdict.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerdictRow<'a> {
    pod: &'a Text,
    port: Option<&'a PortName>,
    scope: Scope,
    served: bool,
    state: PodState,
    reasons: &'a [Cause],
}

fn rows(verdict: &PodVerdict) -> impl Iterator<Item = VerdictRow<'_>> {
    let PodVerdict { pod, ports, scope, served, state, reasons, .. } = verdict;
    ports.each().map(|port| VerdictRow { pod, port, scope: *scope, served: *served, state: *state, reasons })
}

/// Writes a row for each port of each verdict.
fn row_by_row<S: Serializer>(verdicts: &[PodVerdict], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(verdicts.iter().flat_map(rows))
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

/// A reason with its details for one pod or Service, and the fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// The code.
    pub code: Reason,
    /// How much it matters.
    pub severity: Severity,
    /// What the reason means here; empty where the code says everything.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What a user can do; empty where there is nothing to do.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub fix: &'static str,
    /// The object, if it is not the pod of the verdict or the Service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectKey>,
    /// For [`Reason::LabelDiffers`]: the labels that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LabelMiss>,
    /// For [`Reason::LabelDiffers`]: how many pods differ in this way, for pictures.
    #[serde(skip)]
    pub pods: usize,
}

impl Cause {
    /// A cause with the severity and the fix of its code.
    pub fn new(code: Reason, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { code, severity: code.severity(), detail, fix: code.fix(), object: None, labels: Vec::new(), pods: 0 }
    }

    /// A cause in the pods of `service`. If they lack a port, their addresses are published all the same, in a slice without the
    /// port: kube-proxy needs the port, but the DNS name of a headless Service leads to the addresses.
    pub(super) fn of_pods(service: &Service, code: Reason, detail: String) -> Self {
        let cause = Self::new(code, detail);
        if !(service.declared_headless() && code.lacks_port()) {
            return cause;
        }
        let detail = format!("{}; a headless Service needs it for its SRV record only", cause.detail);
        Self { severity: Severity::Warning, detail, ..cause }
    }

    /// A finding about a stored object of `service`, whose name is part of the detail: a Service has several.
    pub(super) fn of_stored(finding: Finding, service: Option<&ObjectKey>) -> Self {
        let ObjectKey { kind, name, .. } = &finding.object;
        let message = format!("{kind} {name}: {}", finding.message);
        Self::of_finding(Finding { message, ..finding }, service)
    }

    /// A finding of the plan for `service`.
    pub(super) fn of_finding(finding: Finding, service: Option<&ObjectKey>) -> Self {
        let object = Some(finding.object).filter(|o| Some(o) != service);
        Self { severity: finding.severity, object, ..Self::new(finding.code, finding.message) }
    }
}

/// A pair of the selector that the labels of a pod do not contain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabelMiss {
    /// Key of the label.
    pub key: Text,
    /// The value that the selector requires.
    pub wanted: Text,
    /// The value that the pod has; `None` if it has no such label.
    pub found: Option<Text>,
}
