//! Every node and every Service: how many endpoints a node uses, and which nodes use the same ones.

use std::{cmp::Reverse, collections::BTreeMap, hash::BuildHasher};

use super::{
    node_groups::NodeGroups,
    node_groups::ServiceClasses,
    service_view::{ServiceUse, ServiceView},
    view_changes::{PortUse, PortUses},
    view_work::{TooManyViews, ViewWork},
    viewed_cluster::ViewedCluster,
};
use crate::model::{HashSeed, Node, Service};

/// How each node serves each Service: a row for all nodes that use the same endpoints, a column for each Service; rows and
/// columns with empty cells first.
#[derive(Debug)]
pub struct NodeMatrix<'a> {
    /// The rows.
    pub rows: Vec<MatrixRow<'a>>,
    /// How many Services kube-proxy does not serve: they have no column.
    pub not_proxied: usize,
    columns: Vec<Column<'a>>,
}

/// How nodes serve a Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatrixCell {
    /// The numbers of the worst port; `None` if kube-proxy of these nodes does not see the Service.
    pub uses: Option<ServiceUse>,
    /// The number of what the nodes use: it is the same in two cells of a Service if the endpoints of all its ports are.
    pub same: usize,
}

/// Nodes that use the same endpoints of all Services.
#[derive(Debug)]
pub struct MatrixRow<'a> {
    /// The nodes, by name.
    pub nodes: Vec<&'a Node>,
    /// How many Services have no endpoint for these nodes.
    pub empty: usize,
    group: usize,
    exceptions: Exceptions,
}

/// The cells of a node that differ from those of its group, or of a group that differ from those of most groups: places of
/// columns, in order, and of their uses.
type Exceptions = Vec<(usize, usize)>;

/// A Service, and how all nodes serve it.
#[derive(Debug)]
struct Column<'a> {
    service: &'a Service,
    /// How many nodes have no endpoint.
    empty: usize,
    /// The different cells, each once.
    cells: Vec<MatrixCell>,
    /// The place of the cell of most groups of nodes.
    of_others: usize,
    /// For groups with another cell, its place.
    of_groups: BTreeMap<usize, usize>,
    /// For nodes whose cell differs from that of their group, its place.
    exceptions: BTreeMap<usize, usize>,
}

impl<'a> NodeMatrix<'a> {
    /// Views all Services from all nodes, if that is not too much work.
    pub fn of(cluster: &ViewedCluster<'a>) -> Result<Self, TooManyViews> {
        let mut work = ViewWork::new();
        let reads = cluster.reads();
        let groups = NodeGroups::of(cluster.nodes, &reads);
        let mut columns: Vec<Column<'a>> = Vec::new();
        for (of, reads) in cluster.services.iter().zip(&reads) {
            let classes = groups.classes(reads);
            let views = cluster.of_all_nodes(of);
            work.take(of.service, classes.told_apart())?;
            let mut cells: Vec<MatrixCell> = Vec::with_capacity(classes.examples.len());
            let mut known = BTreeMap::new();
            for node in classes.examples.iter().map(|place| groups.nodes[*place]) {
                work.take(of.service, views.looks(node))?;
                cells.push(views.view(node, |view| MatrixCell::of(view, &mut known)));
            }
            // Where there is no node, nobody has asked.
            if groups.nodes.is_empty() || cells.iter().any(|cell| cell.uses.is_some()) {
                columns.push(Column::of(of.service, &classes, &cells, &groups));
            }
        }
        // Stable: Services stay in order of namespace and name.
        columns.sort_by_key(|column| Reverse(column.empty));
        let not_proxied = cluster.services.len() - columns.len();
        Ok(Self { rows: rows(&groups, &columns), not_proxied, columns })
    }

    /// The Services that kube-proxy serves.
    pub fn services(&self) -> impl ExactSizeIterator<Item = &'a Service> {
        self.columns.iter().map(|column| column.service)
    }

    /// The cell of a row and the Service at a place.
    pub fn cell(&self, row: &MatrixRow<'_>, place: usize) -> MatrixCell {
        let column = &self.columns[place];
        let exception = row.exceptions.binary_search_by_key(&place, |(column, _)| *column);
        column.cells[exception.map_or_else(|_| column.of_group(row.group), |found| row.exceptions[found].1)]
    }

    /// The cells of a row.
    pub fn cells(&self, row: &MatrixRow<'_>) -> impl Iterator<Item = MatrixCell> {
        (0..self.columns.len()).map(|place| self.cell(row, place))
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.rows.iter().map(|row| row.nodes.len()).sum()
    }

    /// How many pairs of a node and a Service have no endpoint.
    pub fn empty(&self) -> usize {
        self.columns.iter().map(|column| column.empty).sum()
    }
}

impl MatrixCell {
    /// The cell of a view; `known` has a number for each of the uses of other views of the Service.
    fn of(view: &ServiceView<'_>, known: &mut BTreeMap<PortUses, usize>) -> Self {
        let next = known.len();
        Self { uses: view.worst_use(), same: *known.entry(PortUse::of_view(view)).or_insert(next) }
    }

    /// Whether the Service has no endpoint for the nodes.
    fn is_empty(self) -> bool {
        self.uses.is_some_and(ServiceUse::is_empty)
    }
}

