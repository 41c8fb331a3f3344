//! `roster plan -o json|yaml|ndjson`: for programs.

use serde::Serialize;

use super::Run;
use crate::{
    cli::{Output, output::Items},
    engine::{
        compare::{Deviation, deviations as differences},
        compat::Minor,
    },
    inventory::{
        Entry,
        whole::{self, InputProblems, Summary},
    },
    model::Text,
};

/// Writes the plan of every Service as soon as it is known; tells whether something changes.
pub(super) fn plans(run: &Run<'_>, out: &mut Output) -> anyhow::Result<bool> {
    let mut items = Items::start(out, run.format)?;
    let mut summary = Summary::new(run.index);
    run.each(
        |entry| {
            let plan = run.plan(entry);
            let mut part = Summary::default();
            part.count(&run.index.state(entry), &plan);
            Items::item(run.format, &whole::line(entry, &plan)).map(|text| (text, part))
        },
        |done| {
            let (text, part) = done?;
            summary.add(&part);
            items.write(&text)
        },
    )?;
    run.progress.finish();
    items.end(&whole::last_line(&summary, run.index.problems()))?;
    Ok(summary.changed > 0)
}

/// A Service to which two releases do not do the same.
#[derive(Serialize)]
struct Deviant<'a> {
    namespace: &'a Text,
    name: &'a Text,
    differences: Vec<Deviation>,
}

/// Writes the Services to which two releases do not do the same; tells whether there are any.
pub(super) fn deviations(run: &Run<'_>, against: Minor, out: &mut Output) -> anyhow::Result<bool> {
    #[derive(Serialize)]
    struct Tail<'a> {
        compat: Minor,
        against: Minor,
        #[serde(flatten)]
        problems: InputProblems<'a>,
    }
    let mut items = Items::start(out, run.format)?;
    let mut changed = false;
    let deviant = |entry: &Entry<'_>| {
        let state = run.index.state(entry);
        let differences = differences(&state, &run.plan(entry), &run.plan_as(entry, against));
        let found = !differences.is_empty();
        found.then(|| Items::item(run.format, &Deviant { namespace: entry.namespace, name: entry.name, differences }))
    };
    run.each(deviant, |done| {
        let Some(text) = done else { return Ok(()) };
        changed = true;
        items.write(&text?)
    })?;
    run.progress.finish();
    items.end(&Tail { compat: run.options.compat, against, problems: InputProblems::of(run.index.problems()) })?;
    Ok(changed)
}
