//! Which pods serve which ports of a Service, and why the others do not.
//!
//! Nothing is decided here. The engine plans and records every decision where it falls; this module arranges the
//! records into one [`PodVerdict`] per pod, list and run of Service ports, and adds the causes that concern the Service as a
//! whole ([`Explanation::reasons`]).
//!
//! No input makes the answer unbounded: at most [`MAX_LISTED_VERDICTS`] verdicts with [`MAX_TEXT`] bytes of text are listed and
//! [`MAX_VERDICTS`] are reached, from at most [`MAX_RECORDS`] records; [`Summary::omitted_rows`] counts the rest. At
//! most [`MAX_REASONS`] causes are listed for the Service.

mod diagnosis;
mod explanation;
mod pod_relation;
mod port_run;
mod port_tallies;
mod selector_misses;
mod served_totals;
mod service_causes;
#[cfg(test)]
mod tests;
mod verdicts;

pub use diagnosis::{DiagnosedCause, Diagnosis};
pub use explanation::{
    Cause, Explanation, LabelMiss, MAX_LISTED_VERDICTS, MAX_REASONS, MAX_RECORDS, MAX_TEXT, MAX_VERDICTS, PodState,
    PodVerdict, ScopeCounts, Summary,
};
pub use pod_relation::PodRelation;
pub(crate) use port_run::CountByPlace;
pub use port_run::{PortName, PortRun, each_piece};
pub use selector_misses::LabelGroups;
pub use served_totals::ServedTotals;

use std::borrow::Cow;

use crate::{
    model::{Interrupt, Pod},
    plan,
    record::{Record, Recorder},
    stale::{self, KnownTargets, PodNames, StaleReport},
    state::{Controller, Options, Plan, State},
    unknown_kinds::{UnknownKinds, plan_known_of},
};

/// Explains what all three controllers make of one Service.
///
/// A selector that matches nothing, and the pods that stored addresses name, are compared with all pods of the state: pass
/// those of the namespace, or all pods, to learn about near misses and about addresses of pods that are gone.
///
/// ```
/// use roster_engine::{Options, Reason, State, explain, model::{Nodes, Pod, Service}};
/// use serde_json::json;
///
/// let service: Service = serde_json::from_value(json!({
///     "metadata": {"name": "web", "namespace": "shop"},
///     "spec": {"selector": {"app": "web"}, "ipFamilies": ["IPv4"], "ports": [{"port": 80, "targetPort": "http"}]},
/// }))?;
/// let pod: Pod = serde_json::from_value(json!({
///     "metadata": {"name": "web-0", "namespace": "shop", "labels": {"app": "web"}},
///     "status": {"phase": "Failed"},
/// }))?;
///
/// let state = State {
///     service: Some(&service), pods: &[&pod], nodes: &Nodes::default(), endpoints: None, slices: &[],
/// };
/// let explanation = explain(&state, &Options::default());
/// assert_eq!(explanation.summary.served, 0);
/// assert_eq!(explanation.rows[0].reasons[0].code, Reason::PodEnded);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn explain(state: &State<'_>, options: &Options) -> Explanation {
    let pods: PodNames<'_> = state.pods.iter().copied().collect();
    let targets = Some(KnownTargets::of_state(&pods, state.nodes));
    explain_only(state, options, Focus { targets, ..Focus::default() })
}

/// Which part of an explanation a caller needs, and what it knows besides the state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Focus<'a> {
    /// The [`selected_pods`](crate::plan::selected_pods) of the state, if the caller has asked for them.
    pub selected: Option<&'a [&'a Pod]>,
    /// Only this one of the selected pods, by its index.
    pub pod: Option<usize>,
    /// The pods that a selector without matches is compared with, if more than the pods of the state are known.
    pub pods: Option<&'a LabelGroups<'a>>,
    /// How many pods the namespace of the Service has, if the state has only those that it selects.
    pub namespace_pods: Option<usize>,
    /// Whether the pods of the state are narrowed down by more than the selector: an empty one does not select everything then.
    pub is_narrowed: bool,
    /// The kinds about which nothing is known in the namespace of the Service.
    pub unknown: UnknownKinds,
    /// What stored objects are compared with; without it, nothing is reported as stale.
    pub targets: Option<KnownTargets<'a>>,
    /// Whether to end early. The explanation is then incomplete, and the caller discards it.
    pub interrupt: Interrupt<'a>,
}

/// The part of [`explain`] that `focus` names.
pub fn explain_only(state: &State<'_>, options: &Options, focus: Focus<'_>) -> Explanation {
    let mut records = RecordList { only: focus.pod, interrupt: focus.interrupt, list: Vec::new(), seen: 0, text: 0 };
    let pods = focus.selected.map_or_else(|| Cow::Owned(plan::selected_pods(state)), Cow::Borrowed);
    let plan = plan_known_of(&pods, state, &Controller::ALL, options, focus.unknown, &mut records);
    arrange(state, &pods, options, focus, records.list, plan)
}

/// Arranges what the engine recorded about the selected pods.
fn arrange(
    state: &State<'_>,
    pods: &[&Pod],
    options: &Options,
    focus: Focus<'_>,
    records: Vec<Record>,
    plan: Plan,
) -> Explanation {
    let known = if focus.pod.is_some() { pods.len().min(1) } else { pods.len() };
    let table = verdicts::table(state.service, pods, known, records);
    let key = service_causes::key(state);
    let mut reasons = service_causes::of_service(state, options, pods, focus);
    let mut stale = StaleReport::default();
    if focus.pod.is_none() {
        // The records of one pod say nothing about the others.
        reasons.extend(service_causes::unserved_ports(state, &table));
        reasons.extend(service_causes::missing_targets(state, pods, &table));
        stale = focus.targets.map(|targets| stale::find(state, &plan, &targets)).unwrap_or_default();
    }
    reasons.extend(stale.findings.into_iter().map(|f| Cause::of_stored(f, key.as_ref())));
    reasons.extend(plan.problems.into_iter().map(|p| Cause::of_finding(p, key.as_ref())));
    let omitted_reasons = reasons.len().saturating_sub(MAX_REASONS);
    reasons.truncate(MAX_REASONS);
    Explanation {
        service: key,
        compat: options.compat,
        summary: Summary {
            pods: known,
            ports: state.service.map_or(0, |s| s.ports.len()),
            served: table.served,
            stale_addresses: stale.addresses,
            scopes: table.counts,
            omitted_rows: table.omitted,
            omitted_reasons,
        },
        reasons,
        rows: table.verdicts,
    }
}

/// The first [`MAX_RECORDS`] records, up to [`MAX_TEXT`] of text, of all pods or of one.
struct RecordList<'a> {
    only: Option<usize>,
    interrupt: Interrupt<'a>,
    list: Vec<Record>,
    /// How many records were offered.
    seen: usize,
    /// The length of the details in `list`.
    text: usize,
}

impl Recorder for RecordList<'_> {
    fn interrupt(&self) -> Interrupt<'_> {
        self.interrupt
    }

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
