//! The JSON, YAML and names of `roster plan`.

use std::io::Write;

use roster_engine::{
    compare::{Deviation, Tally, deviations as differences},
    model::Text,
    profile::Minor,
};
use roster_manifests::inventory::{
    Entry,
    whole::{self, ClusterSummary, InputProblems},
};
use serde::Serialize;

use super::planner::Planner;
use crate::cli::{
    messages,
    output::{ItemWriter, Output},
    printable::printable,
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

/// Writes the namespace and name of every Service with changes. Returns whether there are any.
pub(super) fn names(planner: &Planner<'_>, against: Option<Minor>, out: &mut Output) -> anyhow::Result<bool> {
    messages::unread(planner.index.problems());
    let mut changed = false;
    planner.each(
        |entry| {
            let (state, plan) = (planner.index.state(entry), planner.plan(entry));
            let changes = match against {
                None => Tally::of(&state, &plan).is_change(),
                Some(minor) => !differences(&state, &plan, &planner.plan_as(entry, minor)).is_empty(),
            };
            changes.then(|| format!("{}/{}", entry.namespace, entry.name))
        },
        |name| {
            let Some(name) = name else { return Ok(()) };
            changed = true;
            Ok(writeln!(out, "{}", printable(&name))?)
        },
    )?;
    planner.progress.finish();
    Ok(changed)
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
