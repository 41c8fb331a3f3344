//! `roster view --all-nodes` as a table: nodes and Services, empty cells first.

use std::{collections::BTreeMap, io::Write};

use roster_engine::{
    model::{Node, Service},
    phrase::counted,
    view::{ServiceUse, Verdict},
};

use super::MatrixRun;
use crate::cli::{
    findings_report::FindingsReport,
    output::{Output, OutputFormat},
    style::{BOLD, DIM, GREEN, RED, YELLOW},
    table::{Cell, write_rows},
};

/// Most Services that have a column.
const COLUMNS: usize = 8;
/// Most groups of nodes that have a row.
const ROWS: usize = 24;
/// Most nodes of a group that are named.
pub(super) const NAMED: usize = 3;

/// Prints the matrix. Returns whether a cell is empty.
pub(super) fn print(run: &MatrixRun<'_>, format: OutputFormat, out: &mut Output) -> anyhow::Result<bool> {
    let wide = format == OutputFormat::Wide;
    let matrix = &run.matrix;
    let (columns, rows) = if wide { (usize::MAX, usize::MAX) } else { (COLUMNS, ROWS) };
    let shown: Vec<&Service> = matrix.services().take(columns).collect();
    writeln!(out, "{BOLD}{}{BOLD:#}", run.account())?;
    let names: Vec<String> = shown.iter().map(|service| service_name(service)).collect();
    let heading: Vec<&str> = ["NODES", "EMPTY"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let lines = lines(run, shown.len(), rows);
    let cells: Vec<Vec<Cell>> = lines.iter().take(rows).map(|line| line.cells(wide)).collect();
    if !cells.is_empty() && !shown.is_empty() {
        let width = out.width();
        write_rows(out, &heading, cells.iter().map(Vec::as_slice), 0, width)?;
    }
    let more_rows = lines.len().saturating_sub(rows);
    let more_columns = matrix.services().len() - shown.len();
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

/// Nodes with equal cells, as far as they are shown.
struct MatrixLine<'a> {
    nodes: Vec<&'a Node>,
    /// The least and the most Services without an endpoint.
    empty: (usize, usize),
    cells: Vec<Option<ServiceUse>>,
}

/// The lines of the table: the rows of the matrix; if these are too many, nodes that agree in the shown columns.
fn lines<'a>(run: &'a MatrixRun<'_>, columns: usize, most: usize) -> Vec<MatrixLine<'a>> {
    let matrix = &run.matrix;
    let mut lines: Vec<MatrixLine<'a>> = Vec::new();
    let mut places: BTreeMap<Vec<Option<ServiceUse>>, usize> = BTreeMap::new();
    for row in &matrix.rows {
        let cells: Vec<Option<ServiceUse>> = matrix.cells(row).take(columns).collect();
        let known = if matrix.rows.len() > most { places.get(&cells) } else { None };
        if let Some(place) = known {
            let line = &mut lines[*place];
            line.nodes.extend(&row.nodes);
            line.empty = (line.empty.0.min(row.empty), line.empty.1.max(row.empty));
        } else {
            places.insert(cells.clone(), lines.len());
            lines.push(MatrixLine { nodes: row.nodes.clone(), empty: (row.empty, row.empty), cells });
        }
    }
    lines
}

impl MatrixLine<'_> {
    fn cells(&self, wide: bool) -> Vec<Cell> {
        let empty = match self.empty {
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        let empty = Cell::styled(empty, if self.empty.1 > 0 { RED } else { DIM });
        let nodes = group_text(&self.nodes, if wide { usize::MAX } else { NAMED });
        [nodes.into(), empty].into_iter().chain(self.cells.iter().map(|uses| cell(*uses))).collect()
    }
}

pub(super) fn service_name(service: &Service) -> String {
    format!("{}/{}", service.meta.namespace, service.meta.name)
}

/// The first names of a group of nodes, and how many there are.
pub(super) fn group_text(nodes: &[&Node], named: usize) -> String {
    let names: Vec<&str> = nodes.iter().take(named).map(|node| node.name.as_str()).collect();
    match nodes.len().saturating_sub(named) {
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
        let nodes = self.matrix.nodes();
        let services = self.matrix.services().len();
        let groups = match self.matrix.rows.len() {
            rows if rows == nodes => String::new(),
            rows => format!(" in {}", counted(rows, "group")),
        };
        let empty = match self.matrix.empty() {
            0 if nodes == 0 => "no node to look from".to_owned(),
            0 if services == 0 => "no Service that kube-proxy serves".to_owned(),
            0 => "every node has an endpoint of every Service".to_owned(),
            1 => "1 node has no endpoint of a Service".to_owned(),
            n => format!("{n} pairs of a node and a Service without an endpoint"),
        };
        let others = match self.matrix.not_proxied {
            0 => String::new(),
            n => format!(" ({n} more not served by kube-proxy)"),
        };
        format!("{}{groups}, {}{others}: {empty}", counted(nodes, "node"), counted(services, "Service"))
    }
}
