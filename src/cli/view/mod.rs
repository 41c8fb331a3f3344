//! `roster view`: which endpoints the proxy of a node uses.

mod matrix_documents;
mod matrix_svg;
mod matrix_table;
pub(super) mod node_changes;
mod node_documents;
mod node_overview;
mod node_view;
mod scheme_args;
mod service_block;

use std::{io::Write, path::PathBuf};

use anyhow::ensure;
use clap::Args;

use self::node_view::NodeRun;
use super::{
    help_end::help_end,
    input_objects::{InputArgs, InputObjects, ReleaseArgs},
    outcome::Outcome,
    output::{Output, OutputFormat, command_formats},
    scheme_arg::SchemeArg,
};
pub(super) use node_view::NodeView;
use roster_engine::{
    model::Text,
    reason::Severity,
    state::Options,
    view::{NodeMatrix, ViewChanges, ViewedCluster},
};
use roster_manifests::inventory::{Index, ViewInput};
pub(super) use scheme_args::{SchemeArgs, TopologyModeArg};

/// Show which endpoints a node's proxy uses, and why not the others.
///
/// Many Services have one line each; those without an endpoint come first. One Service, or Services by name, are shown
/// in detail: every endpoint, its use, and the reason if it has none.
///
/// Traffic policies, hints and terminating endpoints count as in kube-proxy 1.37. With --scheme, SuperEdge's
/// application-grid-wrapper or OpenYurt's yurthub prunes the endpoints before.
///
/// You give Services, EndpointSlices and Nodes, and for OpenYurt `NodePools`. If a Service has a selector but no slices
/// in the input, Roster computes them.
#[derive(Debug, Args)]
#[command(
    after_help = help_end!(
    "Exit codes: 0 the node serves all Services, 1 there are warnings or errors, 2 usage error or unreadable input.",
    "roster view --node edge-1 -f cluster.yaml svc/web",
    "roster view --all-nodes -A --context prod",
    "roster view --diff before.yaml after.yaml # what a change does to nodes",
)
)]
pub(super) struct ViewArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    release: ReleaseArgs,
    #[command(flatten)]
    from: FromArgs,
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
    output: ViewFormat,
}

/// Arguments that say from where Services are viewed.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct FromArgs {
    /// The node.
    #[arg(long, value_name = "NODE")]
    node: Option<Text>,
    /// All nodes: a table with the number of endpoints for each node and Service, empty cells first. Nodes with equal
    /// endpoints share a row.
    #[arg(long)]
    all_nodes: bool,
    /// Compare two files or directories for all nodes: the endpoints that each port gains and loses, the worst first.
    /// Other files are read with both.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"])]
    diff: Vec<PathBuf>,
}

command_formats! {
    /// Output format of a view.
    ViewFormat {
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
        /// A picture of all nodes and Services.
        Svg => Table,
    }
}

/// The view of all Services from all nodes.
struct MatrixRun<'a> {
    input: &'a ViewInput<'a>,
    matrix: NodeMatrix<'a>,
    scheme: SchemeArg,
}

impl ViewArgs {
    pub(super) fn run(&self, plugin: bool) -> anyhow::Result<Outcome> {
        if let [before, after] = &self.from.diff[..] {
            let [before, after] = self.input.read_with_each([before, after])?;
            return self.compare(&before, &after);
        }
        let objects = self.input.read_with_pools(plugin, self.scheme.wants_node_pools())?;
        self.view(&objects)
    }

    /// The format, and what it is written to.
    fn output(&self) -> (OutputFormat, Output) {
        let format = if self.wide { OutputFormat::Wide } else { self.output.document() };
        (format, Output::stdout(format))
    }

    /// The Services that are chosen.
    fn index(objects: &InputObjects) -> anyhow::Result<Index<'_>> {
        let mut index = objects.index();
        objects.choice.apply(&mut index)?;
        index.retain(|e| e.service.is_some());
        if objects.choice.is_narrow() {
            index.retain_problems_of_entries();
        }
        Ok(index)
    }

    fn options(&self, objects: &InputObjects) -> Options {
        Options { compat: self.release.choose(objects), ..Options::default() }
    }

    fn compare(&self, before: &InputObjects, after: &InputObjects) -> anyhow::Result<Outcome> {
        ensure!(self.output != ViewFormat::Svg, "-o svg shows all nodes: add --all-nodes instead of --diff");
        let (old_index, new_index) = (Self::index(before)?, Self::index(after)?);
        let old = ViewInput::new(&before.inventory, &old_index, &self.options(before), None);
        let new = ViewInput::new(&after.inventory, &new_index, &self.options(after), None);
        let settings = self.scheme.settings()?;
        let (old_scheme, new_scheme) = (settings.scheme(&before.inventory), settings.scheme(&after.inventory));
        let family = self.scheme.family();
        let changes = ViewChanges::between(&old.cluster(old_scheme, family), &new.cluster(new_scheme, family))?;
        let (format, mut out) = self.output();
        node_changes::print(&changes, &new.findings(), format, &mut out)?;
        out.flush()?;
        Ok(Outcome::of(before.complete && after.complete, !changes.changes.is_empty()))
    }

    fn view(&self, objects: &InputObjects) -> anyhow::Result<Outcome> {
        let index = Self::index(objects)?;
        let settings = self.scheme.settings()?;
        let scheme = settings.scheme(&objects.inventory);
        let input = ViewInput::new(&objects.inventory, &index, &self.options(objects), self.from.node.as_ref());
        let cluster = input.cluster(scheme, self.scheme.family());
        let (format, mut out) = self.output();
        let attention = match &self.from.node {
            None => self.print_matrix(&input, &cluster, format, &mut out)?,
            Some(name) => {
                let from = NodeView::of(name, &input, &cluster, self.scheme.name())?;
                let many = !objects.choice.is_by_name() && cluster.services.len() > 1;
                self.print_node(
                    &NodeRun { input: &input, from, problems_only: self.problems_only },
                    many,
                    format,
                    &mut out,
                )?
            }
        };
        out.flush()?;
        let attention = attention || input.findings().iter().any(|f| f.severity > Severity::Info);
        Ok(Outcome::of(objects.complete, attention))
    }

    fn print_node(
        &self,
        run: &NodeRun<'_>,
        many: bool,
        format: OutputFormat,
        out: &mut Output,
    ) -> anyhow::Result<bool> {
        ensure!(self.output != ViewFormat::Svg, "-o svg shows all nodes: add --all-nodes instead of --node");
        match format {
            OutputFormat::Table if many => node_overview::print(run, out),
            OutputFormat::Table | OutputFormat::Wide => service_block::print(run, format, out),
            _ => node_documents::print(run, format, out),
        }
    }

    fn print_matrix(
        &self,
        input: &ViewInput<'_>,
        cluster: &ViewedCluster<'_>,
        format: OutputFormat,
        out: &mut Output,
    ) -> anyhow::Result<bool> {
        let run = MatrixRun { input, matrix: NodeMatrix::of(cluster)?, scheme: self.scheme.name() };
        match format {
            _ if self.output == ViewFormat::Svg => Ok(matrix_svg::write(&run, out)?),
            OutputFormat::Table | OutputFormat::Wide => matrix_table::print(&run, format, out),
            _ => matrix_documents::print(&run, format, out),
        }
    }
}
