//! `roster view --diff`: what a change does to the endpoints that nodes use.

use std::io::Write;

use roster_engine::{
    model::{Family, Text},
    phrase::counted,
    view::{PortUse, UsedEndpoint, Verdict, ViewChange, ViewChanges},
};
use roster_manifests::inventory::{Findings, whole};
use serde::Serialize;

use super::matrix_table::{group_text, service_name};
use crate::cli::{
    findings_report::FindingsReport,
    output::{ItemWriter, Output, OutputFormat},
    style::{BOLD, DIM, GREEN, RED, YELLOW},
    table::{Cell, Table},
};

/// Most lines of a table, and endpoints in a cell.
const LINES: usize = 40;
const NAMED: usize = 3;

/// Prints the changes.
pub(in crate::cli) fn print(
    changes: &ViewChanges<'_>,
    findings: &Findings,
    format: OutputFormat,
    out: &mut Output,
) -> anyhow::Result<()> {
    if !format.is_table() {
        return documents(changes, findings, format, out);
    }
    let wide = format == OutputFormat::Wide;
    table(changes, wide, out)?;
    let report = FindingsReport::of_input(findings, wide);
    Ok(if wide { report } else { report.shortened() }.print(out)?)
}

/// Prints the changes as a table.
pub(in crate::cli) fn table(changes: &ViewChanges<'_>, wide: bool, out: &mut Output) -> anyhow::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}", account(changes))?;
    let (lines, named) = if wide { (usize::MAX, usize::MAX) } else { (LINES, NAMED) };
    let mut table = Table::new(["SERVICE", "PORT", "NODES", "BEFORE", "AFTER", "LOST", "GAINED"]);
    for change in changes.changes.iter().take(lines) {
        let after_style = match &change.after {
            _ if change.becomes_empty() => RED,
            Some(_) if !change.lost().is_empty() => YELLOW,
            _ => GREEN,
        };
        table.push([
            service_name(change.service).into(),
            port_text(change).into(),
            group_text(&change.nodes, named).into(),
            use_text(change.before.as_ref()).into(),
            Cell::styled(use_text(change.after.as_ref()), after_style),
            endpoints_text(&change.lost(), named).into(),
            endpoints_text(&change.gained(), named).into(),
        ]);
    }
    if !table.is_empty() {
        table.print(out, 0)?;
    }
    match changes.changes.len().saturating_sub(lines) {
        0 => {}
        more => writeln!(out, "{DIM}and {more} more: -o wide lists them{DIM:#}")?,
    }
    Ok(writeln!(out)?)
}

/// How many nodes and Services change.
fn account(changes: &ViewChanges<'_>) -> String {
    let mut parts = vec![format!("{}, {}", counted(changes.nodes, "node"), counted(changes.services, "Service"))];
    let empty = changes.changes.iter().filter(|change| change.becomes_empty()).count();
    let text = match (changes.changes.len(), empty) {
        (0, _) => "no node uses other endpoints".to_owned(),
        (n, 0) => format!("{}, none leaves a node without an endpoint", counted(n, "change")),
        (n, 1) => format!("{}, 1 of which leaves nodes without an endpoint", counted(n, "change")),
        (n, empty) => format!("{}, {empty} of which leave nodes without an endpoint", counted(n, "change")),
    };
    parts.push(text);
    for (nodes, what) in [(changes.nodes_gone, "gone"), (changes.nodes_new, "new")] {
        if nodes > 0 {
            parts.push(format!("{} {what} and not compared", counted(nodes, "node")));
        }
    }
    parts.join(": ")
}

fn port_text(change: &ViewChange<'_>) -> String {
    let port = &change.port;
    let name = if port.name.is_empty() { "-" } else { &port.name };
    let protocol = if port.protocol == "TCP" { String::new() } else { format!("/{}", port.protocol) };
    match port.family {
        Family::V4 => format!("{name}{protocol}"),
        Family::V6 => format!("{name}{protocol} {}", Family::V6.as_str()),
    }
}

/// How many endpoints are used; where none is, what becomes of connections.
fn use_text(uses: Option<&PortUse>) -> String {
    let Some(uses) = uses else { return "not served".to_owned() };
    let external = match uses.external {
        Some(external) if external != uses.internal => format!(" (from outside {})", external.as_str()),
        _ => String::new(),
    };
    match uses.internal {
        Verdict::Forwarded => format!("{}{external}", uses.endpoints.len()),
        verdict => format!("{} {}{external}", uses.endpoints.len(), verdict.as_str()),
    }
}

fn endpoints_text(endpoints: &[UsedEndpoint], named: usize) -> String {
    let names: Vec<String> = endpoints.iter().take(named).map(ToString::to_string).collect();
    match endpoints.len().saturating_sub(named) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// A change, in JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeItem<'a> {
    service: String,
    port: &'a Text,
    protocol: &'a Text,
    ip_family: Family,
    nodes: Vec<&'a Text>,
    becomes_empty: bool,
    before: Option<UseItem>,
    after: Option<UseItem>,
    lost: Vec<String>,
    gained: Vec<String>,
}

#[derive(Serialize)]
struct UseItem {
    used: usize,
    internal: &'static str,
    external: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangesSummary {
    nodes: usize,
    services: usize,
    changes: usize,
    nodes_gone: usize,
    nodes_new: usize,
}

fn documents(
    changes: &ViewChanges<'_>,
    findings: &Findings,
    format: OutputFormat,
    out: &mut Output,
) -> anyhow::Result<()> {
    let mut items = ItemWriter::start(out, format)?;
    for change in &changes.changes {
        items.write(&ItemWriter::item(format, &ChangeItem::of(change))?)?;
    }
    let ViewChanges { changes, nodes_gone, nodes_new, nodes, services } = changes;
    let summary = ChangesSummary {
        nodes: *nodes,
        services: *services,
        changes: changes.len(),
        nodes_gone: *nodes_gone,
        nodes_new: *nodes_new,
    };
    items.end(&whole::last_line(&summary, findings))
}

impl<'a> ChangeItem<'a> {
    fn of(change: &'a ViewChange<'a>) -> Self {
        let texts = |endpoints: Vec<UsedEndpoint>| endpoints.iter().map(ToString::to_string).collect();
        let uses = |uses: &PortUse| UseItem {
            used: uses.endpoints.len(),
            internal: uses.internal.as_str(),
            external: uses.external.map(Verdict::as_str),
        };
        Self {
            service: service_name(change.service),
            port: &change.port.name,
            protocol: &change.port.protocol,
            ip_family: change.port.family,
            nodes: change.nodes.iter().map(|node| &node.name).collect(),
            becomes_empty: change.becomes_empty(),
            before: change.before.as_ref().map(uses),
            after: change.after.as_ref().map(uses),
            lost: texts(change.lost()),
            gained: texts(change.gained()),
        }
    }
}
