//! The details of `roster explain`: one block for each Service.

use std::io::{self, Write};

use roster_engine::{
    explain::{Cause, Explanation, PodState, PodVerdict, PortRun, ServedTotals, each_piece},
    model::{Pod, Text},
    phrase::counted,
    reason::{Reason, Severity},
    record::Scope,
};

use super::{
    explainer::Explainer,
    other_findings::and_others,
    pod_grid::{PodGrid, port_text},
};
use crate::cli::{
    findings_report::FindingsReport,
    output::Output,
    printable::printable,
    style::{BOLD, DIM, GREEN, RED, YELLOW},
    table::{Cell, Table},
};

/// How many pods with the same verdict are named; the others are counted.
const NAMED_PODS: usize = 3;

/// Prints all blocks and the totals. Returns whether there is a warning or an error.
pub(super) fn print(explainer: &Explainer<'_>, wide: bool, out: &mut Output) -> anyhow::Result<bool> {
    let mut totals = ServedTotals::default();
    let mut attention = false;
    let width = out.width();
    // A grid is for reading, not for other programs.
    let one = explainer.index.entries().len() == 1 && explainer.pod.is_none();
    let form = BlockForm { wide, grid: one && !wide && width.is_some(), pod: explainer.pod, width };
    let mut fixes: Vec<(&'static str, &'static str)> = Vec::new();
    explainer.each(
        |entry, explanation| {
            let uses = explainer.uses(entry, &explanation);
            (format!("{}/{}", entry.namespace, entry.name), explanation, uses)
        },
        |(name, explanation, uses)| {
            totals.add(ServedTotals::of(&explanation));
            let finding = explanation.needs_attention();
            attention |= finding;
            if explainer.problems_only && !finding {
                return Ok(());
            }
            fixes.extend(
                explanation
                    .findings()
                    .filter(|f| is_shown(f, wide) && !f.fix.is_empty())
                    .map(|f| (f.code.code(), f.fix)),
            );
            form.block(out, &name, &explanation)?;
            uses.map_or(Ok(()), |uses| Ok(uses.write(out, wide, width)?))
        },
    )?;
    let others = explainer.other_findings();
    let report = FindingsReport::of_input(&others, wide);
    let mut report = if wide { report } else { report.shortened() };
    report.add_fixes(fixes);
    report.print(out)?;
    if let Some(pod) = explainer.pod.filter(|_| totals.pod_ports == 0) {
        writeln!(out, "no Service selects pod {}", printable(&format!("{}/{}", pod.namespace(), pod.name())))?;
    }
    let services = counted(totals.services, "Service");
    writeln!(out, "{BOLD}{services}, {}{}{BOLD:#}", totals.text(), and_others(&others))?;
    Ok(attention)
}

/// Whether a finding is shown: those of severity info only if `wide` or if they name an object as the cause.
fn is_shown(finding: &Cause, wide: bool) -> bool {
    wide || finding.severity > Severity::Info || finding.object.is_some()
}

/// How the blocks look.
#[derive(Clone, Copy)]
struct BlockForm<'a> {
    wide: bool,
    /// Whether pods and ports form a grid, and only what is not simply served is listed below it.
    grid: bool,
    /// The only pod to look at.
    pod: Option<&'a Pod>,
    width: Option<usize>,
}

