//! `roster view --all-nodes -o svg`: the matrix as one self-contained picture, which a screen reader can read.

use std::io::{self, Write};

use roster_engine::view::ServiceUse;

use super::{
    MatrixRun,
    matrix_table::{NAMED, cell_text, group_text, service_name},
};
use crate::cli::xml_text::escaped;

/// Most rows and columns that are drawn: a larger picture cannot be read, and the description says what is left out.
const ROWS: usize = 200;
const COLUMNS: usize = 100;
/// The size of a cell, and of the space for names.
const CELL: (usize, usize) = (84, 24);
const ROW_NAMES: usize = 340;
const COLUMN_NAMES: usize = 170;
/// Space for the title, and around the picture.
const TITLE: usize = 40;
const MARGIN: usize = 12;
/// The longest name that fits.
const NAME: usize = 46;
const COLUMN_NAME: usize = 30;

/// The looks: text is dark on light ground, and the colour alone distinguishes no cell from another.
const STYLE: &str = "text{font:12px ui-monospace,monospace;fill:#1b1f24}.t{font-weight:bold;font-size:14px}\
                     rect{stroke:#fff}.e{fill:#ffb3ad}.p{fill:#ffe8a3}.f{fill:#b7e4c0}.n{fill:#e6e8eb}";

/// Writes the picture. Returns whether a cell is empty.
pub(super) fn write(run: &MatrixRun<'_>, out: &mut dyn Write) -> io::Result<bool> {
    let matrix = &run.matrix;
    let (rows, columns) = (matrix.rows.len().min(ROWS), matrix.services().len().min(COLUMNS));
    let width = 2 * MARGIN + ROW_NAMES + columns.max(2) * CELL.0 + COLUMN_NAMES / 2;
    let height = 2 * MARGIN + TITLE + COLUMN_NAMES + rows * CELL.1;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-labelledby=\"title desc\">"
    )?;
    writeln!(out, "<title id=\"title\">Endpoints that each node uses of each Service</title>")?;
    writeln!(out, "<desc id=\"desc\">{}</desc>", escaped(&description(run, rows, columns)))?;
    writeln!(out, "<style>{STYLE}</style>")?;
    writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>")?;
    writeln!(out, "<text class=\"t\" x=\"{MARGIN}\" y=\"{}\">{}</text>", MARGIN + 16, escaped(&run.account()))?;
    let top = MARGIN + TITLE + COLUMN_NAMES;
    for (place, service) in matrix.services().take(columns).enumerate() {
        let (x, y) = (MARGIN + ROW_NAMES + place * CELL.0 + CELL.0 / 2, top - 8);
        let name = service_name(service);
        writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" transform=\"rotate(-45 {x} {y})\">{}<title>{}</title></text>",
            escaped(&shortened(&name, COLUMN_NAME)),
            escaped(&name)
        )?;
    }
    for (line, row) in matrix.rows.iter().take(rows).enumerate() {
        let y = top + line * CELL.1;
        let nodes = group_text(&row.nodes, NAMED);
        writeln!(
            out,
            "<g><text x=\"{MARGIN}\" y=\"{}\">{}<title>{}</title></text>",
            y + 16,
            escaped(&shortened(&nodes, NAME)),
            escaped(&nodes)
        )?;
        for (place, service) in matrix.services().take(columns).enumerate() {
            let x = MARGIN + ROW_NAMES + place * CELL.0;
            let uses = matrix.cell(row, place).uses;
            let about = format!("{}, {}: {}", nodes, service_name(service), spoken(uses));
            cell(out, (x, y), uses, &about)?;
        }
        writeln!(out, "</g>")?;
    }
    writeln!(out, "</svg>")?;
    Ok(matrix.empty() > 0)
}

/// Draws a cell. `about` is what a screen reader says, and a pointer shows.
fn cell(out: &mut dyn Write, (x, y): (usize, usize), uses: Option<ServiceUse>, about: &str) -> io::Result<()> {
    let class = match uses {
        None => "n",
        Some(uses) if uses.used == 0 => "e",
        Some(uses) if uses.used < uses.of => "p",
        Some(_) => "f",
    };
    let text = uses.map_or_else(|| "-".to_owned(), cell_text);
    writeln!(
        out,
        "<g><title>{}</title><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\"/>\
         <text x=\"{}\" y=\"{}\">{}</text></g>",
        escaped(about),
        CELL.0,
        CELL.1,
        x + 6,
        y + 16,
        escaped(&text)
    )
}

/// The picture in a few sentences.
fn description(run: &MatrixRun<'_>, rows: usize, columns: usize) -> String {
    let matrix = &run.matrix;
    let mut text = format!(
        "{}. A row for all nodes that use the same endpoints, a column for each Service, those without an endpoint first; \
         a cell has the number of endpoints that these nodes use.",
        run.account()
    );
    let (more_rows, more_columns) = (matrix.rows.len() - rows, matrix.services().len() - columns);
    if more_rows + more_columns > 0 {
        let more = format!(" Not drawn: {more_rows} groups of nodes, {more_columns} Services.");
        text.push_str(&more);
    }
    text
}

fn spoken(uses: Option<ServiceUse>) -> String {
    match uses {
        None => "not served".to_owned(),
        Some(uses) => format!("{} of {} endpoints, {}", uses.used, uses.of, uses.internal.as_str()),
    }
}

/// A name that fits, with an ellipsis for the rest.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
