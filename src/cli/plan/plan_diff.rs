//! `roster plan -o diff`: what `kubectl diff` would show.

use std::io::Write;

use anyhow::Context;

use super::planner::Planner;
use crate::{
    cli::{
        line_diff::unified,
        messages,
        output::Output,
        printable::printable,
        style::{BOLD, DIM, GREEN, RED},
    },
    engine::compare::{ChangedObject, ObjectChange, changes},
    inventory::Entry,
};

/// Writes the difference of every object that changes. Returns whether there are any.
pub(super) fn print(planner: &Planner<'_>, out: &mut Output) -> anyhow::Result<bool> {
    messages::unread(planner.index.problems());
    let mut changed = false;
    planner.each(
        |entry| {
            let plan = planner.plan(entry);
            let changes = changes(&planner.index.state(entry), &plan, false);
            let changes = changes.iter().filter(|change| change.action.is_change());
            changes.map(|change| diff(entry, change)).collect::<anyhow::Result<Vec<String>>>()
        },
        |diffs| {
            for diff in diffs? {
                changed = true;
                write_coloured(out, &diff)?;
            }
            Ok(())
        },
    )?;
    planner.progress.finish();
    Ok(changed)
}

/// The difference of one object, with the names of files that `kubectl diff` gives.
fn diff(entry: &Entry<'_>, change: &ObjectChange<'_>) -> anyhow::Result<String> {
    let (old, new) = (text(change.before)?, text(change.after)?);
    let version = if change.kind == "Endpoints" { "v1" } else { "discovery.k8s.io.v1" };
    let file = format!("{version}.{}.{}.{}", change.kind, entry.namespace, change.name);
    let (live, merged) = (format!("LIVE/{file}"), format!("MERGED/{file}"));
    Ok(format!("diff -u -N {live} {merged}\n--- {live}\n+++ {merged}\n{}", unified(&old, &new)))
}

/// An object as YAML, its fields in order of their names; empty if there is none.
fn text(object: Option<ChangedObject<'_>>) -> anyhow::Result<String> {
    let value = match object {
        None => return Ok(String::new()),
        Some(ChangedObject::Endpoints(object)) => serde_json::to_value(object),
        Some(ChangedObject::Slice(slice)) => serde_json::to_value(slice),
    };
    serde_saphyr::to_string(&value.context("cannot write JSON")?).context("cannot write YAML")
}

fn write_coloured(out: &mut Output, diff: &str) -> anyhow::Result<()> {
    for line in diff.lines() {
        let style = match line.as_bytes() {
            [b'd', ..] | [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => BOLD,
            [b'-', ..] => RED,
            [b'+', ..] => GREEN,
            [b'@', ..] => DIM,
            _ => anstyle::Style::new(),
        };
        writeln!(out, "{style}{}{style:#}", printable(line))?;
    }
    Ok(())
}
