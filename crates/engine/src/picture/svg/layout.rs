//! Where the parts of a drawing are. All measures are whole pixels, so that a picture always gives the same bytes.

use std::collections::BTreeMap;

use super::{
    drawn_box::{BoxKind, DrawnBox},
    drawn_line::{DrawnLine, lines},
    stack::stack,
    zone_blocks::place_nodes,
};
use crate::picture::{EdgeKind, NodeKind, Picture, PictureEdge};

/// The space between two columns.
const BETWEEN: i32 = 56;

/// The columns of labels of edges, of pods, and of nodes.
const PORTS: usize = 2;
const LABELS: usize = 3;
const PODS: usize = 4;
const NODES: usize = 5;

/// What the columns have.
const CAPTIONS: [&str; NODES + 1] = ["ROUTES", "SERVICE", "PORTS", "SLICES", "PODS", "NODES"];

/// The boxes and lines of a drawing, without its head and its legend.
#[derive(Debug)]
pub(super) struct Layout {
    /// Those of zones first: they are behind the others.
    pub(super) boxes: Vec<DrawnBox>,
    pub(super) lines: Vec<DrawnLine>,
    /// What each column has, and where it begins.
    pub(super) captions: Vec<(&'static str, i32)>,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// A picture while it is laid out.
pub(super) struct Layouter<'p> {
    pub(super) picture: &'p Picture,
    places: BTreeMap<&'p str, usize>,
    /// A box for each node; then those of labels, and the passages.
    pub(super) boxes: Vec<DrawnBox>,
    /// The boxes of each column.
    columns: Vec<Vec<usize>>,
    /// The label of each edge that has one.
    pub(super) label_of: BTreeMap<usize, usize>,
    /// The passage through the column of ports to a box.
    pub(super) passages: BTreeMap<usize, usize>,
}

/// The column of each kind of node.
fn column_of(kind: NodeKind) -> usize {
    match kind {
        NodeKind::Route => 0,
        NodeKind::Service => 1,
        NodeKind::Port | NodeKind::Endpoints => PORTS,
        NodeKind::Slice => LABELS,
        NodeKind::Pod | NodeKind::Address | NodeKind::NearMiss => PODS,
        NodeKind::Node | NodeKind::Zone => NODES,
    }
}

impl Layout {
    pub(super) fn of(picture: &Picture) -> Self {
        let places = picture.nodes.iter().enumerate().map(|(place, node)| (node.id.as_str(), place)).collect();
        let mut layouter = Layouter {
            picture,
            places,
            boxes: Vec::new(),
            columns: vec![Vec::new(); NODES + 1],
            label_of: BTreeMap::new(),
            passages: BTreeMap::new(),
        };
        layouter.add_boxes();
        layouter.place_rows();
        let (captions, width) = layouter.place_columns();
        let lines = lines(&layouter);
        let height = layouter.boxes.iter().map(|of| of.y + of.height).max().unwrap_or_default();
        let mut boxes = layouter.boxes;
        boxes.sort_by_key(|of| of.kind != BoxKind::Node(NodeKind::Zone));
        Self { boxes, lines, captions, width, height }
    }
}

impl<'p> Layouter<'p> {
    /// The places of the ends of an edge.
    pub(super) fn ends(&self, edge: &PictureEdge) -> Option<(usize, usize)> {
        Some((*self.places.get(edge.from.as_str())?, *self.places.get(edge.to.as_str())?))
    }

    /// The edges, each with its number and its ends.
    pub(super) fn edges(&self) -> impl Iterator<Item = (usize, &'p PictureEdge, (usize, usize))> {
        let edges = self.picture.edges.iter().enumerate();
        edges.filter_map(|(number, edge)| Some((number, edge, self.ends(edge)?)))
    }

    fn add_boxes(&mut self) {
        let mut codes: Vec<Vec<&str>> = vec![Vec::new(); self.picture.nodes.len()];
        self.edges().for_each(|(_, edge, (_, to))| codes[to].extend(edge.code));
        for (place, node) in self.picture.nodes.iter().enumerate() {
            let is_labelled = node.reasons.first().is_some_and(|reason| codes[place].contains(&reason.code));
            self.boxes.push(DrawnBox::of_node(node, is_labelled));
            self.columns[column_of(node.kind)].push(place);
        }
        let mut labels: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
        let edges: Vec<_> = self.edges().collect();
        for (number, edge, (from, to)) in edges {
            let is_to_slice = || edge.kind == EdgeKind::Traffic && self.picture.nodes[to].kind == NodeKind::Slice;
            if edge.kind == EdgeKind::LeftOut {
                let label = *labels.entry((edge.code, &edge.label)).or_insert_with(|| {
                    self.boxes.push(DrawnBox::of_label(edge));
                    self.columns[LABELS].push(self.boxes.len() - 1);
                    self.boxes.len() - 1
                });
                self.label_of.insert(number, label);
                self.pass(from, label);
            } else if is_to_slice() {
                self.pass(from, to);
            }
        }
    }

