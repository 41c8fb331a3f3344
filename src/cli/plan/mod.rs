//! `roster plan`: what the controllers would do to each Service.

mod plan_documents;
mod plan_table;
mod planner;

use std::io::Write;

use clap::{Args, ValueEnum};

use super::{
    input_objects::{InputArgs, ReleaseArgs},
    outcome::Outcome,
    output::{Output, OutputFormat},
    progress_line::ProgressLine,
};
use crate::engine::{
    profile::Minor,
    state::{Controller, Limit, Options},
};
use planner::Planner;

/// Show what the controllers would do to each Service.
///
/// Reads Services, Pods, Nodes, Endpoints and EndpointSlices, and shows what Kubernetes' controllers would write.
/// Some states make the controllers write the same object again at every sync: these are listed as "endless update by
/// upstream" and do not count as changes.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 nothing to do, 1 something to do, 2 usage error or unreadable input.")]
pub(super) struct PlanArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    release: ReleaseArgs,
    /// Show what an upgrade to this release would change.
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
    output: OutputFormat,
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
        let objects = self.input.read(plugin)?;
        let mut index = objects.index();
        self.input.select(&mut index)?;
        let mut out = Output::stdout(self.output);
        let planner = Planner {
            index: &index,
            controllers: self.controllers(),
            options: Options {
                compat: self.release.choose(&objects),
                max_endpoints_per_slice: self.max_endpoints_per_slice,
                max_endpoints_per_subset: self.max_endpoints_per_subset,
            },
            format: self.output,
            progress: ProgressLine::start("planning"),
        };
        let changes = match (self.output.is_table(), self.against) {
            (true, None) => plan_table::plans(&planner, &mut out)?,
            (true, Some(minor)) => plan_table::deviations(&planner, minor, &mut out)?,
            (false, None) => plan_documents::plans(&planner, &mut out)?,
            (false, Some(minor)) => plan_documents::deviations(&planner, minor, &mut out)?,
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
