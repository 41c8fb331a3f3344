//! One run of `roster explain`: what to explain, with which options.

use std::sync::OnceLock;

use roster_engine::{
    explain::{Explanation, Focus, LabelGroups, explain_only},
    model::Pod,
    plan::selected_pods,
    reason::{Finding, Reason},
    stale::PodNames,
    state::{Options, State},
};
use roster_manifests::inventory::{Entry, Findings, Index, ServiceFindings, whole};

use super::node_uses::NodeUses;
use crate::cli::{progress_line::ProgressLine, view::NodeView};

/// Explains every chosen Service.
pub(super) struct Explainer<'a> {
    pub(super) index: &'a Index<'a>,
    /// The findings about the manifests of the Services.
    pub(super) findings: ServiceFindings<'a>,
    pub(super) pods: Vec<&'a Pod>,
    /// The pods that stored addresses are compared with.
    pub(super) names: PodNames<'a>,
    /// All pods by their labels; built when a selector matches no pod.
    pub(super) groups: OnceLock<LabelGroups<'a>>,
    /// The node from which pods are viewed.
    pub(super) from: Option<NodeView<'a>>,
    /// The only pod to look at.
    pub(super) pod: Option<&'a Pod>,
    /// Whether Services were given by name.
    pub(super) by_name: bool,
    /// Whether Services without warnings and errors are left out.
    pub(super) problems_only: bool,
    pub(super) options: Options,
}

impl Explainer<'_> {
    /// Explains one Service: all its pods, or only the chosen pod.
    fn explain(&self, entry: &Entry<'_>) -> Explanation {
        let state = self.index.state(entry);
        let selected = selected_pods(&state);
        let Some(pod) = self.pod else {
            // The pods that a selector was meant to match are searched among all pods.
            let all = || self.groups.get_or_init(|| self.pods.iter().copied().collect());
            let groups = selected.is_empty().then(all);
            let targets = Some(self.index.targets(entry, &self.names));
            let unknown = self.index.unknown_of(entry);
            let focus = Focus { selected: Some(&selected), pods: groups, targets, unknown, ..Focus::default() };
            let mut all = explain_only(&state, &self.options, focus);
            self.findings.add_to(entry, &mut all);
            return all;
        };
        match selected.iter().position(|p| p.name() == pod.name()) {
            // The Service does not select the pod: explain only how their labels differ.
            None => {
                let mut one = explain_only(&State { pods: &[pod], ..state }, &self.options, Focus::default());
                // Among all Services, most are not meant to select this pod: that is not a finding.
                one.reasons.retain(|f| self.by_name || f.code != Reason::SelectorMatchesNothing);
                one
            }
            at => explain_only(&state, &self.options, Focus { selected: Some(&selected), pod: at, ..Focus::default() }),
        }
    }

    /// What the node uses of the pods of a Service, if one is named.
    pub(super) fn uses(&self, entry: &Entry<'_>, explanation: &Explanation) -> Option<NodeUses> {
        NodeUses::of(self.from.as_ref()?, entry, explanation)
    }

    /// The findings about the input that are not shown with a Service.
    pub(super) fn other_findings(&self) -> Findings {
        let mut others = self.index.problems().clone();
        if self.pod.is_none() {
            let entry = |p: &Finding| self.index.get(&p.object.namespace, &p.object.name);
            others.retain(|p| !entry(p).is_some_and(|entry| ServiceFindings::is_of(entry, p)));
        }
        others
    }

    /// Explains every Service on all cores, applies `f`, and passes the results to `sink` in the order of the Services.
    pub(super) fn each<T: Send>(
        &self,
        f: impl Fn(&Entry<'_>, Explanation) -> T + Sync,
        mut sink: impl FnMut(T) -> anyhow::Result<()> + Send,
    ) -> anyhow::Result<()> {
        let progress = ProgressLine::start("explaining");
        whole::each(
            self.index,
            whole::all_cores(),
            |entry| f(entry, self.explain(entry)),
            |result| {
                progress.add(1);
                sink(result)
            },
        )
    }
}
