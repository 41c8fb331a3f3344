//! The answer of `roster explain` for people: one block for each Service.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use super::{Run, Totals, is_finding, said};
use crate::{
    cli::{
        Output,
        report::Report,
        table::{BOLD, Cell, DIM, GREEN, RED, Table, YELLOW, printable},
    },
    engine::{
        explain::{Cause, Explanation, PodState, PortName, Row},
        reason::{Scope, Severity},
    },
    model::{TargetPort, Text},
};

/// So many pods of one verdict are named; the others are counted.
const NAMED: usize = 3;

/// Prints all blocks and the account of all pods × ports; tells whether a person should look at something.
pub(super) fn print(run: &Run<'_>, wide: bool, out: &mut Output) -> anyhow::Result<bool> {
    let mut totals = Totals::default();
    let mut findings = false;
    let mut fixes: BTreeMap<&'static str, &'static str> = BTreeMap::new();
    run.each(
        |entry, explanation| (format!("{}/{}", entry.namespace, entry.name), explanation),
        |(name, explanation)| {
            totals.add(Totals::of(&explanation));
            findings |= is_finding(&explanation);
            fixes.extend(
                said(&explanation).filter(|f| told(f, wide) && !f.fix.is_empty()).map(|f| (f.code.code(), f.fix)),
            );
            Ok(block(out, &name, &explanation, wide)?)
        },
    )?;
    if !fixes.is_empty() {
        let mut table = Table::new(["CODE", "WHAT TO DO"]);
        for (code, fix) in fixes {
            table.push([code.into(), fix.into()]);
        }
        table.print(out, 0)?;
        writeln!(out)?;
    }
    Report::of_input(run.index.problems(), wide).print(out)?;
    let Totals { services, pod_ports, served } = totals;
    let s = if services == 1 { "" } else { "s" };
    writeln!(
        out,
        "{BOLD}{services} Service{s}, {pod_ports} pods x ports: {served} served, {} not{BOLD:#}",
        pod_ports - served
    )?;
    Ok(findings)
}

/// Whether a finding is worth its place: what is only good to know is told `wide`, but for what names the cause.
fn told(finding: &Cause, wide: bool) -> bool {
    wide || finding.severity > Severity::Info || finding.object.is_some()
}

fn block(out: &mut Output, name: &str, explanation: &Explanation, wide: bool) -> io::Result<()> {
    let Totals { pod_ports, served, .. } = Totals::of(explanation);
    let style = if served == pod_ports && !is_finding(explanation) { GREEN } else { YELLOW };
    let account =
        if pod_ports == 0 { "no pods".to_owned() } else { format!("{served} of {pod_ports} pods x ports served") };
    writeln!(out, "{BOLD}{}{BOLD:#}: {style}{account}{style:#}", printable(name))?;
    let mut table = Table::new(["SEVERITY", "CODE", "DETAIL"]);
    for finding in &explanation.reasons {
        let object = finding.object.as_ref().filter(|_| finding.detail.is_empty()).map(ToString::to_string);
        table.push([
            severity(finding.severity),
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
        writeln!(out, "  and {omitted} more, which are counted only")?;
    }
    writeln!(out)
}

fn severity(severity: Severity) -> Cell {
    match severity {
        Severity::Error => Cell::styled("error", RED),
        Severity::Warning => Cell::styled("warning", YELLOW),
        Severity::Info => Cell::styled("info", DIM),
    }
}

/// Rows that say the same.
struct Group<'a> {
    pods: Vec<&'a Text>,
    ports: Vec<String>,
    lists: Vec<&'a Scope>,
    verdict: Verdict<'a>,
    /// Whether every pod is named.
    wide: bool,
}

/// What a row says of its pod, port and list.
#[derive(Clone, PartialEq, Eq)]
struct Verdict<'a> {
    state: PodState,
    served: bool,
    reasons: Vec<&'a Cause>,
}

/// The rows of a Service, those together that say the same: first of the lists of one pod and port, then of the
/// ports of one pod, then of pods in a row.
fn groups(explanation: &Explanation, wide: bool) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for rows in explanation.rows.chunk_by(|a, b| a.pod == b.pod) {
        for mut group in of_pod(rows, wide) {
            let same =
                |g: &&mut Group<'_>| g.verdict == group.verdict && g.ports == group.ports && g.lists == group.lists;
            match groups.iter_mut().rev().take(RECENT).find(same) {
                Some(known) if !wide => known.pods.append(&mut group.pods),
                _ => groups.push(group),
            }
        }
    }
    groups
}

/// A row is compared with the last few groups only: thousands of different verdicts must not take the square of
/// that.
const RECENT: usize = 32;

/// The verdicts on one port, each with the lists it holds for.
type OfPort<'a> = Vec<(Verdict<'a>, Vec<&'a Scope>)>;

fn of_pod(rows: &[Row], wide: bool) -> Vec<Group<'_>> {
    let mut ports: Vec<(&Option<PortName>, OfPort<'_>)> = Vec::new();
    let mut place: BTreeMap<Option<(&str, i32)>, usize> = BTreeMap::new();
    for row in rows {
        let key = row.port.as_ref().map(|p| (p.name.as_str(), p.port));
        let at = *place.entry(key).or_insert_with(|| {
            ports.push((&row.port, Vec::new()));
            ports.len() - 1
        });
        let of_port = &mut ports[at].1;
        let reasons =
            row.reasons.iter().enumerate().filter(|(i, f)| *i == 0 || told(f, wide)).map(|(_, f)| f).collect();
        let verdict = Verdict { state: row.state, served: row.served, reasons };
        match of_port.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, lists)) => lists.push(&row.scope),
            None => of_port.push((verdict, vec![&row.scope])),
        }
    }
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (port, of_port) in ports {
        for (verdict, lists) in of_port {
            let port = spelled(port.as_ref());
            let same = |g: &&mut Group<'_>| g.verdict == verdict && g.lists == lists;
            if let Some(group) = groups.iter_mut().rev().take(RECENT).find(same) {
                group.ports.push(port);
                continue;
            }
            let pods = rows.first().map(|r| &r.pod).into_iter().collect();
            groups.push(Group { pods, ports: vec![port], lists, verdict, wide });
        }
    }
    groups
}

/// `http 80 -> 8080`.
fn spelled(port: Option<&PortName>) -> String {
    let Some(port) = port else { return "-".to_owned() };
    let space = if port.name.is_empty() { "" } else { " " };
    let target = match &port.target_port {
        TargetPort::Number(n) => n.to_string(),
        TargetPort::Name(name) => name.to_string(),
    };
    format!("{}{space}{} -> {target}", port.name, port.port)
}

impl Group<'_> {
    fn cells(self) -> [Cell; 6] {
        let named = if self.wide { self.pods.len() } else { NAMED };
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