impl<'a> Column<'a> {
    /// `of_classes` has the cell of each class.
    fn of(service: &'a Service, classes: &ServiceClasses, of_classes: &[MatrixCell], groups: &NodeGroups<'_>) -> Self {
        let mut cells = of_classes.to_vec();
        // A group that consists of exceptions does not get a cell.
        cells.push(MatrixCell::default());
        cells.sort_unstable();
        cells.dedup();
        let (of_groups, exceptions) = (BTreeMap::new(), BTreeMap::new());
        let mut column = Self { service, empty: 0, cells, of_others: 0, of_groups, exceptions };
        let of_class = |column: &Self, class: Option<usize>| {
            column.place(class.map_or_else(MatrixCell::default, |class| of_classes[class]))
        };
        column.of_others = of_class(&column, classes.of_others);
        let of_groups = classes.of_groups.iter().map(|(group, class)| (*group, of_class(&column, *class)));
        column.of_groups = of_groups.filter(|(_, cell)| *cell != column.of_others).collect();
        let mut exceptional: BTreeMap<usize, usize> = BTreeMap::new();
        for (node, class) in &classes.exceptions {
            let (group, cell) = (groups.group_of[*node], column.place(of_classes[*class]));
            *exceptional.entry(group).or_default() += 1;
            column.empty += usize::from(column.cells[cell].is_empty());
            if column.of_group(group) != cell {
                column.exceptions.insert(*node, cell);
            }
        }
        let plain_nodes = |group: &usize| groups.members[*group].len() - exceptional.get(group).copied().unwrap_or(0);
        let of_empty_groups = column.of_groups.keys().filter(|group| column.is_empty_for(**group));
        let in_groups: usize = column.of_groups.keys().map(plain_nodes).sum();
        let others = groups.nodes.len() - classes.exceptions.len() - in_groups;
        column.empty += of_empty_groups.map(plain_nodes).sum::<usize>();
        column.empty += if column.cells[column.of_others].is_empty() { others } else { 0 };
        column
    }

    /// The place of a cell.
    fn place(&self, cell: MatrixCell) -> usize {
        self.cells.binary_search(&cell).unwrap_or_default()
    }

    /// The place of the cell of a group.
    fn of_group(&self, group: usize) -> usize {
        self.of_groups.get(&group).copied().unwrap_or(self.of_others)
    }

    fn is_empty_for(&self, group: usize) -> bool {
        self.cells[self.of_group(group)].is_empty()
    }
}

/// Nodes with equal cells, those with the most empty cells first.
fn rows<'a>(groups: &NodeGroups<'a>, columns: &[Column<'a>]) -> Vec<MatrixRow<'a>> {
    let mut of_nodes: Vec<Exceptions> = groups.nodes.iter().map(|_| Exceptions::new()).collect();
    for (place, column) in columns.iter().enumerate() {
        column.exceptions.iter().for_each(|(node, cell)| of_nodes[*node].push((place, *cell)));
    }
    let mut of_groups: Vec<Exceptions> = groups.members.iter().map(|_| Exceptions::new()).collect();
    for (place, column) in columns.iter().enumerate() {
        column.of_groups.iter().for_each(|(group, cell)| of_groups[*group].push((place, *cell)));
    }
    let seeds = [HashSeed::default(), HashSeed::default()];
    let default =
        RowSum { empty: columns.iter().filter(|column| column.cells[column.of_others].is_empty()).count(), cells: 0 };
    let of_groups: Vec<RowSum> =
        of_groups.iter().map(|cells| default.with(columns, cells, |place| columns[place].of_others, &seeds)).collect();
    let sums: Vec<RowSum> = of_nodes
        .iter()
        .zip(&groups.group_of)
        .map(|(cells, group)| of_groups[*group].with(columns, cells, |place| columns[place].of_group(*group), &seeds))
        .collect();
    let mut places: Vec<usize> = (0..groups.nodes.len()).collect();
    places.sort_unstable_by_key(|place| (sums[*place].cells, *place));
    let row = |places: &[usize]| MatrixRow {
        nodes: places.iter().map(|place| groups.nodes[*place]).collect(),
        empty: sums[places[0]].empty,
        group: groups.group_of[places[0]],
        exceptions: of_nodes[places[0]].clone(),
    };
    let of_rows = places.chunk_by(|a, b| sums[*a].cells == sums[*b].cells);
    let mut rows: Vec<MatrixRow<'a>> = of_rows.map(row).collect();
    rows.sort_by(|a, b| (Reverse(a.empty), &a.nodes[0].name).cmp(&(Reverse(b.empty), &b.nodes[0].name)));
    rows
}

/// All cells of a node in two numbers: to compare them one by one would take time for each node and Service.
#[derive(Clone, Copy)]
struct RowSum {
    empty: usize,
    /// The sum of a hash for each cell, which differs from those of most groups.
    cells: u128,
}

impl RowSum {
    /// The sum with other cells at some places; `before` gives those that were there.
    fn with(
        self,
        columns: &[Column<'_>],
        cells: &Exceptions,
        before: impl Fn(usize) -> usize,
        seeds: &[HashSeed; 2],
    ) -> Self {
        let hash = |cell: (usize, usize)| {
            let [high, low] = [&seeds[0], &seeds[1]].map(|seed| u128::from(seed.hash_one(cell)));
            high << 64 | low
        };
        let is_empty = |(place, cell): (usize, usize)| usize::from(columns[place].cells[cell].is_empty());
        cells.iter().fold(self, |sum, new| {
            let old = (new.0, before(new.0));
            Self {
                empty: sum.empty + is_empty(*new) - is_empty(old),
                cells: sum.cells.wrapping_add(hash(*new)).wrapping_sub(hash(old)),
            }
        })
    }
}
