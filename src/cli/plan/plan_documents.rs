//! The JSON and YAML of `roster plan`.

use serde::Serialize;

use super::planner::Planner;
use crate::{
    cli::output::{ItemWriter, Output},
    engine::{
        compare::{Deviation, deviations as differences},
        profile::Minor,
    },
    inventory::{
        Entry,
        whole::{self, ClusterSummary, InputProblems},
    },
    model::Text,
};

/// Writes the plan of every Service as soon as it is known. Returns whether anything changes.
pub(super) fn plans(planner: &Planner<'_>, out: &mut Output) -> anyhow::Result<bool> {
    let mut items = ItemWriter::start(out, planner.format)?;
    let mut summary = ClusterSummary::new(planner.index);
    planner.each(
        |entry| {
            let plan = planner.plan(entry);
            let mut part = ClusterSummary::default();
            part.count(&planner.index.state(entry), &plan);
            ItemWriter::item(planner.format, &whole::line(entry, &plan)).map(|text| (text, part))
        },
        |done| {
            let (text, part) = done?;
            summary.add(&part);
            items.write(&text)
        },
    )?;
    planner.progress.finish();
    items.end(&whole::last_line(&summary, planner.index.problems()))?;
    Ok(summary.changed > 0)
}

/// A Service that two releases treat differently.
#[derive(Serialize)]
struct DeviatingService<'a> {
    namespace: &'a Text,
    name: &'a Text,
    differences: Vec<Deviation>,
}

/// Writes the Services that two releases treat differently. Returns whether there are any.
pub(super) fn deviations(planner: &Planner<'_>, against: Minor, out: &mut Output) -> anyhow::Result<bool> {
    #[derive(Serialize)]
    struct Tail<'a> {
        compat: Minor,
        against: Minor,
        #[serde(flatten)]
        problems: InputProblems<'a>,
    }
    let mut items = ItemWriter::start(out, planner.format)?;
    let mut changed = false;
    let deviation = |entry: &Entry<'_>| {
        let state = planner.index.state(entry);
        let differences = differences(&state, &planner.plan(entry), &planner.plan_as(entry, against));
        let found = !differences.is_empty();
        found.then(|| {
            ItemWriter::item(
                planner.format,
                &DeviatingService { namespace: entry.namespace, name: entry.name, differences },
            )
        })
    };
    planner.each(deviation, |done| {
        let Some(text) = done else { return Ok(()) };
        changed = true;
        items.write(&text?)
    })?;
    planner.progress.finish();
    items.end(&Tail {
        compat: planner.options.compat,
        against,
        problems: InputProblems::of(planner.index.problems()),
    })?;
    Ok(changed)
}
