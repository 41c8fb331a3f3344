//! What is told under a table: problems of the input, and what a plan says beside its writes.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use super::{
    Output,
    table::{BOLD, Cell, DIM, RED, Table, YELLOW},
};
use crate::{
    engine::{
        reason::{Finding, Severity},
        state::{EventType, Plan},
    },
    inventory::{Entry, Problems},
};

/// What is printed under a table.
#[derive(Debug, Default)]
pub(super) struct Report {
    problems: Vec<Finding>,
    more: u64,
    /// Service, and what its controller would return.
    errors: Vec<(String, String)>,
    /// Type, reason, object, message.
    events: Vec<(EventType, &'static str, String, String)>,
}

impl Report {
    /// What is wrong with the input. What is only good to know is told `wide` only.
    pub(super) fn of_input(problems: &Problems, wide: bool) -> Self {
        let problems_of_input = problems.into_iter().filter(|p| wide || p.severity > Severity::Info).cloned().collect();
        Self { problems: problems_of_input, more: problems.more(), ..Self::default() }
    }

    /// What the plan of one Service says.
    pub(super) fn of_plan(entry: &Entry<'_>, plan: Plan, wide: bool) -> Self {
        let key = format!("{}/{}", entry.namespace, entry.name);
        let events = plan.events.into_iter().filter(|_| wide);
        Self {
            problems: plan.problems.into_iter().filter(|p| wide || p.severity > Severity::Info).collect(),
            more: 0,
            errors: plan.errors.into_iter().map(|e| (key.clone(), e)).collect(),
            events: events.map(|e| (e.kind, e.reason, e.object.to_string(), e.message)).collect(),
        }
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.problems.append(&mut other.problems);
        self.more += other.more;
        self.errors.append(&mut other.errors);
        self.events.append(&mut other.events);
    }

    /// Prints what there is, worst first.
    pub(super) fn print(mut self, out: &mut Output) -> io::Result<()> {
        self.problems.sort_by_key(|p| std::cmp::Reverse(p.severity));
        // Each once: many Services often have one problem.
        let mut fixes = BTreeMap::new();
        let mut table = Table::new(["SEVERITY", "OBJECT", "CODE", "MESSAGE"]);
        for p in self.problems {
            let (word, style) = match p.severity {
                Severity::Error => ("error", RED),
                Severity::Warning => ("warning", YELLOW),
                Severity::Info => ("info", DIM),
            };
            let at = p.pointer.map(|at| format!(" (at {at})")).unwrap_or_default();
            table.push([
                Cell::styled(word, style),
                p.object.to_string().into(),
                p.code.code().into(),
                format!("{}{at}", p.message).into(),
            ]);
            fixes.insert(p.code.code(), p.code.fix());
        }
        section(out, "Problems", &table)?;
        let mut table = Table::new(["CODE", "FIX"]);
        for (code, fix) in fixes.into_iter().filter(|(_, fix)| !fix.is_empty()) {
            table.push([code.into(), fix.into()]);
        }
        section(out, "What to do", &table)?;
        if self.more > 0 {
            writeln!(out, "and {} more problems of the input\n", self.more)?;
        }
        let mut table = Table::new(["SERVICE", "ERROR"]);
        for (service, error) in self.errors {
            table.push([service.into(), error.into()]);
        }
        section(out, "Errors that the controllers would return, and retry", &table)?;
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
