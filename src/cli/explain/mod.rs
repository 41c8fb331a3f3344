//! `roster explain`: which pods serve which ports of a Service, and why the others do not.

mod code_page;
mod explain_documents;
mod explain_table;
mod explainer;
mod node_uses;
mod other_findings;
mod pictures;
mod pod_grid;
mod service_overview;

use std::{cmp::Reverse, collections::BTreeSet, io::Write};

use anyhow::{bail, ensure};
use clap::Args;
use roster_engine::{
    explain::PodRelation,
    model::{
        Pod, Text,
        spelling::{did_you_mean, nearest},
    },
    reason::Severity,
    state::Options,
};
use roster_manifests::inventory::{Index, ViewInput};

use super::{
    help_end::help_end,
    input_objects::{InputArgs, InputObjects, NOTHING_TO_READ, ReleaseArgs},
    messages,
    outcome::Outcome,
    output::{Output, command_formats},
    view::{NodeView, SchemeArgs},
};
pub(super) use code_page::{codes, of_all as pages_of, suggestions};
pub(super) use explain_table::verdict_lines;
pub(super) use explainer::Explainer;
use pictures::Pictures;
use roster_lint::RoutesByService;

/// Show which pods serve a Service, and why the others do not; or explain a code.
///
/// Many Services have one line each, problems first. One Service, or Services by name, are shown in detail: every
/// selected pod with every port, its state, the reason, and the next step. If a selector matches no pod, you see the
/// nearest pods.
///
/// A pod and port count as served if the controllers write them into a slice as ready. Endpoints are listed as well, for
/// clients that read them. A stored address is stale if its pod or node is gone. It does not count as served.
///
/// If no manifest creates pods for a Service, Roster does not check its pods.
///
/// If there is no input, the arguments are codes: `roster explain not-ready` prints the meaning and the next step.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 no findings, 1 there are warnings or errors, 2 usage error or unreadable input.",
    "roster explain -f cluster.yaml web        # which pods serve it",
    "roster explain --context prod -n shop -o html > report.html",
    "roster explain selector-matches-nothing   # what a code means",
))]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    release: ReleaseArgs,
    /// Look only at this pod, as `[pod/][NAMESPACE/]NAME`: the Services that select or list it, else those that nearly
    /// select it.
    #[arg(long, value_name = "POD")]
    pod: Option<String>,
    /// Show which pods the proxy of this node uses, and why not the others. --scheme names the rules.
    #[arg(long, value_name = "NODE")]
    node: Option<Text>,
    #[command(flatten)]
    scheme: SchemeArgs,
    /// Leave out Services without warnings and errors.
    #[arg(long)]
    problems_only: bool,
    /// Show all Services in detail: the same as -o wide.
    #[arg(long, conflicts_with = "output")]
    wide: bool,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: ExplainFormat,
}

command_formats! {
    /// Output format of an explanation.
    ExplainFormat {
        /// For people: one line for each of many Services, details of one.
        Table => Table,
        /// All details of all Services.
        Wide => Wide,
        /// One JSON document.
        Json => Json,
        /// One YAML document.
        Yaml => Yaml,
        /// One line of JSON for each Service, as soon as it is known.
        Ndjson => Ndjson,
        /// The namespace and name of each Service.
        Name => Table,
        /// A tree of each Service: its routes, ports, slices and pods.
        Tree => Table,
        /// A picture of one Service, from its routes to its pods.
        Svg => Table,
        /// One file to open in a browser or to mail: all Services, and a picture of each that has a problem.
        Html => Table,
    }
}

impl ExplainArgs {
    pub(super) fn run(&self, plugin: bool) -> anyhow::Result<Outcome> {
        let format = if self.wide { ExplainFormat::Wide } else { self.output };
        let codes = self.input.bare_targets(plugin);
        if let Some(pages) = code_page::of_all(codes) {
            let mut out = Output::stdout(format.document());
            code_page::print(&pages, format.document(), &mut out)?;
            out.flush()?;
            return Ok(Outcome::Success);
        }
        if let Some(text) = codes.iter().find(|text| !code_page::is_code(text)).filter(|_| !plugin) {
            let meant = did_you_mean(&code_page::suggestions(text));
            bail!("no such Service, file or code: {text}; {NOTHING_TO_READ}{meant}");
        }
        let mut objects = self.input.read_with_pools(plugin, self.scheme.wants_node_pools())?;
        objects.report_refused();
        self.explain(&objects, format)
    }

