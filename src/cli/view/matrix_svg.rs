//! `roster view --all-nodes -o svg`: the matrix as one self-contained picture, which a screen reader can read.

use std::io::{self, Write};

use roster_engine::{
    picture::{PictureState, begin_svg, svg_class, svg_legend, svg_mark},
    shown_text::{printable, xml_escaped},
    text_columns::{columns as columns_of, shortened},
    view::ServiceUse,
};

use super::{
    MatrixRun,
    matrix_table::{NAMED, cell_text, group_text, service_name},
};

/// Most rows and columns that are drawn: a larger picture cannot be read, and the description says what is left out.
const ROWS: usize = 200;
const COLUMNS: usize = 100;
/// The size of a cell.
const CELL: (i32, i32) = (112, 24);
/// The width of a letter, and its height if the text is turned by 45 degrees, in hundredths of a pixel.
const LETTER: i32 = 745;
const TURNED_LETTER: i32 = 530;
/// Space for the title, and around the picture.
const TITLE: i32 = 40;
const MARGIN: i32 = 12;
/// The longest names that fit, in columns of their fonts.
const NAME: usize = 44;
const COLUMN_NAME: usize = 28;

/// What the cells mean.
const LEGEND: [(PictureState, &str); 4] = [
    (PictureState::Served, "uses all endpoints"),
    (PictureState::PartlyServed, "uses some endpoints"),
    (PictureState::Broken, "uses none: connections fail"),
    (PictureState::Unknown, "kube-proxy does not serve it"),
];

/// Writes the picture. Returns whether a cell is empty.
pub(super) fn write(run: &MatrixRun<'_>, out: &mut dyn Write) -> io::Result<bool> {
    let matrix = &run.matrix;
    let (rows, columns) = (matrix.rows.len().min(ROWS), matrix.services().len().min(COLUMNS));
    // Both are bounded.
    let [row_count, column_count] = [rows, columns].map(|count| i32::try_from(count).unwrap_or_default());
    let longest = |names: &mut dyn Iterator<Item = String>, most: usize, letter: i32| {
        let longest = names.map(|name| columns_of(&printable(&name)).min(most)).max().unwrap_or_default();
        i32::try_from(longest).unwrap_or_default() * letter / 100 + 20
    };
    let mut nodes = matrix.rows.iter().take(rows).map(|row| group_text(&row.nodes, NAMED));
    let row_names = longest(&mut nodes, NAME, LETTER);
    let column_names = longest(&mut matrix.services().take(columns).map(service_name), COLUMN_NAME, TURNED_LETTER);
    let title_room = i32::try_from(columns_of(&run.account())).unwrap_or_default().saturating_mul(LETTER) / 80;
    let width = 2 * MARGIN + (row_names + column_count * CELL.0 + column_names).max(title_room);
    let top = MARGIN + TITLE + column_names;
    let (legend, legend_height) = svg_legend(&LEGEND, (MARGIN, top + row_count * CELL.1 + 20), width - 2 * MARGIN);
    let height = top + row_count * CELL.1 + 20 + legend_height + MARGIN;
    let mut text = String::new();
    let title = "Endpoints that each node uses of each Service";
    begin_svg(&mut text, (width, height), title, &description(run, rows, columns), false);
    writeln!(
        out,
        "{text}<text class=\"title\" x=\"{MARGIN}\" y=\"{}\">{}</text>",
        MARGIN + 16,
        xml_escaped(&run.account())
    )?;
    let (mut x, y) = (MARGIN + row_names, top - 8);
    for service in matrix.services().take(columns) {
        let (name, middle) = (service_name(service), x + CELL.0 / 2);
        writeln!(
            out,
            "<text class=\"label\" x=\"{middle}\" y=\"{y}\" transform=\"rotate(-45 {middle} {y})\">{}<title>{}</title></text>",
            xml_escaped(&shortened(&printable(&name), COLUMN_NAME)),
            xml_escaped(&name)
        )?;
        x += CELL.0;
    }
    let mut y = top;
    for row in matrix.rows.iter().take(rows) {
        let nodes = group_text(&row.nodes, NAMED);
        writeln!(
            out,
            "<g>\n<text class=\"label\" x=\"{MARGIN}\" y=\"{}\">{}<title>{}</title></text>",
            y + 16,
            xml_escaped(&shortened(&printable(&nodes), NAME)),
            xml_escaped(&nodes)
        )?;
        let mut x = MARGIN + row_names;
        for (place, service) in matrix.services().take(columns).enumerate() {
            let uses = matrix.cell(row, place).uses;
            let about = format!("{}, {}: {}", nodes, service_name(service), spoken(uses));
            cell(out, (x, y), uses, &about)?;
            x += CELL.0;
        }
        writeln!(out, "</g>")?;
        y += CELL.1;
    }
    writeln!(out, "{legend}</svg>")?;
    Ok(matrix.empty() > 0)
}

/// Draws a cell. `about` is what a screen reader says, and a pointer shows.
fn cell(out: &mut dyn Write, (x, y): (i32, i32), uses: Option<ServiceUse>, about: &str) -> io::Result<()> {
    let state = match uses {
        None => PictureState::Unknown,
        Some(uses) if uses.is_empty() => PictureState::Broken,
        Some(uses) if uses.used < uses.of => PictureState::PartlyServed,
        Some(_) => PictureState::Served,
    };
    let text = uses.map_or_else(|| "-".to_owned(), cell_text);
    writeln!(
        out,
        "<g class=\"{}\">\n<title>{}</title>\n<rect class=\"box\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n\
         {}<text class=\"label\" x=\"{}\" y=\"{}\">{}</text>\n</g>",
        svg_class(state),
        xml_escaped(about),
        x + 2,
        y + 2,
        CELL.0 - 4,
        CELL.1 - 4,
        svg_mark(state, (x + 6, y + 5)),
        x + 26,
        y + 16,
        xml_escaped(&text)
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
