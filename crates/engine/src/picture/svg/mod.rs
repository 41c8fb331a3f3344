//! A picture as a drawing: boxes in columns, lines between them, a head and a legend.

mod drawn_box;
mod drawn_line;
mod head;
mod layout;
mod legend;
mod mark;
mod stack;
mod zone_blocks;

use std::fmt::Write as _;

use self::{
    drawn_box::{BoxKind, DrawnBox, Face, shown},
    drawn_line::DrawnLine,
    head::Head,
    layout::Layout,
};
pub use self::{legend::legend, mark::mark};
use super::graph::{EdgeKind, NodeKind, Picture, PictureState};
use crate::shown_text::xml_escaped;

/// The style sheet of drawings, for pages that hold them. All of its rules are about the class `roster-picture`.
pub const SHEET: &str = include_str!("sheet.css");

/// The space around a drawing.
const MARGIN: i32 = 16;
/// The height of the captions of columns.
const CAPTION: i32 = 20;
/// The least width: the head and the legend need room.
const LEAST_WIDTH: i32 = 620;

/// How a drawing is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SvgOptions {
    /// Whether a page holds the drawing: it has no style sheet then, and the page has [`SHEET`].
    pub embedded: bool,
}

impl Picture {
    /// The drawing: one `svg` element, which a screen reader can read. It has no script, and refers to nothing outside of it.
    pub fn svg(&self, options: &SvgOptions) -> String {
        let layout = Layout::of(self);
        let width = layout.width.max(LEAST_WIDTH);
        let head = Head::of(self, width);
        let top = MARGIN + head.height + CAPTION;
        let (legend, legend_height) = legend::of(self, (MARGIN, top + layout.height + 24), width);
        let height = top + layout.height + 24 + legend_height + MARGIN;
        let mut out = String::new();
        begin(&mut out, (width + 2 * MARGIN, height), &self.name(), &self.description(), options.embedded);
        head.write(&mut out);
        let _ = writeln!(out, "<g transform=\"translate({MARGIN} {top})\">");
        for (text, x) in &layout.captions {
            write_text(&mut out, Face::Detail, (*x, -8), text);
        }
        let (zones, boxes): (Vec<&DrawnBox>, Vec<&DrawnBox>) =
            layout.boxes.iter().partition(|of| of.kind == BoxKind::Node(NodeKind::Zone));
        for zone in zones {
            write_box(&mut out, zone);
        }
        for line in &layout.lines {
            write_line(&mut out, line);
        }
        for of in boxes {
            write_box(&mut out, of);
        }
        out.push_str("</g>\n");
        out.push_str(&legend);
        out.push_str("</svg>\n");
        out
    }

    /// The Service, and how much of it is served.
    pub fn name(&self) -> String {
        match &self.service {
            Some(key) => format!("{}/{}: {}", key.namespace, key.name, self.title),
            None => self.title.clone(),
        }
    }

    /// The picture in sentences.
    fn description(&self) -> String {
        let reasons: Vec<String> = self.reasons.iter().map(super::PictureReason::text).collect();
        let of = "From left to right: routes, the Service, its ports, its slices, pods, and their nodes.";
        [&[of.to_owned()], reasons.as_slice()].concat().join(" ")
    }
}

/// Begins a drawing of this size.
pub fn begin(out: &mut String, (width, height): (i32, i32), title: &str, description: &str, embedded: bool) {
    let (title, description) = (xml_escaped(title), xml_escaped(description));
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"roster-picture\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n<desc>{description}</desc>"
    );
    if !embedded {
        let _ = writeln!(out, "<style>\n{SHEET}</style>");
    }
    let _ = writeln!(out, "<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>");
}

/// Writes a text that fits in `room`, or the beginning of it.
fn write_text(out: &mut String, face: Face, (x, y): (i32, i32), text: &str) {
    // Signs that are not in the font may be wider than two columns: those texts are set to their width.
    let is_plain = text.chars().all(|c| c.is_ascii() || "·…→×".contains(c));
    let length = if is_plain {
        String::new()
    } else {
        format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", face.room(text))
    };
    let _ = writeln!(out, "<text class=\"{}\" x=\"{x}\" y=\"{y}\"{length}>{}</text>", face.class(), xml_escaped(text));
}