    fn explain(&self, objects: &InputObjects, format: ExplainFormat) -> anyhow::Result<Outcome> {
        let mut index = objects.index();
        objects.choice.apply(&mut index).map_err(code_page::with_suggestions)?;
        index.retain_known();
        let pods: Vec<&Pod> = objects.inventory.pods.iter().collect();
        let pod = self.pod.as_deref().map(|name| self.find(&pods, name)).transpose()?;
        let by_name = objects.choice.is_by_name();
        if let Some(pod) = pod {
            index.retain(|e| e.namespace == pod.namespace());
            if !by_name {
                retain_related(&mut index, pod);
            }
        }
        if pod.is_some() || objects.choice.is_narrow() {
            index.retain_problems_of_entries();
        }
        let options = Options { compat: self.release.choose(objects), ..Options::default() };
        let settings = self.scheme.settings()?;
        let input =
            self.node.as_ref().map(|_| ViewInput::new(&objects.inventory, &index, &options, self.node.as_ref()));
        let cluster = input.as_ref().map(|i| i.cluster(settings.scheme(&objects.inventory), self.scheme.family()));
        let from = match (&self.node, &input, &cluster) {
            (Some(name), Some(input), Some(cluster)) => Some(NodeView::of(name, input, cluster, self.scheme.name())?),
            _ => None,
        };
        let explainer = Explainer {
            from,
            pod,
            by_name,
            problems_only: self.problems_only,
            ..Explainer::new(&index, &objects.inventory.pods, options)
        };
        let many = pod.is_none() && self.node.is_none() && !by_name && index.entries().len() > 1;
        let mut out = Output::stdout(format.document());
        let findings = match format {
            ExplainFormat::Table if many => service_overview::print(&explainer, &mut out)?,
            ExplainFormat::Table => explain_table::print(&explainer, false, &mut out)?,
            ExplainFormat::Wide => explain_table::print(&explainer, true, &mut out)?,
            ExplainFormat::Name => {
                messages::unread(index.problems());
                explain_documents::print_names(&explainer, &mut out)?
            }
            ExplainFormat::Tree | ExplainFormat::Svg | ExplainFormat::Html => {
                messages::unread(index.problems());
                let pictures = Pictures { explainer: &explainer, routes: RoutesByService::of(&objects.inventory) };
                match format {
                    ExplainFormat::Svg => pictures.svg(&mut out)?,
                    ExplainFormat::Html => pictures.html(&mut out)?,
                    _ => pictures.trees(&mut out)?,
                }
            }
            _ => explain_documents::print(&explainer, format.document(), &mut out)?,
        };
        out.flush()?;
        let attention = findings || explainer.other_findings().iter().any(|p| p.severity > Severity::Info);
        Ok(Outcome::of(objects.complete, attention))
    }

    fn find<'a>(&self, pods: &[&'a Pod], wanted: &str) -> anyhow::Result<&'a Pod> {
        let kinds = ["pod/", "pods/", "po/"];
        let wanted = kinds.iter().find_map(|kind| wanted.strip_prefix(kind)).unwrap_or(wanted);
        let (namespace, name) = wanted
            .split_once('/')
            .map_or((self.input.namespace(), wanted), |(namespace, name)| (Some(namespace), name));
        let in_namespace = |pod: &&Pod| namespace.is_none_or(|n| pod.namespace() == n);
        let found: Vec<&Pod> = pods.iter().copied().filter(|p| p.name() == name && in_namespace(p)).collect();
        let Some(&pod) = found.last() else {
            let meant = nearest(name, pods.iter().copied().filter(in_namespace), |pod| pod.name().as_str());
            let meant = meant.map(|pod| format!("; did you mean {}/{}?", pod.namespace(), pod.name()));
            bail!("pod {wanted} not found{}", meant.unwrap_or_default())
        };
        ensure!(
            found.iter().all(|p| p.namespace() == pod.namespace()),
            "pod {wanted} exists in several namespaces; give it as NAMESPACE/{name}"
        );
        Ok(pod)
    }
}

/// The most Services with similar selectors that are shown for a pod that no Service selects.
const NEAR_MISSES: usize = 3;

/// Keeps the Services that select the pod or list it; if there are none, those that it has most labels for.
fn retain_related(index: &mut Index<'_>, pod: &Pod) {
    let mut related: Vec<(PodRelation, (Text, Text))> = index
        .entries()
        .iter()
        .map(|e| (PodRelation::of(&index.state(e), pod), (e.namespace.clone(), e.name.clone())))
        .filter(|(relation, _)| *relation > PodRelation::None)
        .collect();
    related.sort_by_key(|(relation, _)| Reverse(*relation));
    let close = related.iter().take_while(|(relation, _)| *relation >= PodRelation::Listed).count();
    if close > 0 {
        related.truncate(close);
    } else if let Some((PodRelation::NearMiss { equal: most, .. }, _)) = related.first() {
        let most = *most;
        related.retain(|(relation, _)| matches!(relation, PodRelation::NearMiss { equal, .. } if *equal == most));
        related.truncate(NEAR_MISSES);
    }
    let names: BTreeSet<(Text, Text)> = related.into_iter().map(|(_, name)| name).collect();
    index.retain(|e| names.contains(&(e.namespace.clone(), e.name.clone())));
}
