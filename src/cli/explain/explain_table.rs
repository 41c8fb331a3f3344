//! The tables of `roster explain`: one block for each Service.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use super::{
    explainer::Explainer,
    served_totals::{ServedTotals, findings, needs_attention},
};
use crate::{
    cli::{
        findings_report::FindingsReport,
        output::Output,
        printable::printable,
        style::{BOLD, DIM, GREEN, RED, YELLOW},
        table::{Cell, Table},
    },
    engine::{
        explain::{Cause, Explanation, PodState, PodVerdict, PortName},
        reason::{Reason, Severity},
        record::Scope,
    },
    model::{TargetPort, Text},
};

/// How many pods with the same verdict are named; the others are counted.
const NAMED_PODS: usize = 3;

/// Prints all blocks and the totals. Returns whether there is a warning or an error.
pub(super) fn print(explainer: &Explainer<'_>, wide: bool, out: &mut Output) -> anyhow::Result<bool> {
    let mut totals = ServedTotals::default();
    let mut attention = false;
    let mut fixes: BTreeMap<&'static str, &'static str> = BTreeMap::new();
    explainer.each(
        |entry, explanation| (format!("{}/{}", entry.namespace, entry.name), explanation),
        |(name, explanation)| {
            totals.add(ServedTotals::of(&explanation));
            attention |= needs_attention(&explanation);
            fixes.extend(
                findings(&explanation)
                    .filter(|f| is_shown(f, wide) && !f.fix.is_empty())
                    .map(|f| (f.code.code(), f.fix)),
            );
            Ok(block(out, &name, &explanation, wide)?)
        },
    )?;
    let mut report = FindingsReport::of_input(explainer.index.problems(), wide);
    report.add_fixes(fixes);
    report.print(out)?;
    let ServedTotals { services, pod_ports, served } = totals;
    let s = if services == 1 { "" } else { "s" };
    writeln!(
        out,
        "{BOLD}{services} Service{s}, {pod_ports} pods x ports: {served} served, {} not served{BOLD:#}",
        pod_ports - served
    )?;
    Ok(attention)
}

/// Whether a finding is shown: those of severity info only if `wide` or if they name an object as the cause.
fn is_shown(finding: &Cause, wide: bool) -> bool {
    wide || finding.severity > Severity::Info || finding.object.is_some()
}

fn block(out: &mut Output, name: &str, explanation: &Explanation, wide: bool) -> io::Result<()> {
    let ServedTotals { pod_ports, served, .. } = ServedTotals::of(explanation);
    let style = if served == pod_ports && !needs_attention(explanation) { GREEN } else { YELLOW };
    let unknown = explanation.reasons.iter().any(|cause| cause.code == Reason::NotChecked);
    let account = match pod_ports {
        0 if unknown => "pods not checked".to_owned(),
        0 => "no pods".to_owned(),
        _ => format!("{served} of {pod_ports} pods x ports served"),
    };
    writeln!(out, "{BOLD}{}{BOLD:#}: {style}{account}{style:#}", printable(name))?;
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
        table.print(out, 2)?;
    }
    let mut table = Table::new(["PODS", "PORTS", "LISTS", "STATE", "REASON", "DETAIL"]);
    for group in groups(explanation, wide) {
        table.push(group.cells());
    }
    if !table.is_empty() {
        table.print(out, 2)?;
    }
    let omitted = explanation.summary.omitted_rows + explanation.summary.omitted_reasons;
    if omitted > 0 {
        writeln!(out, "  and {omitted} more, counted but not listed")?;
    }
    writeln!(out)
}

/// Rows with the same verdict.
struct RowGroup<'a> {
    pods: Vec<&'a Text>,
    ports: Vec<String>,
    lists: Vec<&'a Scope>,
    verdict: RowVerdict<'a>,
    /// Whether every pod is named.
    wide: bool,
}

/// The state and the reasons of a row.
#[derive(Clone, PartialEq, Eq)]
struct RowVerdict<'a> {
    state: PodState,
    served: bool,
    reasons: Vec<&'a Cause>,
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

/// The verdicts on one port, each with its lists.
type PortVerdicts<'a> = Vec<(RowVerdict<'a>, Vec<&'a Scope>)>;

fn groups_of_pod(rows: &[PodVerdict], wide: bool) -> Vec<RowGroup<'_>> {
    let mut ports: Vec<(&Option<PortName>, PortVerdicts<'_>)> = Vec::new();
    let mut place: BTreeMap<Option<(&str, i32)>, usize> = BTreeMap::new();
    for row in rows {
        let key = row.port.as_ref().map(|p| (p.name.as_str(), p.port));
        let at = *place.entry(key).or_insert_with(|| {
            ports.push((&row.port, Vec::new()));
            ports.len() - 1
        });
        let of_port = &mut ports[at].1;
        let reasons =
            row.reasons.iter().enumerate().filter(|(i, f)| *i == 0 || is_shown(f, wide)).map(|(_, f)| f).collect();
        let verdict = RowVerdict { state: row.state, served: row.served, reasons };
        match of_port.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, lists)) => lists.push(&row.scope),
            None => of_port.push((verdict, vec![&row.scope])),
        }
    }
    let mut groups: Vec<RowGroup<'_>> = Vec::new();
    for (port, of_port) in ports {
        for (verdict, lists) in of_port {
            let port = port_text(port.as_ref());
            let same = |g: &&mut RowGroup<'_>| g.verdict == verdict && g.lists == lists;
            if let Some(group) = groups.iter_mut().rev().take(RECENT).find(same) {
                group.ports.push(port);
                continue;
            }
            let pods = rows.first().map(|r| &r.pod).into_iter().collect();
            groups.push(RowGroup { pods, ports: vec![port], lists, verdict, wide });
        }
    }
    groups
}

/// A port and its target, as `http 80 -> 8080`.
fn port_text(port: Option<&PortName>) -> String {
    let Some(port) = port else { return "-".to_owned() };
    let space = if port.name.is_empty() { "" } else { " " };
    let target = match &port.target_port {
        TargetPort::Number(n) => n.to_string(),
        TargetPort::Name(name) => name.to_string(),
    };
    format!("{}{space}{} -> {target}", port.name, port.port)
}

impl RowGroup<'_> {
    fn cells(self) -> [Cell; 6] {
        let named = if self.wide { self.pods.len() } else { NAMED_PODS };
        let mut pods = self.pods.iter().take(named).map(|p| p.as_str()).collect::<Vec<_>>().join(", ");
        if self.pods.len() > named {
            pods = format!("{pods} and {} more", self.pods.len() - named);
        }
        let lists: Vec<String> = self.lists.iter().map(ToString::to_string).collect();
        let (word, style) = match (self.verdict.state, self.verdict.served) {
            (PodState::Ready, _) => ("ready", GREEN),
            (PodState::NotReady, _) => ("not ready", YELLOW),
            (PodState::Terminating, true) => ("terminating, served", YELLOW),
            (PodState::Terminating, false) => ("terminating", DIM),
            (PodState::Absent, _) => ("absent", RED),
        };
        let codes: Vec<&str> = self.verdict.reasons.iter().map(|f| f.code.code()).collect();
        let details: Vec<&str> =
            self.verdict.reasons.iter().map(|f| f.detail.as_str()).filter(|d| !d.is_empty()).collect();
        [
            pods.into(),
            self.ports.join(", ").into(),
            lists.join(", ").into(),
            Cell::styled(word, style),
            codes.join(", ").into(),
            details.join("; ").into(),
        ]
    }
}