/// The class of a state in [`SHEET`].
pub fn state_class(state: PictureState) -> &'static str {
    match state {
        PictureState::Plain => "plain",
        PictureState::Served => "served",
        PictureState::Unknown => "unknown",
        PictureState::PartlyServed => "partly-served",
        PictureState::NotServed => "not-served",
        PictureState::Broken => "broken",
    }
}

fn kind_class(kind: BoxKind) -> &'static str {
    match kind {
        BoxKind::Node(NodeKind::Route) => "route",
        BoxKind::Node(NodeKind::Service) => "service",
        BoxKind::Node(NodeKind::Port) => "port",
        BoxKind::Node(NodeKind::Endpoints) => "endpoints",
        BoxKind::Node(NodeKind::Slice) => "slice",
        BoxKind::Node(NodeKind::Pod) => "pod",
        BoxKind::Node(NodeKind::Address) => "address",
        BoxKind::Node(NodeKind::NearMiss) => "near-miss",
        BoxKind::Node(NodeKind::Node) => "node",
        BoxKind::Node(NodeKind::Zone) => "zone",
        BoxKind::Label | BoxKind::Passage => "on-edge",
    }
}

fn write_box(out: &mut String, of: &DrawnBox) {
    if of.kind == BoxKind::Passage {
        return;
    }
    let DrawnBox { x, y, width, height, .. } = of;
    let id = if of.id.is_empty() { String::new() } else { format!(" data-id=\"{}\"", xml_escaped(&of.id)) };
    let _ = writeln!(
        out,
        "<g class=\"{} {}\"{id}>\n<title>{}</title>\n\
         <rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"5\"/>",
        state_class(of.state),
        kind_class(of.kind),
        xml_escaped(&of.title)
    );
    if of.has_mark {
        out.push_str(&mark(of.state, (x + 9, y + 7)));
    }
    for line in &of.lines {
        write_text(out, line.face, (of.text_x(), y + line.base), &line.text);
    }
    out.push_str("</g>\n");
}

fn write_line(out: &mut String, line: &DrawnLine) {
    let kind = match line.kind {
        EdgeKind::Traffic => "traffic",
        EdgeKind::LeftOut => "left-out",
        EdgeKind::Mirrors => "mirrors",
        EdgeKind::RunsOn => "runs-on",
        EdgeKind::Hint => "hint",
    };
    // A line without state has none of its looks.
    let state = if matches!(line.kind, EdgeKind::Hint | EdgeKind::RunsOn) { "plain" } else { state_class(line.state) };
    let _ = writeln!(
        out,
        "<g class=\"{state} {kind}\">\n<title>{}</title>\n<path class=\"wire\" d=\"{}\"/>",
        xml_escaped(&line.title),
        curve(&line.points)
    );
    if let ([.., before, last], true) = (line.points.as_slice(), line.has_arrow) {
        out.push_str(&tip(*last, last.0 >= before.0));
    }
    if line.has_arrow
        && line.state == PictureState::Broken
        && let Some(((x1, y1), (x2, y2))) = line.points.first().copied().zip(line.points.get(1).copied())
    {
        out.push_str(&mark(PictureState::Broken, (i32::midpoint(x1, x2) - 7, i32::midpoint(y1, y2) - 7)));
    }
    out.push_str("</g>\n");
}

/// A curve through points that begins and ends level.
fn curve(points: &[(i32, i32)]) -> String {
    let mut before: Option<(i32, i32)> = None;
    let step = |&(x, y): &(i32, i32)| match before.replace((x, y)) {
        None => format!("M{x} {y}"),
        Some((_, y0)) if y0 == y => format!("H{x}"),
        Some((x0, y0)) => {
            let middle = i32::midpoint(x0, x);
            format!("C{middle} {y0} {middle} {y} {x} {y}")
        }
    };
    points.iter().map(step).collect()
}

/// The tip of an arrow to the right or to the left.
fn tip((x, y): (i32, i32), is_to_right: bool) -> String {
    let back = if is_to_right { x - 8 } else { x + 8 };
    format!("<path class=\"tip\" d=\"M{x} {y}L{back} {}V{}Z\"/>\n", y - 4, y + 4)
}
