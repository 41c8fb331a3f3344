//! `roster view --all-nodes` as a table: nodes and Services, empty cells first.

use std::{collections::BTreeMap, io::Write};

use roster_engine::{
    model::{Node, Service},
    phrase::counted,
    view::{MatrixCell, ServiceUse, Verdict},
};

use super::MatrixRun;
use crate::cli::{
    findings_report::FindingsReport,
    output::{Output, OutputFormat},
    style::{BOLD, DIM, GREEN, RED, YELLOW},
    table::{Cell, columns_that_fit, write_rows},
};

/// Most Services that have a column.
const COLUMNS: usize = 8;
/// Most groups of nodes that have a row.
const ROWS: usize = 24;
/// Most cells of a table with all Services and groups of nodes, which are a product.
const CELLS: usize = 1 << 20;
/// Most nodes of a group that are named.
pub(super) const NAMED: usize = 3;

/// Prints the matrix. Returns whether a cell is empty.
pub(super) fn print(run: &MatrixRun<'_>, format: OutputFormat, out: &mut Output) -> anyhow::Result<bool> {
    let wide = format == OutputFormat::Wide;
    let matrix = &run.matrix;
    let width = out.width();
    let most = if wide { CELLS } else { COLUMNS };
    let names: Vec<String> = matrix.services().take(most).map(service_name).collect();
    let heading: Vec<&str> = ["NODES", "EMPTY"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let rows = if wide { CELLS / names.len().max(1) } else { ROWS };
    let cells = |services: usize| -> (Vec<Vec<Cell>>, usize) {
        let lines = lines(run, services, rows);
        (lines.iter().take(rows).map(|line| line.cells(wide)).collect(), lines.len())
    };
    let (mut table, mut lines) = cells(names.len());
    let mut shown = names.len();
    if !wide && !names.is_empty() {
        shown = columns_that_fit(&heading, &table, 3, width) - 2;
        (table, lines) = cells(shown);
    }
    writeln!(out, "{BOLD}{}{BOLD:#}", run.account())?;
    if !table.is_empty() && shown > 0 {
        write_rows(out, &heading[..shown + 2], table.iter().map(Vec::as_slice), 0, width)?;
    }
    let more_rows = lines.saturating_sub(rows);
    let more_columns = matrix.services().len() - shown;
    let more = [(more_rows, "group of nodes", "groups of nodes"), (more_columns, "Service", "Services")];
    for (more, one, many) in more.into_iter().filter(|(more, ..)| *more > 0) {
        let all = if wide { "json has" } else { "wide shows" };
        writeln!(out, "{DIM}and {more} more {}: -o {all} all{DIM:#}", if more == 1 { one } else { many })?;
    }
    writeln!(out)?;
    let report = FindingsReport::of_input(&run.input.findings(), wide);
    if wide { report } else { report.shortened() }.print(out)?;
    if let Some(row) = matrix.rows.first() {
        writeln!(out, "{DIM}For the endpoints of one node, use --node {}{DIM:#}", row.nodes[0].name)?;
    }
    Ok(matrix.empty() > 0)
}

/// Nodes with equal numbers, as far as they are shown.
struct MatrixLine<'a> {
    nodes: Vec<&'a Node>,
    /// The least and the most Services without an endpoint.
    empty: (usize, usize),
    cells: Vec<LineCell>,
}

/// How the nodes of a line serve a Service.
struct LineCell {
    cell: MatrixCell,
    /// Whether their endpoints are not the same.
    differs: bool,
}

/// The lines of the table: the rows of the matrix; if these are too many, nodes with the same numbers in the shown columns.
fn lines<'a>(run: &'a MatrixRun<'_>, columns: usize, most: usize) -> Vec<MatrixLine<'a>> {
    let matrix = &run.matrix;
    let mut lines: Vec<MatrixLine<'a>> = Vec::new();
    let mut places: BTreeMap<Vec<Option<ServiceUse>>, usize> = BTreeMap::new();
    for row in &matrix.rows {
        let cells = || matrix.cells(row).take(columns);
        let place = if matrix.rows.len() > most {
            *places.entry(cells().map(|cell| cell.uses).collect()).or_insert(lines.len())
        } else {
            lines.len()
        };
        if let Some(line) = lines.get_mut(place) {
            line.nodes.extend(&row.nodes);
            line.empty = (line.empty.0.min(row.empty), line.empty.1.max(row.empty));
            line.cells.iter_mut().zip(cells()).for_each(|(known, cell)| known.differs |= known.cell != cell);
        } else {
            let cells = cells().map(|cell| LineCell { cell, differs: false }).collect();
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
        [nodes.into(), empty].into_iter().chain(self.cells.iter().map(cell)).collect()
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

fn cell(LineCell { cell, differs }: &LineCell) -> Cell {
    let Some(uses) = cell.uses else { return Cell::styled("-", DIM) };
    let style = match uses.used {
        0 => RED,
        used if used < uses.of => YELLOW,
        _ => GREEN,
    };
    let each = if *differs { " each" } else { "" };
    Cell::styled(cell_text(uses) + each, style)
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
