//! `roster view`: which endpoints the proxy of a node uses.

mod matrix_documents;
mod matrix_svg;
mod matrix_table;
pub(super) mod node_changes;
mod node_documents;
mod node_overview;
mod scheme_args;
mod service_block;
mod view_input;

use std::{io::Write, path::PathBuf};

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};

use super::{
    input_objects::{InputArgs, InputObjects, ReleaseArgs},
    outcome::Outcome,
    output::{Output, OutputFormat},
    suggestion::nearest,
};
use crate::{
    engine::{
        phrase::counted,
        reason::Severity,
        state::Options,
        view::{NodeMatrix, ViewChanges, ViewedCluster, Viewpoint},
    },
    inventory::Index,
    model::{Node, Text},
};
pub(super) use scheme_args::{SchemeArg, SchemeArgs};
pub(super) use view_input::ViewInput;

/// Show which endpoints the proxy of a node uses, and why not the others.
///
/// Many Services have one line each, those without an endpoint for the node first. One Service, or Services given by
/// name, are shown in detail: every endpoint, what the node uses it for, and the reason if it does not. Traffic policies,
/// hints and terminating endpoints count as kube-proxy 1.37 treats them; with --scheme, kube-proxy sees what SuperEdge's
/// application-grid-wrapper or OpenYurt's yurthub leaves.
///
/// Reads Services, EndpointSlices and Nodes (for OpenYurt also `NodePool` objects). Without slices, those that the controllers would write are
/// viewed.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 the node serves all Services, 1 there are warnings or errors, 2 usage error or unreadable input."
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
    /// The node whose proxy is asked.
    #[arg(long, value_name = "NODE")]
    node: Option<Text>,
    /// All nodes: a table of nodes and Services with the number of endpoints that each node uses, those without an
    /// endpoint first. Nodes that use the same endpoints share a row.
    #[arg(long)]
    all_nodes: bool,
    /// What a change does to all nodes: for each port the endpoints that they gain and lose, those that lose their last
    /// one first. Both are files or directories; other files are read with each of them.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"])]
    diff: Vec<PathBuf>,
}

/// Output format of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ViewFormat {
    /// For people: one line for each of many Services, details of one.
    #[default]
    Table,
    /// All details of all Services.
    Wide,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
    /// One line of JSON for each Service, as soon as it is known.
    Ndjson,
    /// A picture of all nodes and Services.
    Svg,
}

impl ViewFormat {
    fn document(self) -> OutputFormat {
        match self {
            Self::Table | Self::Svg => OutputFormat::Table,
            Self::Wide => OutputFormat::Wide,
            Self::Json => OutputFormat::Json,
            Self::Yaml => OutputFormat::Yaml,
            Self::Ndjson => OutputFormat::Ndjson,
        }
    }
}

impl ViewArgs {
    pub(super) fn run(&self, plugin: bool) -> anyhow::Result<Outcome> {
        if let [before, after] = &self.from.diff[..] {
            return self.compare(&self.input.read_with(before)?, &self.input.read_with(after)?);
        }
        let objects = self.input.read(plugin)?;
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
        let old = ViewInput::new(&before.inventory, &old_index, &self.options(before));
        let new = ViewInput::new(&after.inventory, &new_index, &self.options(after));
        let settings = self.scheme.settings();
        let (old_scheme, new_scheme) = (settings.scheme(&before.inventory), settings.scheme(&after.inventory));
        let family = self.scheme.family();
        let changes = ViewChanges::between(&old.cluster(old_scheme, family), &new.cluster(new_scheme, family));
        let (format, mut out) = self.output();
        node_changes::print(&changes, &new.findings(), format, &mut out)?;
        out.flush()?;
        Ok(Outcome::of(before.complete && after.complete, !changes.changes.is_empty()))
    }

    fn view(&self, objects: &InputObjects) -> anyhow::Result<Outcome> {
        let index = Self::index(objects)?;
        let settings = self.scheme.settings();
        let scheme = settings.scheme(&objects.inventory);
        let input = ViewInput::new(&objects.inventory, &index, &self.options(objects));
        let cluster = input.cluster(scheme, self.scheme.family());
        let (format, mut out) = self.output();
        let attention = match &self.from.node {
            None => self.print_matrix(&input, &cluster, format, &mut out)?,
            Some(name) => {
                let from = NodeView::of(name, &input, &cluster, self.scheme.name())?;
                let many = !objects.choice.is_by_name() && cluster.services.len() > 1;
                self.print_node(&NodeRun { args: self, input: &input, from }, many, format, &mut out)?
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
        let run = MatrixRun { input, matrix: NodeMatrix::of(cluster), scheme: self.scheme.name() };
        match format {
            _ if self.output == ViewFormat::Svg => Ok(matrix_svg::write(&run, out)?),
            OutputFormat::Table | OutputFormat::Wide => matrix_table::print(&run, format, out),
            _ => matrix_documents::print(&run, format, out),
        }
    }
}

/// The Node that is named. A name that is not among the Nodes of the input is an error; where there are none, the node has
/// no labels.
fn find<'a>(name: &Text, input: &'a ViewInput<'_>) -> anyhow::Result<Option<&'a Node>> {
    let found = input.nodes.get(name);
    if found.is_some() || !input.knows_nodes {
        return Ok(found);
    }
    let meant = nearest(name, input.nodes.iter(), |node| node.name.as_str());
    let hint = match (meant, input.nodes.iter().next()) {
        (Some(node), _) => format!("; did you mean {}?", node.name),
        (None, first) => {
            let such_as = first.map(|node| format!(", such as {}", node.name)).unwrap_or_default();
            format!("; the input has {}{such_as}", counted(input.nodes.iter().count(), "Node"))
        }
    };
    bail!("node {name} not found{hint}")
}

/// The view of all Services from all nodes.
struct MatrixRun<'a> {
    input: &'a ViewInput<'a>,
    matrix: NodeMatrix<'a>,
    scheme: SchemeArg,
}

/// Services, viewed from one node.
pub(super) struct NodeView<'a> {
    pub(super) cluster: &'a ViewedCluster<'a>,
    pub(super) at: Viewpoint<'a>,
    scheme: SchemeArg,
}

impl<'a> NodeView<'a> {
    /// The view from the node that is named.
    pub(super) fn of(
        name: &'a Text,
        input: &'a ViewInput<'_>,
        cluster: &'a ViewedCluster<'a>,
        scheme: SchemeArg,
    ) -> anyhow::Result<Self> {
        Ok(Self { cluster, at: Viewpoint { name, node: find(name, input)? }, scheme })
    }

    /// `node n1 (zone a)`, and the scheme if it is not kube-proxy alone.
    pub(super) fn title(&self) -> String {
        let zone = match self.at.zone() {
            _ if self.at.node.is_none() => "zone not known".to_owned(),
            "" => "no zone".to_owned(),
            zone => format!("zone {zone}"),
        };
        let scheme = match self.scheme {
            SchemeArg::KubeProxy => String::new(),
            other => format!(", {}", other.as_str()),
        };
        format!("node {} ({zone}{scheme})", self.at.name)
    }
}

/// One run for one node.
struct NodeRun<'a> {
    args: &'a ViewArgs,
    input: &'a ViewInput<'a>,
    from: NodeView<'a>,
}

impl NodeRun<'_> {
    /// Whether Services without warnings and errors are left out.
    fn problems_only(&self) -> bool {
        self.args.problems_only
    }
}
