//! `roster plan`: what the controllers would do to each Service.

mod documents;
mod table;

use std::io::Write;

use clap::{Args, ValueEnum};

use super::{
    Outcome, Output,
    input::{Input, Release},
    output::Format,
    progress::Progress,
};
use crate::{
    engine::{
        compat::Minor,
        state::{Controller, Limit, Options, Plan},
    },
    inventory::{Entry, Index, whole},
};

/// Show what the controllers would do to each Service.
///
/// Reads Services, Pods, Nodes, Endpoints and EndpointSlices, and shows what Kubernetes' controllers would write.
/// States that the controllers themselves write again for ever are named ("endless update by upstream") and count as
/// nothing to do.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 nothing to do, 1 there is something to do, 2 wrong use or unreadable input.")]
pub(super) struct PlanArgs {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    release: Release,
    /// Show what this release would do otherwise: what an upgrade to it would change.
    #[arg(long, value_name = "MINOR")]
    against: Option<Minor>,
    /// Plan the work of this controller only; may be given several times.
    #[arg(long = "controller", value_enum, value_name = "CONTROLLER", value_delimiter = ',')]
    controllers: Vec<Which>,
    /// --max-endpoints-per-slice of kube-controller-manager, 1 to 1000 [default: 100]
    #[arg(long, value_name = "N", value_parser = limit)]
    max_endpoints_per_slice: Option<Limit>,
    /// --mirroring-max-endpoints-per-subset of kube-controller-manager, 1 to 1000 [default: as
    /// --max-endpoints-per-slice, else 1000]
    #[arg(long, value_name = "N", value_parser = limit)]
    max_endpoints_per_subset: Option<Limit>,
    /// Form of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// One of the three controllers, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// v1 Endpoints
    Endpoints,
    /// EndpointSlices of Services with a selector
    #[value(alias = "slices")]
    Endpointslices,
    /// EndpointSlices of hand-made Endpoints
    Mirroring,
}

impl From<Which> for Controller {
    fn from(which: Which) -> Self {
        match which {
            Which::Endpoints => Self::Endpoints,
            Which::Endpointslices => Self::EndpointSlices,
            Which::Mirroring => Self::Mirroring,
        }
    }
}

fn limit(text: &str) -> Result<Limit, String> {
    text.parse().ok().and_then(Limit::new).ok_or_else(|| format!("{text:?} is not a number from 1 to 1000"))
}

impl PlanArgs {
    pub(super) fn run(&self, plugin: bool) -> anyhow::Result<Outcome> {
        let objects = self.input.read(plugin)?;
        let mut index = objects.inventory.index();
        self.input.select(&mut index)?;
        let mut out = Output::stdout(self.output);
        let run = Run {
            index: &index,
            controllers: self.controllers(),
            options: Options {
                compat: self.release.choose(&objects),
                max_endpoints_per_slice: self.max_endpoints_per_slice,
                max_endpoints_per_subset: self.max_endpoints_per_subset,
            },
            format: self.output,
            progress: Progress::start("planning"),
        };
        let findings = match (self.output.is_table(), self.against) {
            (true, None) => table::plans(&run, &mut out)?,
            (true, Some(minor)) => table::deviations(&run, minor, &mut out)?,
            (false, None) => documents::plans(&run, &mut out)?,
            (false, Some(minor)) => documents::deviations(&run, minor, &mut out)?,
        };
        out.flush()?;
        Ok(match (objects.complete, findings) {
            (false, _) => Outcome::BadInput,
            (true, true) => Outcome::Findings,
            (true, false) => Outcome::Fine,
        })
    }

    fn controllers(&self) -> Vec<Controller> {
        if self.controllers.is_empty() {
            return Controller::ALL.to_vec();
        }
        self.controllers.iter().copied().map(Controller::from).collect()
    }
}

/// One run over all Services that were asked for.
struct Run<'a> {
    index: &'a Index<'a>,
    controllers: Vec<Controller>,
    options: Options,
    format: Format,
    progress: Progress,
}

impl Run<'_> {
    fn plan(&self, entry: &Entry<'_>) -> Plan {
        whole::plan_of(self.index, entry, &self.controllers, &self.options)
    }

    /// The plan of another release.
    fn plan_as(&self, entry: &Entry<'_>, compat: Minor) -> Plan {
        whole::plan_of(self.index, entry, &self.controllers, &Options { compat, ..self.options })
    }

    /// Plans every Service on all cores; `sink` gets what `f` makes of each, in order.
    fn each<T: Send>(
        &self,
        f: impl Fn(&Entry<'_>) -> T + Sync,
        mut sink: impl FnMut(T) -> anyhow::Result<()> + Send,
    ) -> anyhow::Result<()> {
        whole::each(self.index, whole::all_cores(), f, |done| {
            self.progress.add(1);
            sink(done)
        })
    }
}
