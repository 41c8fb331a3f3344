//! One run of `roster plan`: what to plan, with which options.

use crate::{
    cli::{output::OutputFormat, progress_line::ProgressLine},
    engine::{
        profile::Minor,
        state::{Controller, Options, Plan},
    },
    inventory::{Entry, Index, whole},
};

/// Plans every chosen Service.
pub(super) struct Planner<'a> {
    pub(super) index: &'a Index<'a>,
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
