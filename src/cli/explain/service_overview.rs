//! `roster explain` of many Services: one line each, the worst first, then how many Services have each code.

use std::{
    cmp::Reverse,
    io::{self, Write},
};

use anstyle::Style;
use roster_engine::{
    explain::{Diagnosis, Explanation, ServedTotals},
    phrase::counted,
    reason::{Reason, Severity},
};
use roster_manifests::inventory::Findings;

use super::{explainer::Explainer, other_findings::and_others};
use crate::cli::{
    column_layout::wrap,
    findings_report::FindingsReport,
    output::Output,
    printable::printable,
    style::{BOLD, DIM, GREEN, YELLOW},
    table::{Cell, Table},
};

/// The most codes that a line names.
const NAMED_CODES: usize = 3;

/// One Service in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServiceLine {
    /// Namespace and name.
    name: String,
    totals: ServedTotals,
    /// Such as `1 of 2`.
    served: String,
    diagnosis: Diagnosis,
}

/// All Services, and what is wrong with them.
#[derive(Debug, Default)]
struct ServiceOverview {
    lines: Vec<ServiceLine>,
    /// The codes of all Services, and how severe each is there.
    codes: Vec<(Reason, Severity)>,
    totals: ServedTotals,
    /// Services with errors.
    errors: usize,
    /// Services with warnings and without errors.
    warnings: usize,
    /// Whether Services without problems have no line.
    problems_only: bool,
}

/// Prints the overview. Returns whether there is a warning or an error.
pub(super) fn print(explainer: &Explainer<'_>, out: &mut Output) -> anyhow::Result<bool> {
    let mut overview = ServiceOverview::new(explainer.problems_only);
    explainer.each(
        |entry, explanation| ServiceLine::of(format!("{}/{}", entry.namespace, entry.name), &explanation),
        |line| {
            overview.add(line);
            Ok(())
        },
    )?;
    let width = out.width();
    overview.write(out, width)?;
    let others = explainer.other_findings();
    FindingsReport::of_input(&others, false).shortened().print(out)?;
    overview.write_summary(out, &others, width)?;
    Ok(overview.needs_attention())
}

impl ServiceLine {
    fn of(name: String, explanation: &Explanation) -> Self {
        let totals = ServedTotals::of(explanation);
        Self { name, totals, served: totals.short(explanation), diagnosis: Diagnosis::of(explanation) }
    }

    /// The worst first; then Services of which a part is not served.
    fn rank(&self) -> (Reverse<Severity>, bool) {
        (Reverse(self.diagnosis.severity()), self.is_served())
    }

    /// Whether all of it is served.
    fn is_served(&self) -> bool {
        self.totals.served == self.totals.pod_ports && self.totals.pod_ports > 0
    }

    fn cells(&self) -> [Cell; 5] {
        let served = Cell::styled(&self.served, if self.is_served() { GREEN } else { YELLOW });
        let (status, codes) = match (self.diagnosis.severity(), &self.diagnosis.note) {
            (Severity::Info, None) => (Cell::styled("ok", GREEN), String::new()),
            (Severity::Info, Some(note)) => (Cell::severity(Severity::Info), note.code.code().to_owned()),
            (severity, _) => (Cell::severity(severity), self.codes()),
        };
        let detail = self.diagnosis.lead().map(|cause| cause.detail.clone()).unwrap_or_default();
        [self.name.as_str().into(), served, status, codes.into(), detail.into()]
    }

    fn codes(&self) -> String {
        let causes = &self.diagnosis.causes;
        let named: Vec<&str> = causes.iter().take(NAMED_CODES).map(|cause| cause.code.code()).collect();
        match causes.len().saturating_sub(NAMED_CODES) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}

impl ServiceOverview {
    /// No Services yet.
    fn new(problems_only: bool) -> Self {
        Self { problems_only, ..Self::default() }
    }

    fn add(&mut self, line: ServiceLine) {
        self.totals.add(line.totals);
        let severity = line.diagnosis.severity();
        self.errors += usize::from(severity == Severity::Error);
        self.warnings += usize::from(severity == Severity::Warning);
        self.codes.extend(line.diagnosis.causes.iter().map(|cause| (cause.code, cause.severity)));
        if severity > Severity::Info || !self.problems_only {
            self.lines.push(line);
        }
    }

    /// Whether a Service has a warning or an error.
    fn needs_attention(&self) -> bool {
        self.errors + self.warnings > 0
    }