impl BlockForm<'_> {
    /// Writes what there is to say about a Service.
    fn block(self, out: &mut dyn Write, name: &str, explanation: &Explanation) -> io::Result<()> {
        self.headline(out, name, explanation)?;
        let mut table = Table::new(["SEVERITY", "CODE", "DETAIL"]);
        for finding in &explanation.reasons {
            let object = finding.object.as_ref().filter(|_| finding.detail.is_empty()).map(ToString::to_string);
            table.push([
                Cell::severity(finding.severity),
                finding.code.code().into(),
                object.unwrap_or(finding.detail.clone()).into(),
            ]);
        }
        if !table.is_empty() {
            table.print_to(out, 2, self.width)?;
        }
        let grid = PodGrid::of(explanation).filter(|_| self.grid);
        if let Some(grid) = &grid {
            grid.write(out, 2, self.width)?;
        }
        let mut table = Table::new(["PODS", "PORTS", "LISTS", "STATE", "REASON", "DETAIL"]);
        for group in groups(explanation, self.wide).into_iter().filter(|g| grid.is_none() || !g.verdict.is_plain()) {
            table.push(group.cells());
        }
        if !table.is_empty() {
            if grid.is_some() {
                writeln!(out)?;
            }
            table.print_to(out, 2, self.width)?;
        }
        let omitted = explanation.summary.omitted_rows + explanation.summary.omitted_reasons;
        if omitted > 0 {
            writeln!(out, "  and {omitted} more, counted but not listed")?;
        }
        writeln!(out)
    }

    fn headline(self, out: &mut dyn Write, name: &str, explanation: &Explanation) -> io::Result<()> {
        let totals = ServedTotals::of(explanation);
        let served = totals.served == totals.pod_ports && !explanation.needs_attention();
        let style = if served { GREEN } else { YELLOW };
        let account = match self.pod {
            Some(pod) if totals.pod_ports == 0 && totals.services > 0 => {
                format!("does not select pod {}", printable(pod.name()))
            }
            _ => totals.long(explanation),
        };
        writeln!(out, "{BOLD}{}{BOLD:#}: {style}{account}{style:#}", printable(name))
    }
}

/// Rows with the same verdict.
struct RowGroup<'a> {
    pods: Vec<&'a Text>,
    ports: Vec<PortRun>,
    lists: Vec<&'a Scope>,
    verdict: RowVerdict<'a>,
    /// Whether every pod is named.
    wide: bool,
}

/// The state and the reasons of a row.
#[derive(Clone, PartialEq, Eq)]
struct RowVerdict<'a> {
    state: PodState,
    /// Whether it is served although it is terminating.
    served: bool,
    reasons: Vec<&'a Cause>,
}

impl RowVerdict<'_> {
    /// Whether there is nothing to say but that the pod serves the port.
    fn is_plain(&self) -> bool {
        self.state == PodState::Ready && self.reasons.iter().all(|r| r.code == Reason::Ready)
    }
}

/// The rows of a Service, grouped by verdict: first the lists of one pod and port, then the ports of one pod, then the
/// pods.
fn groups(explanation: &Explanation, wide: bool) -> Vec<RowGroup<'_>> {
    let mut groups: Vec<RowGroup<'_>> = Vec::new();
    for rows in explanation.rows.chunk_by(|a, b| a.pod == b.pod) {
        for mut group in groups_of_pod(rows, wide) {
            let same =
                |g: &&mut RowGroup<'_>| g.verdict == group.verdict && g.ports == group.ports && g.lists == group.lists;
            match groups.iter_mut().rev().take(RECENT).find(same) {
                Some(known) if !wide => known.pods.append(&mut group.pods),
                _ => groups.push(group),
            }
        }
    }
    groups
}

/// How many of the last groups a row is compared with, so that thousands of different verdicts do not take quadratic
/// time.
const RECENT: usize = 32;

/// The verdicts on some ports, each with its lists.
type PortVerdicts<'a> = Vec<(RowVerdict<'a>, Vec<&'a Scope>)>;

fn groups_of_pod(rows: &[PodVerdict], wide: bool) -> Vec<RowGroup<'_>> {
    let lists: Vec<&[PodVerdict]> = rows.chunk_by(|a, b| a.scope == b.scope).collect();
    let mut groups: Vec<RowGroup<'_>> = Vec::new();
    each_piece(
        &lists,
        |row| row.ports.places(),
        |places, rows| {
            for (verdict, lists) in verdicts_of(rows, wide) {
                let same = |g: &&mut RowGroup<'_>| g.verdict == verdict && g.lists == lists;
                let ports = rows[0].ports.at(places.clone());
                match groups.iter_mut().rev().take(RECENT).find(same) {
                    Some(group) => group.add_ports(ports),
                    None => {
                        groups.push(RowGroup { pods: vec![&rows[0].pod], ports: vec![ports], lists, verdict, wide });
                    }
                }
            }
        },
    );
    groups
}

