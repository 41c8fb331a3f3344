//! One run of `roster explain`: what to explain, with which options.

use roster_engine::{
    explain::{Explanation, Focus, explain_only},
    model::{Interrupt, Pod},
    plan::selected_pods,
    reason::{Finding, Reason},
    state::{Options, State},
};
use roster_manifests::inventory::{Entry, Findings, Index, ServiceExplainer, ServiceFindings, whole};

use super::node_uses::NodeUses;
use crate::cli::{progress_line::ProgressLine, view::NodeView};

/// Explains every chosen Service.
pub(in crate::cli) struct Explainer<'a> {
    pub(in crate::cli) index: &'a Index<'a>,
    pub(super) services: ServiceExplainer<'a>,
    /// The node from which pods are viewed.
    pub(super) from: Option<NodeView<'a>>,
    /// The only pod to look at.
    pub(super) pod: Option<&'a Pod>,
    /// Whether Services were given by name.
    pub(super) by_name: bool,
    /// Whether Services without warnings and errors are left out.
    pub(super) problems_only: bool,
    pub(in crate::cli) options: Options,
}

impl<'a> Explainer<'a> {
    /// Explains all pods of each Service of an index, which may be compared with these.
    pub(in crate::cli) fn new(index: &'a Index<'a>, pods: &'a [Pod], options: Options) -> Self {
        Self {
            index,
            services: ServiceExplainer::new(index, pods),
            from: None,
            pod: None,
            by_name: false,
            problems_only: false,
            options,
        }
    }

    /// Explains one Service: all its pods, or only the chosen pod.
    pub(in crate::cli) fn explain(&self, entry: &Entry<'_>) -> Explanation {
        let Some(pod) = self.pod else { return self.services.explain(entry, &self.options, Interrupt::NEVER) };
        let state = self.index.state(entry);
        let selected = selected_pods(&state);
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
    pub(in crate::cli) fn other_findings(&self) -> Findings {
        let mut others = self.index.problems().clone();
        if self.pod.is_none() {
            let entry = |p: &Finding| self.index.get(&p.object.namespace, &p.object.name);
            others.retain(|p| !entry(p).is_some_and(|entry| ServiceFindings::is_of(entry, p)));
        }
        others
    }

    /// Explains every Service on all cores, applies `f`, and passes the results to `sink` in the order of the Services.
    pub(in crate::cli) fn each<T: Send>(
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
