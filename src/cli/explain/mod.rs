//! `roster explain`: which pods serve which ports of a Service, and why the others do not.

mod table;

use std::{io::Write, sync::OnceLock};

use anyhow::{bail, ensure};
use clap::Args;
use serde::Serialize;

use super::{
    Outcome, Output,
    input::{Input, Release},
    output::{Format, Items},
    progress::Progress,
};
use crate::{
    engine::{
        explain::{Cause, Explanation, Focus, Kinds, explain, explain_only},
        plan::selected_pods,
        reason::{Reason, Severity},
        state::{Options, State},
    },
    inventory::{Entry, Index, whole},
    model::Pod,
};

/// Show for each pod and port of a Service whether clients get it, and why.
///
/// Accounts for every pod that a Service selects and for every port, in Endpoints and in EndpointSlices: what is
/// published, what is not, the reason, and what can be done. Where a selector matches nothing, the nearest miss is named.
///
/// A pod and port count as served if they are ready in one list at least: in Endpoints, or in the slices of some address
/// type. Clients that read another list may not get them: kube-proxy reads slices only. The rows tell the lists apart.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all is as it should be, 1 there are warnings or errors, 2 wrong use or unreadable input."
)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    release: Release,
    /// Look at this pod only, NAME or NAMESPACE/NAME: which Services it serves, and why it does not serve the others.
    #[arg(long, value_name = "POD")]
    pod: Option<String>,
    /// Form of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// What is counted of all Services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    /// Services.
    services: usize,
    /// Pods × ports of Services.
    pod_ports: usize,
    /// How many of those are ready in one list at least: in Endpoints, or in the slices of some address type.
    served: usize,
}

impl Totals {
    /// Those of one entry; a name that only Endpoints or slices have is no Service.
    fn of(explanation: &Explanation) -> Self {
        let gone = explanation.reasons.iter().any(|r| r.code == Reason::ServiceMissing);
        let counts = &explanation.summary;
        // The pods that an ExternalName Service selects have no verdict: it has no endpoints.
        let pod_ports = if counts.scopes.is_empty() { 0 } else { counts.pods * counts.ports.max(1) };
        Self { services: usize::from(!gone), pod_ports, served: counts.served }
    }

    fn add(&mut self, other: Self) {
        self.services += other.services;
        self.pod_ports += other.pod_ports;
        self.served += other.served;
    }
}

impl ExplainArgs {
    pub(super) fn run(&self, plugin: bool) -> anyhow::Result<Outcome> {
        let objects = self.input.read(plugin)?;
        let mut index = objects.inventory.index();
        self.input.select(&mut index)?;
        let pods: Vec<&Pod> = objects.inventory.pods.iter().collect();
        let pod = self.pod.as_deref().map(|name| self.find(&pods, name)).transpose()?;
        if let Some(pod) = pod {
            index.retain(|e| e.namespace == pod.namespace() && e.service.is_some());
        }
        let run = Run {
            index: &index,
            pods,
            kinds: OnceLock::new(),
            pod,
            asked_by_name: self.input.names_services(),
            options: Options { compat: self.release.choose(&objects), ..Options::default() },
        };
        let mut out = Output::stdout(self.output);
        let findings = if self.output.is_table() {
            table::print(&run, self.output == Format::Wide, &mut out)?
        } else {
            run.documents(self.output, &mut out)?
        };
        out.flush()?;
        Ok(match (objects.complete, findings) {
            (false, _) => Outcome::BadInput,
            (true, true) => Outcome::Findings,
            (true, false) => Outcome::Fine,
        })
    }

    fn find<'a>(&self, pods: &[&'a Pod], wanted: &str) -> anyhow::Result<&'a Pod> {
        let (namespace, name) = wanted
            .split_once('/')
            .map_or((self.input.namespace(), wanted), |(namespace, name)| (Some(namespace), name));
        let found: Vec<&Pod> =
            pods.iter().copied().filter(|p| p.name() == name && namespace.is_none_or(|n| p.namespace() == n)).collect();
        let Some(&pod) = found.last() else { bail!("there is no pod {wanted}") };
        ensure!(
            found.iter().all(|p| p.namespace() == pod.namespace()),
            "there are pods {wanted} in several namespaces: name one as NAMESPACE/{name}"
        );
        Ok(pod)
    }
}

/// One run over all Services that were asked for.
struct Run<'a> {
    index: &'a Index<'a>,
    pods: Vec<&'a Pod>,
    /// All pods by their labels, once a selector matches nothing.
    kinds: OnceLock<Kinds<'a>>,
    pod: Option<&'a Pod>,
    /// Whether Services were named.
    asked_by_name: bool,
    options: Options,
}

impl Run<'_> {
    /// Explains one Service, all of it or what has to do with the pod that is asked for.
    fn explain(&self, entry: &Entry<'_>) -> Explanation {
        let state = self.index.state(entry);
        let selected = selected_pods(&state);
        let Some(pod) = self.pod else {
            // What was meant is found among all pods.
            let all = || self.kinds.get_or_init(|| self.pods.iter().copied().collect());
            let kinds = selected.is_empty().then(all);
            return explain_only(&state, &self.options, Focus { kinds, ..Focus::default() });
        };
        match selected.iter().position(|p| p.name() == pod.name()) {
            // Of a pod that is not selected only the difference is worth telling.
            None => {
                let mut one = explain(&State { pods: &[pod], ..state }, &self.options);
                // It is said of this pod alone. Where all Services are asked, most do not mean it, and all is well.
                one.reasons.retain(|f| self.asked_by_name || f.code != Reason::SelectorMatchesNothing);
                one
            }
            at => explain_only(&state, &self.options, Focus { pod: at, ..Focus::default() }),
        }
    }

    /// Explains every Service on all cores; `sink` gets what `f` makes of each, in order.
    fn each<T: Send>(
        &self,
        f: impl Fn(&Entry<'_>, Explanation) -> T + Sync,
        mut sink: impl FnMut(T) -> anyhow::Result<()> + Send,
    ) -> anyhow::Result<()> {
        let progress = Progress::start("explaining");
        whole::each(
            self.index,
            whole::all_cores(),
            |entry| f(entry, self.explain(entry)),
            |done| {
                progress.add(1);
                sink(done)
            },
        )
    }

    fn documents(&self, format: Format, out: &mut Output) -> anyhow::Result<bool> {
        let mut items = Items::start(out, format)?;
        let (mut totals, mut findings) = (Totals::default(), false);
        self.each(
            |_, explanation| {
                let text = Items::item(format, &explanation);
                text.map(|text| (text, Totals::of(&explanation), is_finding(&explanation)))
            },
            |done| {
                let (text, part, finding) = done?;
                totals.add(part);
                findings |= finding;
                items.write(&text)
            },
        )?;
        items.end(&whole::last_line(&totals, self.index.problems()))?;
        Ok(findings)
    }
}

/// All that is said in an explanation.
fn said(explanation: &Explanation) -> impl Iterator<Item = &Cause> {
    explanation.reasons.iter().chain(explanation.rows.iter().flat_map(|r| &r.reasons))
}

/// Whether a person should look at it.
fn is_finding(explanation: &Explanation) -> bool {
    said(explanation).any(|f| f.severity > Severity::Info)
}
