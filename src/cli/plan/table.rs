//! The tables of `roster plan`.

use std::{collections::BTreeMap, io::Write};

use anstyle::Style;

use super::Run;
use crate::{
    cli::{
        Output,
        output::Format,
        report::Report,
        table::{BOLD, Cell, DIM, GREEN, RED, Table, YELLOW},
    },
    engine::{
        compare::{self, Verb, changes},
        compat::Minor,
        reason::Reason,
    },
};

/// What is counted of all Services.
#[derive(Default)]
struct Counts {
    services: usize,
    /// Endpoints without a Service, which go when the controllers start again.
    leftover: usize,
    changed: usize,
    verbs: BTreeMap<&'static str, usize>,
    /// Endless updates by their cause.
    endless: BTreeMap<String, usize>,
}

/// Prints what is done to each object, what a user should know, and a sentence; tells whether something changes.
pub(super) fn plans(run: &Run<'_>, out: &mut Output) -> anyhow::Result<bool> {
    let wide = run.format == Format::Wide;
    let mut table = Table::new(["NAMESPACE", "SERVICE", "OBJECT", "ACTION", "DETAIL"]);
    let mut report = Report::of_input(run.index.problems(), wide);
    let mut counts = Counts::default();
    run.each(
        |entry| {
            let plan = run.plan(entry);
            let rows: Vec<_> = changes(&run.index.state(entry), &plan, wide)
                .into_iter()
                .map(|c| (format!("{} {}", c.kind, c.name), c.action, c.detail))
                .collect();
            let leftover = plan.problems.iter().any(|p| p.code == Reason::ServiceMissing);
            let report = Report::of_plan(entry, plan, wide);
            (entry.namespace.clone(), entry.name.clone(), entry.service.is_some(), leftover, rows, report)
        },
        |(namespace, name, service, leftover, rows, part)| {
            counts.services += usize::from(service);
            counts.leftover += usize::from(leftover);
            counts.changed += usize::from(rows.iter().any(|(_, verb, _)| verb.is_change()));
            for (object, verb, detail) in rows {
                *counts.verbs.entry(verb.word()).or_default() += 1;
                if verb == Verb::Rewrite {
                    *counts.endless.entry(detail.clone()).or_default() += 1;
                }
                table.push([
                    namespace.as_str().into(),
                    name.as_str().into(),
                    object.into(),
                    Cell::styled(verb.word(), style(verb)),
                    detail.into(),
                ]);
            }
            report.append(part);
            Ok(())
        },
    )?;
    run.progress.finish();
    if !table.is_empty() {
        table.print(out, 0)?;
        writeln!(out)?;
    }
    report.print(out)?;
    counts.print(out)?;
    Ok(counts.changed > 0)
}

impl Counts {
    fn print(&self, out: &mut Output) -> std::io::Result<()> {
        let services = plural(self.services, "Service");
        let endless: usize = self.endless.values().sum();
        if self.changed > 0 {
            let n = |verb: &str| self.verbs.get(verb).copied().unwrap_or_default();
            let (create, update, delete) = (n("create"), n("update"), n("delete"));
            let of = format!("{} of {services}", self.changed);
            write!(out, "{BOLD}{of}: {create} to create, {update} to update, {delete} to delete{BOLD:#}")?;
            if endless > 0 {
                write!(out, "; beside that, {}", plural(endless, "endless update"))?;
            }
        } else {
            write!(out, "{GREEN}nothing to do{GREEN:#} for {services}")?;
            if endless > 0 {
                write!(out, ", but for {}", plural(endless, "endless update"))?;
            }
        }
        if endless > 0 {
            write!(out, " by upstream, which writes the same again at every sync")?;
            let causes: Vec<String> = self
                .endless
                .iter()
                .filter_map(|(detail, n)| detail.split_once(": ").map(|(_, cause)| format!("{cause}: {n}")))
                .collect();
            if !causes.is_empty() {
                write!(out, " ({})", causes.join("; "))?;
            }
        }
        if self.leftover > 0 {
            write!(
                out,
                "\n{} Endpoints without a Service: deleted when kube-controller-manager starts again",
                self.leftover
            )?;
        }
        writeln!(out)
    }
}

/// Prints to which objects two releases do not do the same; tells whether there are any.
pub(super) fn deviations(run: &Run<'_>, minor: Minor, out: &mut Output) -> anyhow::Result<bool> {
    let (before, after) = (run.options.compat.to_string(), minor.to_string());
    let mut table = Table::new(["NAMESPACE", "SERVICE", "OBJECT", &before, &after, "DETAIL"]);
    let (mut services, mut changed) = (0, 0);
    run.each(
        |entry| {
            let state = run.index.state(entry);
            let found = compare::deviations(&state, &run.plan(entry), &run.plan_as(entry, minor));
            (entry.namespace.clone(), entry.name.clone(), entry.service.is_some(), found)
        },
        |(namespace, name, service, found)| {
            services += usize::from(service);
            changed += usize::from(!found.is_empty());
            for d in found {
                table.push([
                    namespace.as_str().into(),
                    name.as_str().into(),
                    format!("{} {}", d.kind, d.name).into(),
                    Cell::styled(d.compat.word(), DIM),
                    Cell::styled(d.against.word(), style(d.against)),
                    d.detail.into(),
                ]);
            }
            Ok(())
        },
    )?;
    run.progress.finish();
    let compat = run.options.compat;
    if !table.is_empty() {
        table.print(out, 0)?;
        writeln!(out)?;
    }
    Report::of_input(run.index.problems(), run.format == Format::Wide).print(out)?;
    let services = plural(services, "Service");
    if changed == 0 {
        writeln!(out, "{GREEN}{compat} and {minor} do the same{GREEN:#} to {services}")?;
    } else {
        writeln!(out, "{BOLD}{minor} does otherwise than {compat}{BOLD:#} to {changed} of {services}")?;
        writeln!(out, "`roster compat {compat} --against {minor}` tells what differs between the two")?;
    }
    Ok(changed > 0)
}

fn style(verb: Verb) -> Style {
    match verb {
        Verb::Create => GREEN,
        Verb::Update | Verb::Rewrite => YELLOW,
        Verb::Delete => RED,
        Verb::None => DIM,
    }
}

/// `1 Service`, `2 Services`.
fn plural(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
