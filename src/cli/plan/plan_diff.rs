//! `roster plan -o diff`: what `kubectl diff` would show.

use std::io::Write;

use anyhow::Context;
use roster_engine::{
    compare::{ChangedObject, ObjectChange, changes},
    model::{EndpointSlice, ObjectMeta},
};
use roster_manifests::inventory::Entry;
use serde::Serialize;

use super::planner::Planner;
use crate::cli::{
    exact_json::to_yaml,
    line_diff::unified,
    messages,
    output::Output,
    printable::printable,
    style::{BOLD, DIM, GREEN, RED},
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
    let (old, new) = (live(change.before)?, merged(change)?);
    let version = if change.kind == "Endpoints" { "v1" } else { "discovery.k8s.io.v1" };
    let file = format!("{version}.{}.{}.{}", change.kind, entry.namespace, change.name);
    let hunks = unified(&old, &new);
    Ok(format!("diff -u -N LIVE/{file} MERGED/{file}\n--- LIVE/{file}\n+++ MERGED/{file}\n{hunks}"))
}

/// A stored object as YAML; empty if there is none.
fn live(object: Option<ChangedObject<'_>>) -> anyhow::Result<String> {
    match object {
        None => Ok(String::new()),
        Some(ChangedObject::Endpoints(object)) => yaml(object),
        Some(ChangedObject::Slice(slice)) => yaml(slice),
    }
}

/// An object after the write, as YAML; empty if it is deleted. What the API server fills in stays as it was stored.
fn merged(change: &ObjectChange<'_>) -> anyhow::Result<String> {
    match (change.after, change.before) {
        (Some(ChangedObject::Endpoints(new)), Some(ChangedObject::Endpoints(old))) => {
            let mut stored = new.clone();
            keep_system_fields(&mut stored.meta, &old.meta);
            yaml(&stored)
        }
        (Some(ChangedObject::Slice(new)), Some(ChangedObject::Slice(old))) => {
            let mut stored = new.clone();
            keep_system_fields(&mut stored.meta, &old.meta);
            // `endpointSliceStrategy.PrepareForUpdate`: of the metadata, only labels count.
            let same = EndpointSlice { meta: ObjectMeta::default(), ..new.clone() }
                == EndpointSlice { meta: ObjectMeta::default(), ..old.clone() };
            stored.meta.generation = old.meta.generation + i64::from(!same || new.meta.labels != old.meta.labels);
            yaml(&stored)
        }
        (object, _) => live(object),
    }
}

/// Keeps what clients cannot change.
fn keep_system_fields(new: &mut ObjectMeta, old: &ObjectMeta) {
    new.uid.clone_from(&old.uid);
    new.resource_version.clone_from(&old.resource_version);
    new.creation_timestamp = old.creation_timestamp;
}

/// The fields of an object in order of their names.
fn yaml(object: &impl Serialize) -> anyhow::Result<String> {
    let value = serde_json::to_value(object).context("cannot write JSON")?;
    to_yaml(&value)
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
