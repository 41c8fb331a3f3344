//! One run of `roster plan`: what to plan, with which options.

use std::sync::OnceLock;

use roster_engine::{
    compare::publishes_nothing,
    explain::{Diagnosis, Focus, LabelGroups, explain_only},
    model::Pod,
    profile::Minor,
    state::{Controller, Options, Plan},
};
use roster_manifests::inventory::{Entry, Index, ServiceFindings, whole};

use crate::cli::{output::OutputFormat, progress_line::ProgressLine};

/// Plans every chosen Service.
pub(super) struct Planner<'a> {
    pub(super) index: &'a Index<'a>,
    /// The findings about the manifests of the Services.
    pub(super) findings: ServiceFindings<'a>,
    pub(super) pods: &'a [Pod],
    /// All pods by their labels; built when a Service has no ready address.
    pub(super) groups: OnceLock<LabelGroups<'a>>,
    /// Whether Services were given by name.
    pub(super) by_name: bool,
    pub(super) controllers: Vec<Controller>,
    pub(super) options: Options,
    pub(super) format: OutputFormat,
    pub(super) progress: ProgressLine,
}

impl Planner<'_> {
    pub(super) fn plan(&self, entry: &Entry<'_>) -> Plan {
        whole::plan_of(self.index, entry, &self.controllers, &self.options)
    }

    /// The plan of another release.
    pub(super) fn plan_as(&self, entry: &Entry<'_>, compat: Minor) -> Plan {
        whole::plan_of(self.index, entry, &self.controllers, &Options { compat, ..self.options })
    }

    /// Why no ready address of a Service with a selector is published once `plan` is carried out; `None` if one is.
    pub(super) fn why_nothing(&self, entry: &Entry<'_>, plan: &Plan) -> Option<Diagnosis> {
        let state = self.index.state(entry);
        let selects = entry.service.is_some_and(|service| service.selector.is_some());
        let whole = self.controllers.len() == Controller::ALL.len();
        let known = !self.index.unknown_of(entry).hides_pods_of(&state);
        if !selects || !whole || !known || !publishes_nothing(&state, plan) {
            return None;
        }
        let groups = self.groups.get_or_init(|| self.pods.iter().collect());
        let focus = Focus { pods: Some(groups), ..Focus::default() };
        let mut explanation = explain_only(&state, &self.options, focus);
        self.findings.explain_selector(entry, &mut explanation);
        Some(Diagnosis::of(&explanation))
    }

    /// Calls `f` for every Service, on all cores, and passes the results to `sink` in the order of the Services.
    pub(super) fn each<T: Send>(
        &self,
        f: impl Fn(&Entry<'_>) -> T + Sync,
        mut sink: impl FnMut(T) -> anyhow::Result<()> + Send,
    ) -> anyhow::Result<()> {
        whole::each(self.index, whole::all_cores(), f, |result| {
            self.progress.add(1);
            sink(result)
        })
    }
}