/// The verdicts of rows on the same ports, each with the lists that agree.
fn verdicts_of<'a>(rows: &[&'a PodVerdict], wide: bool) -> PortVerdicts<'a> {
    let mut all: PortVerdicts<'_> = Vec::new();
    for row in rows {
        let reasons =
            row.reasons.iter().enumerate().filter(|(i, f)| *i == 0 || is_shown(f, wide)).map(|(_, f)| f).collect();
        // Of the other states, only a terminating one may be served or not.
        let served = row.served && row.state == PodState::Terminating;
        let verdict = RowVerdict { state: row.state, served, reasons };
        match all.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, lists)) => lists.push(&row.scope),
            None => all.push((verdict, vec![&row.scope])),
        }
    }
    all
}

/// The verdicts on the pods, those with the same one in a line; what is not served comes first.
pub(in crate::cli) fn verdict_lines(explanation: &Explanation) -> Vec<String> {
    let (plain, others): (Vec<_>, Vec<_>) =
        groups(explanation, false).into_iter().partition(|group| group.verdict.is_plain());
    let line = |group: RowGroup<'_>| {
        let [pods, ports, lists, state, codes, details] = group.texts();
        let said = if details.is_empty() { String::new() } else { format!(": {details}") };
        let why = if codes == state { String::new() } else { format!(", {codes}") };
        format!("{pods}: port {ports}: {state} in {lists}{why}{said}")
    };
    others.into_iter().chain(plain).map(line).collect()
}

impl RowGroup<'_> {
    /// Adds ports after those that it has.
    fn add_ports(&mut self, ports: PortRun) {
        let (begin, end) = (ports.places().start, ports.places().end);
        match self.ports.last_mut().filter(|last| last.places().end == begin) {
            Some(last) => *last = last.at(last.places().start..end),
            None => self.ports.push(ports),
        }
    }

    /// The pods, the ports, the lists, the state, the codes, and the details.
    fn texts(&self) -> [String; 6] {
        let named = if self.wide { self.pods.len() } else { NAMED_PODS };
        let mut pods = self.pods.iter().take(named).map(|p| p.as_str()).collect::<Vec<_>>().join(", ");
        if self.pods.len() > named {
            pods = format!("{pods} and {} more", self.pods.len() - named);
        }
        let lists: Vec<String> = self.lists.iter().map(ToString::to_string).collect();
        let state = match (self.verdict.state, self.verdict.served) {
            (PodState::Ready, _) => "ready",
            (PodState::NotReady, _) => "not ready",
            (PodState::Terminating, true) => "terminating, served",
            (PodState::Terminating, false) => "terminating",
            (PodState::Absent, _) => "absent",
        };
        let codes: Vec<&str> = self.verdict.reasons.iter().map(|f| f.code.code()).collect();
        let details: Vec<&str> =
            self.verdict.reasons.iter().map(|f| f.detail.as_str()).filter(|d| !d.is_empty()).collect();
        let ports: Vec<String> = self.ports.iter().flat_map(PortRun::each).map(port_text).collect();
        [pods, ports.join(", "), lists.join(", "), state.to_owned(), codes.join(", "), details.join("; ")]
    }

    fn cells(&self) -> [Cell; 6] {
        let [pods, ports, lists, state, codes, details] = self.texts();
        let style = match (self.verdict.state, self.verdict.served) {
            (PodState::Ready, _) => GREEN,
            (PodState::NotReady, _) | (PodState::Terminating, true) => YELLOW,
            (PodState::Terminating, false) => DIM,
            (PodState::Absent, _) => RED,
        };
        [pods.into(), ports.into(), lists.into(), Cell::styled(state, style), codes.into(), details.into()]
    }
}
