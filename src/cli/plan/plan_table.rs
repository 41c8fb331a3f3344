//! The tables of `roster plan`.

use std::{collections::BTreeMap, io::Write};

use anstyle::Style;
use roster_engine::{
    compare::{self, Deviation, Verb, changes},
    explain::Diagnosis,
    model::Text,
    profile::Minor,
    reason::Reason,
};

use super::{planner::Planner, upgrade_groups::UpgradeGroups};
use crate::cli::{
    findings_report::FindingsReport,
    output::{Output, OutputFormat},
    printable::printable,
    style::{BOLD, DIM, GREEN, RED, YELLOW},
    table::{Cell, Table},
};

/// Counts over all Services, for the last line.
#[derive(Default)]
struct PlanTotals {
    services: usize,
    /// Those of which the input does not tell what the controllers would write.
    unchecked: usize,
    /// Endpoints without a Service, which the controllers delete when they restart.
    leftover: usize,
    changed: usize,
    verbs: BTreeMap<&'static str, usize>,
    /// Endless updates, by cause.
    endless: BTreeMap<String, usize>,
}

/// Prints what changes in each object, the findings, and the totals. Returns whether anything changes.
pub(super) fn plans(planner: &Planner<'_>, out: &mut Output) -> anyhow::Result<bool> {
    let wide = planner.format == OutputFormat::Wide;
    let mut table = Table::new(["NAMESPACE", "SERVICE", "OBJECT", "ACTION", "DETAIL"]);
    let mut why = Table::new(["SERVICE", "CODE", "DETAIL"]);
    let mut report = FindingsReport::of_input(planner.index.problems(), wide);
    let mut totals = PlanTotals::default();
    let one = planner.index.entries().len() == 1;
    planner.each(
        |entry| {
            let plan = planner.plan(entry);
            let state = planner.index.state(entry);
            let rows: Vec<_> = changes(&state, &plan, wide)
                .into_iter()
                .map(|c| (format!("{} {}", c.kind, c.name), c.action, c.detail))
                .collect();
            let leftover = plan.problems.iter().any(|p| p.code == Reason::ServiceMissing);
            // Of thousands of Services that stay without addresses, only those that change matter here.
            let shown = one || rows.iter().any(|(_, verb, _)| verb.is_change());
            let is_checked = !planner.index.unknown_of(entry).hides_pods_of(&state);
            let nothing = if shown { planner.why_nothing(entry, &plan) } else { None };
            let report = FindingsReport::of_plan(entry, plan, wide);
            let service = entry.service.map(|_| is_checked);
            (entry.namespace.clone(), entry.name.clone(), service, leftover, rows, nothing, report)
        },
        |(namespace, name, service, leftover, rows, nothing, part)| {
            for cause in nothing.iter().flat_map(Diagnosis::leading) {
                why.push([
                    format!("{namespace}/{name}").into(),
                    cause.code.code().into(),
                    cause.detail.as_str().into(),
                ]);
            }
            totals.services += usize::from(service.is_some());
            totals.unchecked += usize::from(service == Some(false));
            totals.leftover += usize::from(leftover);
            totals.changed += usize::from(rows.iter().any(|(_, verb, _)| verb.is_change()));
            for (object, verb, detail) in rows {
                *totals.verbs.entry(verb.word()).or_default() += 1;
                if verb == Verb::Rewrite {
                    *totals.endless.entry(detail.clone()).or_default() += 1;
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
    planner.progress.finish();
    if !table.is_empty() {
        table.print(out, 0)?;
        writeln!(out)?;
    }
    if !why.is_empty() {
        writeln!(out, "{BOLD}Why no ready address is published{BOLD:#}")?;
        why.print(out, 0)?;
        writeln!(out)?;
    }
    report.print(out)?;
    totals.print(out)?;
    Ok(totals.changed > 0)
}

impl PlanTotals {
    fn print(&self, out: &mut Output) -> std::io::Result<()> {
        let services = plural(self.services, "Service");
        let endless: usize = self.endless.values().sum();
        if self.changed > 0 {
            let n = |verb: &str| self.verbs.get(verb).copied().unwrap_or_default();
            let (create, update, delete) = (n("create"), n("update"), n("delete"));
            let of = format!("{} of {services}", self.changed);
            write!(out, "{BOLD}{of}: {create} to create, {update} to update, {delete} to delete{BOLD:#}")?;
            if endless > 0 {
                write!(out, "; also {}", plural(endless, "endless update"))?;
            }
        } else {
            match self.services - self.unchecked {
                0 if self.unchecked > 0 => {}
                checked => write!(out, "{GREEN}nothing to do{GREEN:#} for {}", plural(checked, "Service"))?,
            }
            if endless > 0 {
                write!(out, ", apart from {}", plural(endless, "endless update"))?;
            }
        }
        if endless > 0 {
            write!(out, " by upstream, which writes the same object again at every sync")?;
            let causes: Vec<String> = self
                .endless
                .iter()
                .filter_map(|(detail, n)| detail.split_once(": ").map(|(_, cause)| format!("{cause}: {n}")))
                .collect();
            if !causes.is_empty() {
                write!(out, " ({})", printable(&causes.join("; ")))?;
            }
        }
        if self.unchecked > 0 {
            let separator = if self.services > self.unchecked { "; " } else { "" };
            write!(out, "{separator}{YELLOW}not checked{YELLOW:#}: {}", plural(self.unchecked, "Service"))?;
        }
        if self.leftover > 0 {
            write!(
                out,
                "\n{} Endpoints without a Service: deleted when kube-controller-manager restarts",
                self.leftover
            )?;
        }
        writeln!(out)
    }
}

/// Prints what two releases treat differently: of many Services the causes, else the objects. Returns whether there is
/// something.
pub(super) fn deviations(planner: &Planner<'_>, minor: Minor, out: &mut Output) -> anyhow::Result<bool> {
    let mut services = 0;
    let mut deviating: Vec<(Text, Text, Vec<Deviation>)> = Vec::new();
    planner.each(
        |entry| {
            let state = planner.index.state(entry);
            let found = compare::deviations(&state, &planner.plan(entry), &planner.plan_as(entry, minor));
            (entry.namespace.clone(), entry.name.clone(), entry.service.is_some(), found)
        },
        |(namespace, name, service, found)| {
            services += usize::from(service);
            if !found.is_empty() {
                deviating.push((namespace, name, found));
            }
            Ok(())
        },
    )?;
    planner.progress.finish();
    let wide = planner.format == OutputFormat::Wide;
    let compat = planner.options.compat;
    let changed = deviating.len();
    if changed > 1 && !wide && !planner.by_name {
        let mut groups = UpgradeGroups::default();
        for (namespace, name, found) in &deviating {
            groups.add(&format!("{namespace}/{name}"), found);
        }
        let width = out.width();
        groups.write(out, [&compat.to_string(), &minor.to_string()], width)?;
        writeln!(out)?;
    } else if changed > 0 {
        deviating_objects(deviating, [&compat.to_string(), &minor.to_string()]).print(out, 0)?;
        writeln!(out)?;
    }
    FindingsReport::of_input(planner.index.problems(), wide).print(out)?;
    let services = plural(services, "Service");
    let change = if minor < compat { "Downgrading" } else { "Upgrading" };
    if changed == 0 {
        writeln!(out, "{change} from {compat} to {minor} changes {GREEN}none{GREEN:#} of {services}")?;
    } else {
        writeln!(out, "{change} from {compat} to {minor} changes {BOLD}{changed}{BOLD:#} of {services}")?;
        writeln!(out, "`roster compat {compat} --against {minor}` lists what differs between the two releases")?;
    }
    Ok(changed > 0)
}

/// The objects that two releases treat differently.
fn deviating_objects(deviating: Vec<(Text, Text, Vec<Deviation>)>, releases: [&str; 2]) -> Table<'_, 6> {
    let mut table = Table::new(["NAMESPACE", "SERVICE", "OBJECT", releases[0], releases[1], "DETAIL"]);
    for (namespace, name, found) in deviating {
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
    }
    table
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
