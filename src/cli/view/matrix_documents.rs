//! The JSON and YAML of `roster view --all-nodes`.

use roster_engine::{model::Text, view::MatrixCell};
use roster_manifests::inventory::whole;
use serde::Serialize;

use super::{MatrixRun, matrix_table::service_name};
use crate::cli::output::{ItemWriter, Output, OutputFormat};

/// Nodes that use the same endpoints of all Services.
#[derive(Serialize)]
struct RowItem<'a> {
    nodes: Vec<&'a Text>,
    /// How many Services have no endpoint for these nodes.
    empty: usize,
    services: Vec<CellItem<'a>>,
}

#[derive(Serialize)]
struct CellItem<'a> {
    service: &'a str,
    /// How many endpoints these nodes use; null if the Service is hidden from them.
    used: Option<usize>,
    of: Option<usize>,
    internal: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MatrixSummary {
    nodes: usize,
    services: usize,
    not_proxied: usize,
    /// How many pairs of a node and a Service have no endpoint.
    empty: usize,
    scheme: &'static str,
}

/// Writes a document for each group of nodes. Returns whether a cell is empty.
pub(super) fn print(run: &MatrixRun<'_>, format: OutputFormat, out: &mut Output) -> anyhow::Result<bool> {
    let matrix = &run.matrix;
    let names: Vec<String> = matrix.services().map(service_name).collect();
    let mut items = ItemWriter::start(out, format)?;
    for row in &matrix.rows {
        let services = names.iter().zip(matrix.cells(row)).map(|(name, cell)| CellItem::of(name, cell)).collect();
        let nodes = row.nodes.iter().map(|node| &node.name).collect();
        items.write(&ItemWriter::item(format, &RowItem { nodes, empty: row.empty, services })?)?;
    }
    let summary = MatrixSummary {
        nodes: matrix.nodes(),
        services: names.len(),
        not_proxied: matrix.not_proxied,
        empty: matrix.empty(),
        scheme: run.scheme.as_str(),
    };
    items.end(&whole::last_line(&summary, &run.input.findings()))?;
    Ok(matrix.empty() > 0)
}

impl<'a> CellItem<'a> {
    fn of(service: &'a str, MatrixCell { uses, .. }: MatrixCell) -> Self {
        Self {
            service,
            used: uses.map(|uses| uses.used),
            of: uses.map(|uses| uses.of),
            internal: uses.map(|uses| uses.internal.as_str()),
        }
    }
}
