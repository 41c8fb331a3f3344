//! `roster view --all-nodes` as a table: nodes and Services, empty cells first.

use std::io::Write;

use super::MatrixRun;
use crate::{
    cli::{
        findings_report::FindingsReport,
        output::{Output, OutputFormat},
        style::{BOLD, DIM, GREEN, RED, YELLOW},
        table::{Cell, write_rows},
    },
    engine::{
        phrase::counted,
        view::{MatrixRow, ServiceUse, Verdict},
    },
    model::Service,
};

/// Most Services that have a column.
const COLUMNS: usize = 8;
/// Most groups of nodes that have a row.
const ROWS: usize = 24;
/// Most nodes of a group that are named.
const NAMED: usize = 3;

/// Prints the matrix. Returns whether a cell is empty.
pub(super) fn print(run: &MatrixRun<'_>, format: OutputFormat, out: &mut Output) -> anyhow::Result<bool> {
    let wide = format == OutputFormat::Wide;
    let matrix = &run.matrix;
    let (columns, rows) = if wide { (usize::MAX, usize::MAX) } else { (COLUMNS, ROWS) };
    let shown: Vec<&Service> = matrix.services.iter().copied().take(columns).collect();
    writeln!(out, "{BOLD}{}{BOLD:#}", run.account())?;
    let names: Vec<String> = shown.iter().map(|service| service_name(service)).collect();
    let heading: Vec<&str> = ["NODES", "EMPTY"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let cells: Vec<Vec<Cell>> = matrix
        .rows
        .iter()
        .take(rows)
        .map(|row| {
            let empty = Cell::styled(row.empty.to_string(), if row.empty > 0 { RED } else { DIM });
            let of_services = (0..shown.len()).map(|place| cell(matrix.cell(row, place)));
            [nodes_text(row, wide).into(), empty].into_iter().chain(of_services).collect()
        })
        .collect();
    if !cells.is_empty() && !shown.is_empty() {
        let width = out.width();
        write_rows(out, &heading, cells.iter().map(Vec::as_slice), 0, width)?;
    }
    let more_rows = matrix.rows.len().saturating_sub(rows);
    let more_columns = matrix.services.len() - shown.len();
    let more = [(more_rows, "group of nodes", "groups of nodes"), (more_columns, "Service", "Services")];
    for (more, one, many) in more.into_iter().filter(|(more, ..)| *more > 0) {
        writeln!(out, "{DIM}and {more} more {}: -o wide shows all{DIM:#}", if more == 1 { one } else { many })?;
    }
    writeln!(out)?;
    let report = FindingsReport::of_input(&run.input.findings(), wide);
    if wide { report } else { report.shortened() }.print(out)?;
    if let Some(row) = matrix.rows.first() {
        writeln!(out, "{DIM}For the endpoints of one node, use --node {}{DIM:#}", row.nodes[0].name)?;
    }
    Ok(matrix.empty() > 0)
}

pub(super) fn service_name(service: &Service) -> String {
    format!("{}/{}", service.meta.namespace, service.meta.name)
}

/// The first names of a group of nodes, and how many there are.
pub(super) fn nodes_text(row: &MatrixRow<'_>, all: bool) -> String {
    let named = if all { row.nodes.len() } else { NAMED };
    let names: Vec<&str> = row.nodes.iter().take(named).map(|node| node.name.as_str()).collect();
    match row.nodes.len().saturating_sub(named) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn cell(uses: Option<ServiceUse>) -> Cell {
    let Some(uses) = uses else { return Cell::styled("-", DIM) };
    let style = match uses.used {
        0 => RED,
        used if used < uses.of => YELLOW,
        _ => GREEN,
    };
    Cell::styled(cell_text(uses), style)
}

/// The number of endpoints; where there is none, what becomes of connections.
pub(super) fn cell_text(uses: ServiceUse) -> String {
    match uses.internal {
        Verdict::Forwarded => uses.used.to_string(),
        verdict => format!("{} {}", uses.used, verdict.as_str()),
    }
}

impl MatrixRun<'_> {
    /// How many nodes and Services there are, and how many of the pairs have no endpoint.
    pub(super) fn account(&self) -> String {
        let nodes: usize = self.matrix.rows.iter().map(|row| row.nodes.len()).sum();
        let services = self.matrix.services.len();
        let groups = match self.matrix.rows.len() {
            rows if rows == nodes => String::new(),
            rows => format!(" in {}", counted(rows, "group")),
        };
        let empty = match self.matrix.empty() {
            0 => "every node has an endpoint of every Service".to_owned(),
            1 => "1 pair of a node and a Service without an endpoint".to_owned(),
            n => format!("{n} pairs of a node and a Service without an endpoint"),
        };
        let others = match self.matrix.not_proxied {
            0 => String::new(),
            n => format!(" ({n} more not served by kube-proxy)"),
        };
        format!("{}{groups}, {}{others}: {empty}", counted(nodes, "node"), counted(services, "Service"))
    }
}
