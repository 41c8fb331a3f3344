//! What is printed below a table: findings, errors and events.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use roster_engine::{
    reason::{Finding, Reason, Severity},
    state::{EventType, Plan},
};
use roster_manifests::inventory::{Entry, Findings};

use super::{
    output::Output,
    style::{BOLD, DIM, YELLOW},
    table::{Cell, Table},
};

/// The most findings of a code that [`FindingsReport::shortened`] lists.
const LISTED: usize = 3;

/// The findings, errors and events of a run.
#[derive(Debug, Default)]
pub(super) struct FindingsReport {
    findings: Vec<Finding>,
    /// What to do about codes that are shown elsewhere.
    fixes: Vec<(&'static str, &'static str)>,
    /// How many more findings of a code there are.
    more: Vec<(Reason, usize)>,
    /// How many more findings were counted, but not recorded.
    omitted: u64,
    /// Service, and the error that its controller would return.
    errors: Vec<(String, String)>,
    /// Type, reason, object, message.
    events: Vec<(EventType, &'static str, String, String)>,
}

impl FindingsReport {
    /// The findings about the input; those of severity info only if `wide`, or if the answer depends on them.
    pub(super) fn of_input(findings: &Findings, wide: bool) -> Self {
        let matters = |f: &&Finding| match f.code {
            Reason::Assumed | Reason::NotChecked => true,
            // Files of a directory, not objects of a kind.
            Reason::IgnoredObject => f.object.kind.is_empty(),
            _ => false,
        };
        let is_shown = |f: &&Finding| wide || f.severity > Severity::Info || matters(f);
        // Why a file cannot be read is on standard error already.
        let brief = |f: &Finding| match f.object.kind.as_str() {
            "File" => Finding { message: "cannot be read: see the error".to_owned(), ..f.clone() },
            _ => f.clone(),
        };
        let shown = findings.into_iter().filter(is_shown).map(brief).collect();
        Self { findings: shown, omitted: findings.more(), ..Self::default() }
    }

    /// The findings, errors and events of the plan of one Service.
    pub(super) fn of_plan(entry: &Entry<'_>, plan: Plan, wide: bool) -> Self {
        let key = format!("{}/{}", entry.namespace, entry.name);
        let events = plan.events.into_iter().filter(|_| wide);
        Self {
            findings: plan.problems.into_iter().filter(|f| wide || f.severity > Severity::Info).collect(),
            errors: plan.errors.into_iter().map(|e| (key.clone(), e)).collect(),
            events: events.map(|e| (e.kind, e.reason, e.object.to_string(), e.message)).collect(),
            ..Self::default()
        }
    }

    /// The same with only the first few findings of each code; the others are counted.
    pub(super) fn shortened(mut self) -> Self {
        let mut seen: BTreeMap<Reason, usize> = BTreeMap::new();
        self.findings.retain(|finding| {
            let n = seen.entry(finding.code).or_default();
            *n += 1;
            *n <= LISTED
        });
        self.more = seen.into_iter().filter(|(_, n)| *n > LISTED).map(|(code, n)| (code, n - LISTED)).collect();
        self
    }

    /// Adds what to do about codes that are shown elsewhere.
    pub(super) fn add_fixes(&mut self, fixes: impl IntoIterator<Item = (&'static str, &'static str)>) {
        self.fixes.extend(fixes);
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.findings.append(&mut other.findings);
        self.fixes.append(&mut other.fixes);
        self.omitted += other.omitted;
        self.errors.append(&mut other.errors);
        self.events.append(&mut other.events);
    }

    /// Prints a table for each part that has rows; the worst findings first.
    pub(super) fn print(mut self, out: &mut Output) -> io::Result<()> {
        self.findings.sort_by_key(|p| std::cmp::Reverse(p.severity));
        let mut fixes = self.fixes;
        let mut table = Table::new(["SEVERITY", "OBJECT", "CODE", "MESSAGE"]);
        for p in self.findings {
            let at = p.pointer.map(|at| format!(" (at {at})")).unwrap_or_default();
            table.push([
                Cell::severity(p.severity),
                p.object.to_string().into(),
                p.code.code().into(),
                format!("{}{at}", p.message).into(),
            ]);
            fixes.push((p.code.code(), p.code.fix()));
        }
        for (code, more) in self.more {
            let text = format!("and {more} more: -o wide lists them");
            table.push([Cell::default(), Cell::default(), code.code().into(), Cell::styled(text, DIM)]);
        }
        section(out, "Findings", &table)?;
        // Each fix once: many Services often share a finding.
        fixes.sort_unstable();
        fixes.dedup();
        let mut table = Table::new(["CODE", "FIX"]);
        for (code, fix) in fixes.into_iter().filter(|(_, fix)| !fix.is_empty()) {
            table.push([code.into(), fix.into()]);
        }
        section(out, "What to do", &table)?;
        if self.omitted > 0 {
            let s = if self.omitted == 1 { "" } else { "s" };
            writeln!(out, "and {} more finding{s} about the input\n", self.omitted)?;
        }
        let mut table = Table::new(["SERVICE", "ERROR"]);
        for (service, error) in self.errors {
            table.push([service.into(), error.into()]);
        }
        section(out, "Errors that the controllers would return and retry", &table)?;
        let mut table = Table::new(["TYPE", "REASON", "OBJECT", "MESSAGE"]);
        for (kind, reason, object, message) in self.events {
            let kind = match kind {
                EventType::Normal => "Normal".into(),
                EventType::Warning => Cell::styled("Warning", YELLOW),
            };
            table.push([kind, reason.into(), object.into(), message.into()]);
        }
        section(out, "Events", &table)
    }
}

fn section<const N: usize>(out: &mut Output, title: &str, table: &Table<'_, N>) -> io::Result<()> {
    if table.is_empty() {
        return Ok(());
    }
    writeln!(out, "{BOLD}{title}{BOLD:#}")?;
    table.print(out, 0)?;
    writeln!(out)
}