    /// Makes room for a line from the Service to a box behind the ports, if there are any.
    fn pass(&mut self, from: usize, to: usize) {
        let is_service = self.picture.nodes[from].kind == NodeKind::Service;
        if is_service && !self.columns[PORTS].is_empty() && !self.passages.contains_key(&to) {
            self.boxes.push(DrawnBox::passage());
            self.columns[PORTS].push(self.boxes.len() - 1);
            self.passages.insert(to, self.boxes.len() - 1);
        }
    }

    /// Places the boxes of each column, beginning with the pods.
    fn place_rows(&mut self) {
        self.stack(PODS, &[]);
        let wanted = self.wanted(LABELS);
        let mut slices: Vec<(usize, Option<i32>)> = self.columns[LABELS].drain(..).zip(wanted).collect();
        // Stable; what leads nowhere stays at the end.
        slices.sort_by_key(|(_, wanted)| (wanted.is_none(), *wanted));
        self.columns[LABELS] = slices.into_iter().map(|(place, _)| place).collect();
        for column in [LABELS, PORTS, 1, 0] {
            let wanted = self.wanted(column);
            self.stack(column, &wanted);
        }
        place_nodes(self);
        let top = self.boxes.iter().map(|of| of.y).min().unwrap_or_default();
        self.boxes.iter_mut().for_each(|of| of.y -= top);
    }

    fn stack(&mut self, column: usize, wanted: &[Option<i32>]) {
        let heights: Vec<i32> = self.columns[column].iter().map(|place| self.boxes[*place].height).collect();
        for (place, top) in self.columns[column].iter().zip(stack(&heights, wanted)) {
            self.boxes[*place].y = top;
        }
    }

    /// Where the middle of each box of a column should be: that of what it leads to, which is placed.
    fn wanted(&self, column: usize) -> Vec<Option<i32>> {
        let mut middles: Vec<Vec<i32>> = vec![Vec::new(); self.boxes.len()];
        for (number, edge, (from, to)) in self.edges() {
            if matches!(edge.kind, EdgeKind::RunsOn | EdgeKind::Hint) {
                continue;
            }
            let next = self.label_of.get(&number).copied().unwrap_or(to);
            if next != to {
                middles[next].push(self.boxes[to].middle());
            }
            middles[from].push(self.boxes[next].middle());
            if let Some(passage) = self.passages.get(&next) {
                middles[*passage].push(self.boxes[next].middle());
            }
        }
        self.columns[column].iter().map(|place| average(&middles[*place])).collect()
    }

    /// Places the columns beside each other, without the empty ones. Returns their captions, and the width of all.
    fn place_columns(&mut self) -> (Vec<(&'static str, i32)>, i32) {
        let (mut captions, mut x) = (Vec::new(), 0);
        for (number, places) in self.columns.iter().enumerate() {
            let Some(width) = places.iter().map(|place| self.boxes[*place].width).max() else { continue };
            let is_zone = |of: &DrawnBox| of.kind == BoxKind::Node(NodeKind::Zone);
            let has_zones = places.iter().any(|place| is_zone(&self.boxes[*place]));
            let inset = if has_zones { super::zone_blocks::PADDING } else { 0 };
            for place in places {
                let of = &mut self.boxes[*place];
                (of.x, of.width) = if is_zone(of) { (x, width + 2 * inset) } else { (x + inset, width) };
            }
            debug_assert!(!has_zones || number == NODES, "zones are in the last column");
            captions.push((CAPTIONS[number], x));
            x += width + 2 * inset + BETWEEN;
        }
        (captions, (x - BETWEEN).max(0))
    }
}

/// The average of some numbers.
pub(super) fn average(all: &[i32]) -> Option<i32> {
    let count = i64::try_from(all.len()).ok().filter(|count| *count > 0)?;
    i32::try_from(all.iter().map(|n| i64::from(*n)).sum::<i64>() / count).ok()
}
