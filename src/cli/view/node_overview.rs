//! `roster view --node` of many Services: one line each, those without an endpoint first.

use std::{
    cmp::Reverse,
    io::{self, Write},
};

use roster_engine::{
    phrase::counted,
    reason::{Reason, Severity},
    view::{ServiceUse, ServiceView, UnseenEndpoint, Verdict},
};

use super::node_view::NodeRun;
use crate::cli::{
    findings_report::FindingsReport,
    output::Output,
    printable::printable,
    progress_line::ProgressLine,
    style::{BOLD, DIM, GREEN, RED, YELLOW},
    table::{Cell, Table},
};

/// One Service in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServiceLine {
    /// Namespace and name.
    name: String,
    uses: Option<ServiceUse>,
    severity: Severity,
    /// The code of the worst finding, and what there is to say first.
    code: Option<Reason>,
    detail: String,
}

/// The lines, and how many Services the node cannot reach.
#[derive(Debug, Default)]
struct NodeOverview {
    lines: Vec<ServiceLine>,
    services: usize,
    without_endpoint: usize,
    dropped: usize,
    warnings: usize,
    not_proxied: usize,
    problems_only: bool,
}

/// Prints the lines. Returns whether there is a warning or an error.
pub(super) fn print(run: &NodeRun<'_>, out: &mut Output) -> anyhow::Result<bool> {
    let mut overview = NodeOverview { problems_only: run.problems_only, ..NodeOverview::default() };
    let progress = ProgressLine::start("viewing");
    for of in &run.from.cluster.services {
        overview.add(run.from.cluster.view(of, run.from.at, ServiceLine::of));
        progress.add(1);
    }
    progress.finish();
    let width = out.width();
    overview.write(out, &run.from.title(), width)?;
    FindingsReport::of_input(&run.input.findings(), false).shortened().print(out)?;
    overview.write_hint(out)?;
    Ok(overview.needs_attention())
}

impl ServiceLine {
    fn of(view: &ServiceView<'_>, removed: &[UnseenEndpoint]) -> Self {
        let meta = &view.service.meta;
        let lead = view.findings.first();
        let mut detail = lead.map(|f| f.message.clone()).unwrap_or_default();
        // What the proxy before kube-proxy removed is then the cause.
        if let Some(first) = removed.first().filter(|_| view.worst_use().is_some_and(|uses| uses.used == 0)) {
            detail = format!("{} removed before kube-proxy ({})", counted(removed.len(), "endpoint"), first.reason);
        }
        Self {
            name: format!("{}/{}", meta.namespace, meta.name),
            uses: view.worst_use(),
            severity: view.severity(),
            code: lead.map(|f| f.code),
            detail,
        }
    }

    /// The worst first, then those with the fewest endpoints; what kube-proxy does not serve last.
    fn rank(&self) -> (Reverse<Severity>, bool, Option<usize>) {
        (Reverse(self.severity), self.uses.is_none(), self.uses.map(|uses| uses.used))
    }

    fn cells(&self) -> [Cell; 5] {
        let uses = match self.uses {
            None => Cell::styled("-", DIM),
            Some(uses) => Cell::styled(use_text(uses), if uses.is_empty() { RED } else { GREEN }),
        };
        let status = match (self.uses, self.severity) {
            (Some(ServiceUse { internal: Verdict::Dropped, .. }), Severity::Warning | Severity::Error) => {
                Cell::styled("dropped", RED)
            }
            (Some(ServiceUse { internal: Verdict::Rejected, .. }), _) => Cell::styled("rejected", RED),
            (Some(_), Severity::Info) => Cell::styled("ok", GREEN),
            (_, severity) => Cell::severity(severity),
        };
        let code = self.code.map_or("", |code| code.code());
        [self.name.as_str().into(), uses, status, code.into(), self.detail.as_str().into()]
    }
}

/// `2 of 3`: how many endpoints the node uses, of those that take traffic.
pub(super) fn use_text(uses: ServiceUse) -> String {
    format!("{} of {}", uses.used, uses.of)
}

impl NodeOverview {
    fn add(&mut self, line: ServiceLine) {
        self.services += 1;
        match line.uses {
            None => self.not_proxied += 1,
            Some(uses) if uses.internal == Verdict::Dropped => self.dropped += 1,
            Some(uses) if uses.used == 0 => self.without_endpoint += 1,
            Some(_) => {}
        }
        self.warnings += usize::from(line.severity > Severity::Info);
        if !self.problems_only || line.severity > Severity::Info {
            self.lines.push(line);
        }
    }

    fn needs_attention(&self) -> bool {
        self.warnings > 0
    }

    fn write(&mut self, out: &mut dyn Write, title: &str, width: Option<usize>) -> io::Result<()> {
        // Stable: Services stay in order of namespace and name.
        self.lines.sort_by_key(ServiceLine::rank);
        writeln!(out, "{BOLD}{}: {}{BOLD:#}", printable(title), self.account())?;
        let mut table = Table::new(["SERVICE", "USES", "STATUS", "CODE", "DETAIL"]);
        self.lines.iter().for_each(|line| table.push(line.cells()));
        if !table.is_empty() {
            table.print_to(out, 0, width)?;
        }
        writeln!(out)
    }

    /// How many Services the node serves.
    fn account(&self) -> String {
        let mut parts = vec![counted(self.services, "Service")];
        let counts = [
            (self.without_endpoint, "rejected (no endpoint)"),
            (self.dropped, "dropped (no endpoint on this node)"),
            (self.not_proxied, "not served by kube-proxy"),
        ];
        parts.extend(counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
        if self.services > 0 && parts.len() == 1 {
            parts.push("all served".to_owned());
        }
        parts.join(", ")
    }

    fn write_hint(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(line) = self.lines.first() else { return Ok(()) };
        writeln!(
            out,
            "{DIM}For the endpoints of one Service, add its name ({}); of all, add -o wide{DIM:#}",
            printable(&line.name)
        )
    }
}

/// A number of endpoints in its colour.
pub(super) fn use_style(uses: ServiceUse) -> anstyle::Style {
    match uses.used {
        0 => RED,
        used if used < uses.of => YELLOW,
        _ => GREEN,
    }
}
