//! Explains the Services of an index one by one, with what their explanations have in common.

use std::sync::OnceLock;

use roster_engine::{
    explain::{Explanation, Focus, LabelGroups, explain_only},
    model::{Interrupt, Pod},
    plan::selected_pods,
    stale::PodNames,
    state::Options,
};

use super::{
    index::{Entry, Index},
    service_findings::ServiceFindings,
};

/// Explains the Services of an index one by one.
pub struct ServiceExplainer<'a> {
    index: &'a Index<'a>,
    findings: ServiceFindings<'a>,
    pods: &'a [Pod],
    /// The pods that stored addresses are compared with.
    names: PodNames<'a>,
    /// All pods by their labels; built when a selector matches no pod.
    groups: OnceLock<LabelGroups<'a>>,
}

impl<'a> ServiceExplainer<'a> {
    /// Explains Services of `index`; `pods` are all pods of its inventory.
    pub fn new(index: &'a Index<'a>, pods: &'a [Pod]) -> Self {
        Self { index, findings: ServiceFindings::new(index), pods, names: index.pod_names(), groups: OnceLock::new() }
    }

    /// The index.
    pub fn index(&self) -> &'a Index<'a> {
        self.index
    }

    /// Explains all pods of one Service.
    pub fn explain(&self, entry: &Entry<'_>, options: &Options, interrupt: Interrupt<'_>) -> Explanation {
        let state = self.index.state(entry);
        let selected = selected_pods(&state);
        // The pods that a selector was meant to match are searched among all pods.
        let all = || self.groups.get_or_init(|| self.pods.iter().collect());
        let focus = Focus {
            selected: Some(&selected),
            pods: selected.is_empty().then(all),
            targets: Some(self.index.targets(entry, &self.names)),
            unknown: self.index.unknown_of(entry),
            interrupt,
            ..Focus::default()
        };
        let mut explanation = explain_only(&state, options, focus);
        self.findings.add_to(entry, &mut explanation);
        explanation
    }
}
