//! The details of `roster view --node`: one block for each Service.

use std::io::{self, Write};

use roster_engine::{
    model::{Family, Text, protocol_or_tcp},
    phrase::counted,
    reason::Severity,
    view::{PortView, ServiceView, UnseenEndpoint, Verdict, ViewedEndpoint},
};

use super::{
    node_overview::{use_style, use_text},
    node_view::NodeRun,
};
use crate::cli::{
    findings_report::FindingsReport,
    output::{Output, OutputFormat},
    printable::printable,
    style::{BOLD, DIM, GREEN, YELLOW},
    table::{Cell, Table},
};

/// Most endpoints of a Service that are listed; those that are used come first.
const LISTED: usize = 24;

/// Prints all blocks. Returns whether there is a warning or an error.
pub(super) fn print(run: &NodeRun<'_>, format: OutputFormat, out: &mut Output) -> anyhow::Result<bool> {
    let wide = format == OutputFormat::Wide;
    let width = out.width();
    let mut attention = false;
    writeln!(out, "{BOLD}{}{BOLD:#}\n", printable(&run.from.title()))?;
    for of in &run.from.cluster.services {
        run.from.cluster.view(of, run.from.at, |view, removed| {
            let needs_attention = view.severity() > Severity::Info;
            attention |= needs_attention;
            if run.problems_only && !needs_attention {
                return Ok(());
            }
            ServiceBlock { view, removed, wide, width }.write(out)
        })?;
    }
    let report = FindingsReport::of_input(&run.input.findings(), wide);
    if wide { report } else { report.shortened() }.print(out)?;
    Ok(attention)
}

/// What there is to say of a Service.
struct ServiceBlock<'a> {
    view: &'a ServiceView<'a>,
    removed: &'a [UnseenEndpoint],
    wide: bool,
    width: Option<usize>,
}

/// An endpoint in a line.
struct EndpointLine {
    is_used: bool,
    cells: [Cell; 7],
}

impl ServiceBlock<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.headline(out)?;
        let mut table = Table::new(["SEVERITY", "CODE", "DETAIL"]);
        for finding in &self.view.findings {
            let code = finding.code.code();
            table.push([Cell::severity(finding.severity), code.into(), finding.message.as_str().into()]);
        }
        if !table.is_empty() {
            table.print_to(out, 2, self.width)?;
        }
        let several = self.view.families.len() > 1;
        let of_ports = self.view.ports().flat_map(|(family, port)| {
            port.endpoints.iter().map(move |endpoint| viewed_line(endpoint, &port_name(family, port, several)))
        });
        let mut lines: Vec<EndpointLine> = of_ports.chain(self.removed.iter().map(removed_line)).collect();
        // Stable: endpoints stay in order of ports and addresses.
        lines.sort_by_key(|line| !line.is_used);
        let more = if self.wide { 0 } else { lines.len().saturating_sub(LISTED) };
        lines.truncate(lines.len() - more);
        let mut table = Table::new(["ENDPOINT", "TARGET", "NODE", "ZONE", "PORT", "USED FOR", "REASON"]);
        for line in lines {
            table.push(line.cells);
        }
        if !table.is_empty() {
            table.print_to(out, 2, self.width)?;
        }
        if more > 0 {
            writeln!(out, "  {DIM}and {more} more: -o wide lists them{DIM:#}")?;
        }
        writeln!(out)
    }

    fn headline(&self, out: &mut dyn Write) -> io::Result<()> {
        let meta = &self.view.service.meta;
        let name = format!("{}/{}", meta.namespace, meta.name);
        write!(out, "{BOLD}{}{BOLD:#}: ", printable(&name))?;
        let Some(uses) = self.view.worst_use() else {
            let why = if self.view.is_hidden { "hidden from kube-proxy" } else { "not served by kube-proxy" };
            return writeln!(out, "{DIM}{why}{DIM:#}");
        };
        let style = use_style(uses);
        let verdict = match uses.internal {
            Verdict::Forwarded => "",
            Verdict::Dropped => "; connections are dropped",
            Verdict::Rejected => "; connections are rejected",
        };
        let ports = self.view.ports().count();
        let least =
            if ports > 1 { format!(" ({}: the one with the fewest)", counted(ports, "port")) } else { String::new() };
        let endpoints = if uses.of == 1 { "endpoint" } else { "endpoints" };
        writeln!(out, "{style}uses {} {endpoints}{least}{verdict}{style:#}", use_text(uses))
    }
}

/// A port, with its family if there are several.
fn port_name(family: Family, port: &PortView<'_>, several: bool) -> String {
    let name = match port.port.name.as_str() {
        "" => port.port.port.to_string(),
        name => name.to_owned(),
    };
    let protocol = match protocol_or_tcp(&port.port.protocol) {
        "TCP" => String::new(),
        other => format!("/{other}"),
    };
    let family = if several { format!(" {}", family.as_str()) } else { String::new() };
    format!("{name}{protocol}{family}")
}

fn viewed_line(viewed: &ViewedEndpoint<'_>, port: &str) -> EndpointLine {
    let endpoint = viewed.endpoint.endpoint;
    let used_for = match (viewed.uses.cluster, viewed.uses.local) {
        (true, true) => Cell::styled("cluster, local", GREEN),
        (true, false) => Cell::styled("cluster", GREEN),
        (false, true) => Cell::styled("local", GREEN),
        (false, false) => Cell::styled("-", DIM),
    };
    let target = endpoint.target_ref.as_ref().map(|t| format!("{}/{}", t.kind, t.name)).unwrap_or_default();
    let reason = viewed.reason.map_or("", |reason| reason.code());
    EndpointLine {
        is_used: viewed.uses.any(),
        cells: [
            viewed.endpoint.to_string().into(),
            target.into(),
            text(endpoint.node_name.as_ref()).into(),
            text(endpoint.zone.as_ref()).into(),
            port.into(),
            used_for,
            Cell::styled(reason, YELLOW),
        ],
    }
}

fn removed_line(removed: &UnseenEndpoint) -> EndpointLine {
    EndpointLine {
        is_used: false,
        cells: [
            removed.address.as_str().into(),
            text(removed.target.as_ref()).into(),
            text(removed.node.as_ref()).into(),
            Cell::default(),
            Cell::default(),
            Cell::styled("-", DIM),
            Cell::styled(removed.reason.code(), YELLOW),
        ],
    }
}

fn text(text: Option<&Text>) -> &str {
    text.map_or("", Text::as_str)
}
