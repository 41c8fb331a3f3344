//! `roster plan`: what the controllers would do to each Service.

mod plan_diff;
mod plan_documents;
mod plan_table;
mod planner;
mod upgrade_groups;

use std::{io::Write, sync::OnceLock};

use anyhow::ensure;
use clap::{Args, ValueEnum};
use roster_engine::{
    profile::Minor,
    state::{Controller, Limit, Options, Trigger},
};
use roster_manifests::inventory::ServiceFindings;

use super::{
    help_end::help_end,
    input_objects::{InputArgs, ReleaseArgs},
    outcome::Outcome,
    output::{Output, command_formats},
    progress_line::ProgressLine,
};
use planner::Planner;

/// Show the controllers' next writes for each Service.
///
/// You give Services, Pods, Nodes, Endpoints and EndpointSlices. Roster prints the objects to create, update and
/// delete. If a Service gets no ready address, the reasons follow.
///
/// In some states, the controllers write the same object at every sync. Such a write is listed as "endless update by
/// upstream", and does not count as a change.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 nothing to do, 1 something to do, 2 usage error or unreadable input.",
    "kubectl get svc,ep,endpointslices,pods,nodes -A -o yaml | roster plan -f -",
    "roster plan -f cluster.yaml -n shop web -o diff",
    "roster plan --context prod -A --against 1.37  # what an upgrade changes",
))]
pub(super) struct PlanArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    release: ReleaseArgs,
    /// Show the changes by an upgrade to this release. Many Services are grouped by difference.
    #[arg(long, value_name = "MINOR")]
    against: Option<Minor>,
    /// Plan only the work of this controller. May be given several times.
    #[arg(long = "controller", value_enum, value_name = "CONTROLLER", value_delimiter = ',')]
    controllers: Vec<ControllerArg>,
    /// --max-endpoints-per-slice of kube-controller-manager, 1 to 1000 [default: 100]
    #[arg(long, value_name = "N", value_parser = limit)]
    max_endpoints_per_slice: Option<Limit>,
    /// --mirroring-max-endpoints-per-subset of kube-controller-manager, 1 to 1000 [default: as
    /// --max-endpoints-per-slice, else 1000]
    #[arg(long, value_name = "N", value_parser = limit)]
    max_endpoints_per_subset: Option<Limit>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: PlanFormat,
}

command_formats! {
    /// Output format of a plan.
    PlanFormat {
        /// A table for people.
        Table => Table,
        /// A table with all details.
        Wide => Wide,
        /// One JSON document.
        Json => Json,
        /// One YAML document.
        Yaml => Yaml,
        /// One line of JSON for each Service, as soon as it is known.
        Ndjson => Ndjson,
        /// The namespace and name of each Service with changes.
        Name => Table,
        /// The differences of the objects, as `kubectl diff` shows them.
        Diff => Table,
    }
}

/// A controller, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ControllerArg {
    /// v1 Endpoints
    Endpoints,
    /// EndpointSlices of Services with a selector
    #[value(alias = "slices")]
    Endpointslices,
    /// EndpointSlices that mirror Endpoints of Services without a selector
    Mirroring,
}

impl From<ControllerArg> for Controller {
    fn from(which: ControllerArg) -> Self {
        match which {
            ControllerArg::Endpoints => Self::Endpoints,
            ControllerArg::Endpointslices => Self::EndpointSlices,
            ControllerArg::Mirroring => Self::Mirroring,
        }
    }
}

fn limit(text: &str) -> Result<Limit, String> {
    text.parse().ok().and_then(Limit::new).ok_or_else(|| format!("{text:?} is not a number from 1 to 1000"))
}

impl PlanArgs {
    pub(super) fn run(&self, plugin: bool) -> anyhow::Result<Outcome> {
        let mut objects = self.input.read(plugin)?;
        objects.report_refused();
        let mut index = objects.index();
        objects.choice.apply(&mut index)?;
        ensure!(
            self.output != PlanFormat::Diff || self.against.is_none(),
            "-o diff cannot be combined with --against: -o wide shows what differs in each object"
        );
        let format = self.output.document();
        let mut out = Output::stdout(format);
        let planner = Planner {
            index: &index,
            findings: ServiceFindings::new(&index),
            pods: &objects.inventory.pods,
            groups: OnceLock::new(),
            by_name: objects.choice.is_by_name(),
            controllers: self.controllers(),
            options: Options {
                compat: self.release.choose(&objects),
                max_endpoints_per_slice: self.max_endpoints_per_slice,
                max_endpoints_per_subset: self.max_endpoints_per_subset,
                trigger: Trigger::Creation,
            },
            format,
            progress: ProgressLine::start("planning"),
        };
        let changes = match (self.output, self.against) {
            (PlanFormat::Diff, _) => plan_diff::print(&planner, &mut out)?,
            (PlanFormat::Name, against) => plan_documents::names(&planner, against, &mut out)?,
            (_, None) if format.is_table() => plan_table::plans(&planner, &mut out)?,
            (_, Some(minor)) if format.is_table() => plan_table::deviations(&planner, minor, &mut out)?,
            (_, None) => plan_documents::plans(&planner, &mut out)?,
            (_, Some(minor)) => plan_documents::deviations(&planner, minor, &mut out)?,
        };
        out.flush()?;
        Ok(Outcome::of(objects.complete, changes))
    }

    fn controllers(&self) -> Vec<Controller> {
        if self.controllers.is_empty() {
            return Controller::ALL.to_vec();
        }
        self.controllers.iter().copied().map(Controller::from).collect()
    }
}