    /// Writes the lines and the codes.
    fn write(&mut self, out: &mut dyn Write, width: Option<usize>) -> io::Result<()> {
        // Stable: Services stay in order of namespace and name.
        self.lines.sort_by_key(ServiceLine::rank);
        let mut table = Table::new(["SERVICE", "SERVED", "STATUS", "CODE", "DETAIL"]);
        self.lines.iter().for_each(|line| table.push(line.cells()));
        if !table.is_empty() {
            table.print_to(out, 0, width)?;
            writeln!(out)?;
        }
        self.codes.sort_unstable();
        let of_code = self.codes.chunk_by(|a, b| a.0 == b.0);
        let worst = of_code.filter_map(|alike| alike.last().map(|(code, worst)| (*code, *worst, alike.len())));
        let mut codes: Vec<(Reason, Severity, usize)> = worst.collect();
        codes.sort_unstable_by_key(|(code, severity, services)| (Reverse(*severity), Reverse(*services), *code));
        let mut table = Table::new(["CODE", "STATUS", "SERVICES", "WHAT TO DO"]);
        for (code, severity, services) in codes {
            table.push([code.code().into(), Cell::severity(severity), services.to_string().into(), code.fix().into()]);
        }
        if table.is_empty() {
            return Ok(());
        }
        table.print_to(out, 0, width)?;
        writeln!(out)
    }

    /// Writes the last lines: how many Services have problems, and how to see more.
    fn write_summary(&self, out: &mut dyn Write, others: &Findings, width: Option<usize>) -> io::Result<()> {
        let services = counted(self.totals.services, "Service");
        let others = and_others(others);
        let problems = match (self.errors, self.warnings) {
            (0, 0) => "none with problems".to_owned(),
            (0, warnings) => format!("{warnings} with warnings"),
            (errors, 0) => format!("{errors} with errors"),
            (errors, warnings) => format!("{errors} with errors, {warnings} with warnings"),
        };
        sentence(out, BOLD, &format!("{services}: {problems}; {}{others}", self.totals.text()), width)?;
        let Some(line) = self.lines.first() else { return Ok(()) };
        let code = line.diagnosis.lead().map(|cause| format!("; `roster explain {}` explains a code", cause.code));
        let more = format!(
            "For the pods of one Service, add its name ({}); of all, add -o wide{}",
            printable(&line.name),
            code.unwrap_or_default()
        );
        sentence(out, DIM, &more, width)
    }
}

/// Writes a sentence in lines that fit.
fn sentence(out: &mut dyn Write, style: Style, text: &str, width: Option<usize>) -> io::Result<()> {
    let lines = wrap(text, width.unwrap_or(usize::MAX));
    lines.into_iter().try_for_each(|line| writeln!(out, "{style}{line}{style:#}"))
}

#[cfg(test)]
mod tests {
    use roster_engine::{
        explain::{Cause, PodState, PodVerdict, PortRun, ScopeCounts, Summary},
        model::Text,
        profile::Minor,
        record::Scope,
    };

    use super::*;

    /// The explanation of a Service with one port, two pods, and this reason for the second pod.
    fn explanation(reason: Reason, detail: &str) -> Explanation {
        let rows = [("web-0", Reason::Ready, ""), ("web-1", reason, detail)].map(|(pod, code, detail)| PodVerdict {
            pod: Text::new(pod),
            ports: PortRun::of([]),
            scope: Scope::Endpoints,
            served: code == Reason::Ready,
            state: if code == Reason::Ready { PodState::Ready } else { PodState::Absent },
            reasons: vec![Cause::new(code, detail)],
            is_last_resort: false,
        });
        let served = rows.iter().filter(|row| row.served).count();
        let counts =
            ScopeCounts { scope: Scope::Endpoints, served, ready: served, not_ready: 0, terminating: 0, absent: 0 };
        Explanation {
            service: None,
            compat: Minor::default(),
            summary: Summary { pods: 2, ports: 1, served, scopes: vec![counts], ..Summary::default() },
            reasons: Vec::new(),
            rows: rows.into(),
        }
    }

    fn overview(problems_only: bool, width: Option<usize>) -> String {
        let without_pods = |code, detail: &str| Explanation {
            summary: Summary::default(),
            reasons: vec![Cause::new(code, detail)],
            rows: Vec::new(),
            ..explanation(Reason::Ready, "")
        };
        let mut overview = ServiceOverview::new(problems_only);
        for (name, explanation) in [
            ("shop/api", explanation(Reason::Ready, "")),
            ("shop/cart", without_pods(Reason::SelectorMatchesNothing, "none of 16 pods in namespace shop")),
            ("shop/db", explanation(Reason::PodEnded, "")),
            ("shop/payment", explanation(Reason::NotReady, "container app is not ready (CrashLoopBackOff)")),
            ("shop/warehouse", without_pods(Reason::NoSelector, "there are no Endpoints of its name")),
            ("shop/web", explanation(Reason::NamedPortMissing, "no container port is named \"http\"")),
        ] {
            overview.add(ServiceLine::of(name.to_owned(), &explanation));
        }
        let mut out = Vec::new();
        overview.write(&mut out, width).unwrap();
        overview.write_summary(&mut out, &Findings::default(), width).unwrap();
        anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
    }

    #[test]
    fn problems_come_first_and_lines_fit() {
        for (problems_only, width, want) in [
            (false, None, include_str!("../../../tests/data/screens/overview.txt")),
            (false, Some(100), include_str!("../../../tests/data/screens/overview-100.txt")),
            (true, Some(72), include_str!("../../../tests/data/screens/overview-problems-72.txt")),
        ] {
            assert_eq!(overview(problems_only, width), want, "{problems_only} {width:?}");
        }
    }
}
