//! One box of a drawing: its lines of text, and how much room they take.

use crate::{
    picture::{NodeKind, PictureEdge, PictureNode, PictureReason, PictureState},
    shown_text::printable,
    text_columns::{columns, shortened, wrap_at_most},
};

/// The space around the text of a box, and that for the mark of its state.
const PADDING: i32 = 10;
const MARK: i32 = 20;
/// The height of a line of text, of a label and of details.
const LABEL_LINE: i32 = 17;
const DETAIL_LINE: i32 = 14;
/// The most lines of details, and of what a reason says.
const DETAIL_LINES: usize = 3;
const REASON_LINES: usize = 4;

/// A box.
#[derive(Clone, Debug)]
pub(super) struct DrawnBox {
    pub(super) kind: BoxKind,
    pub(super) state: PictureState,
    /// The id of its node.
    pub(super) id: String,
    /// All of its text.
    pub(super) title: String,
    pub(super) lines: Vec<BoxLine>,
    pub(super) has_mark: bool,
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// What a box is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoxKind {
    /// A node of the picture.
    Node(NodeKind),
    /// The label of edges.
    Label,
    /// Room for a line through a column: it is not drawn.
    Passage,
}

/// A line of text in a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoxLine {
    pub(super) face: Face,
    pub(super) text: String,
    /// From the top of the box to the base line.
    pub(super) base: i32,
}

/// How a text is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Face {
    /// The name of something.
    Label,
    /// More about it.
    Detail,
    /// The code of a reason.
    Code,
    /// The title of a drawing.
    Title,
}

impl Face {
    /// The width of a column in hundredths of a pixel: no common monospaced font is wider than 0.62 of its size.
    pub(super) fn column(self) -> i32 {
        match self {
            Self::Title => 930,
            Self::Label => 745,
            Self::Detail | Self::Code => 685,
        }
    }

    /// The class of the text.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Label => "label",
            Self::Detail => "detail",
            Self::Code => "code",
        }
    }

    /// How many columns have room in a width.
    pub(super) fn fitting(self, width: i32) -> usize {
        usize::try_from(width.saturating_mul(100) / self.column()).unwrap_or_default()
    }

    /// The room that a text takes.
    pub(super) fn room(self, text: &str) -> i32 {
        i32::try_from(columns(text)).unwrap_or(i32::MAX / 1000).saturating_mul(self.column()) / 100 + 1
    }
}

/// The most room for text in a box of each kind.
fn most_room(kind: BoxKind) -> i32 {
    match kind {
        BoxKind::Node(NodeKind::Pod | NodeKind::Address | NodeKind::NearMiss) => 250,
        BoxKind::Node(NodeKind::Slice | NodeKind::Endpoints) | BoxKind::Label => 220,
        BoxKind::Node(NodeKind::Route | NodeKind::Service) => 190,
        BoxKind::Node(NodeKind::Port | NodeKind::Node) => 160,
        BoxKind::Node(NodeKind::Zone) => 200,
        BoxKind::Passage => 0,
    }
}

/// What a kind of box is called above its name.
fn kind_text(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Service => "Service ",
        NodeKind::Zone => "zone ",
        NodeKind::Port => "port ",
        NodeKind::Endpoints => "Endpoints ",
        NodeKind::Route | NodeKind::Slice | NodeKind::Pod | NodeKind::Address | NodeKind::NearMiss | NodeKind::Node => {
            ""
        }
    }
}

impl DrawnBox {
    /// The box of a node. `is_labelled`: the label of an edge says what its reason means.
    pub(super) fn of_node(node: &PictureNode, is_labelled: bool) -> Self {
        let kind = BoxKind::Node(node.kind);
        let room = most_room(kind);
        let mut lines = TextLines::default();
        lines.push(Face::Label, &shown(Face::Label, &format!("{}{}", kind_text(node.kind), node.label), room));
        // Each part begins a line.
        for part in node.detail.split("; ") {
            lines.wrap(Face::Detail, part, room, DETAIL_LINES);
        }
        if let Some(PictureReason { code, detail, .. }) = node.reasons.first() {
            lines.push(Face::Code, &shown(Face::Code, code, room));
            if !is_labelled {
                lines.wrap(Face::Detail, detail, room, REASON_LINES);
            }
        }
        let has_mark = node.state != PictureState::Plain && node.kind != NodeKind::Zone;
        let mut title = format!("{}{}", kind_text(node.kind), node.label);
        let reasons = node.reasons.iter().map(PictureReason::text);
        let state = node.state.as_str().to_owned();
        for part in [state, node.detail.clone()].into_iter().chain(reasons).filter(|part| !part.is_empty()) {
            title = format!("{title}; {part}");
        }
        lines.into_box(kind, node.state, node.id.clone(), title, has_mark)
    }

    /// The box of the label of an edge.
    pub(super) fn of_label(edge: &PictureEdge) -> Self {
        let room = most_room(BoxKind::Label);
        let mut lines = TextLines::default();
        let code = edge.code.unwrap_or_default();
        lines.push(Face::Code, &shown(Face::Code, code, room));
        lines.wrap(Face::Detail, &edge.label, room, REASON_LINES);
        let title = if edge.label.is_empty() { code.to_owned() } else { format!("{code}: {}", edge.label) };
        lines.into_box(BoxKind::Label, edge.state, String::new(), title, true)
    }

    /// Room for a line through a column.
    pub(super) fn passage() -> Self {
        let passage =
            TextLines::default().into_box(BoxKind::Passage, PictureState::Plain, String::new(), String::new(), false);
        Self { height: 16, width: 0, ..passage }
    }

    pub(super) fn middle(&self) -> i32 {
        self.y + self.height / 2
    }

    /// Where lines that come from the left end.
    pub(super) fn left(&self) -> (i32, i32) {
        (self.x, self.middle())
    }

    /// Where lines to the right begin.
    pub(super) fn right(&self) -> (i32, i32) {
        (self.x + self.width, self.middle())
    }

    /// Where its text begins.
    pub(super) fn text_x(&self) -> i32 {
        self.x + PADDING + if self.has_mark { MARK } else { 0 }
    }
}

/// A text that fits, as it may be shown.
pub(super) fn shown(face: Face, text: &str, room: i32) -> String {
    shortened(&printable(text), face.fitting(room)).into_owned()
}

/// The lines of a box under construction.
#[derive(Default)]
struct TextLines {
    lines: Vec<BoxLine>,
    height: i32,
    width: i32,
}

impl TextLines {
    fn push(&mut self, face: Face, text: &str) {
        let line = if face == Face::Label { LABEL_LINE } else { DETAIL_LINE };
        self.height += line;
        self.width = self.width.max(face.room(text));
        self.lines.push(BoxLine { face, text: text.to_owned(), base: self.height - 4 });
    }

    fn wrap(&mut self, face: Face, text: &str, room: i32, most: usize) {
        let text = printable(text);
        if !text.is_empty() {
            for part in wrap_at_most(&text, face.fitting(room), most) {
                self.push(face, &part);
            }
        }
    }

    fn into_box(self, kind: BoxKind, state: PictureState, id: String, title: String, has_mark: bool) -> DrawnBox {
        let Self { mut lines, height, width } = self;
        for line in &mut lines {
            line.base += PADDING / 2;
        }
        let width = width + 2 * PADDING + if has_mark { MARK } else { 0 };
        DrawnBox { kind, state, id, title, lines, has_mark, x: 0, y: 0, width, height: height + PADDING }
    }
}
