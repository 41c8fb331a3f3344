//! Every node and every Service: how many endpoints a node uses.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use super::{
    node_groups::NodeGroups,
    node_groups::ServiceClasses,
    service_view::{ServiceUse, ServiceView},
    view_work::{TooManyViews, ViewWork},
    viewed_cluster::ViewedCluster,
};
use crate::model::{HashSeed, Node, Service};

/// How each node serves each Service: a row for all nodes that do the same, a column for each Service; rows and columns
/// with empty cells first.
#[derive(Debug)]
pub struct NodeMatrix<'a> {
    /// The rows.
    pub rows: Vec<MatrixRow<'a>>,
    /// How many Services kube-proxy does not serve: they have no column.
    pub not_proxied: usize,
    columns: Vec<Column<'a>>,
}

/// Nodes that serve all Services alike.
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
    uses: Vec<Option<ServiceUse>>,
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
            let mut uses: Vec<Option<ServiceUse>> = Vec::with_capacity(classes.examples.len());
            for node in classes.examples.iter().map(|place| groups.nodes[*place]) {
                work.take(of.service, views.looks(node))?;
                uses.push(views.view(node, worst_use));
            }
            // Where there is no node, nobody has asked.
            if groups.nodes.is_empty() || uses.iter().any(Option::is_some) {
                columns.push(Column::of(of.service, &classes, &uses, &groups));
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

    /// The cell of a row and the Service at a place; `None` if kube-proxy of these nodes does not see the Service.
    pub fn cell(&self, row: &MatrixRow<'_>, place: usize) -> Option<ServiceUse> {
        let column = &self.columns[place];
        let exception = row.exceptions.binary_search_by_key(&place, |(column, _)| *column);
        column.uses[exception.map_or_else(|_| column.of_group(row.group), |found| row.exceptions[found].1)]
    }

    /// The cells of a row.
    pub fn cells(&self, row: &MatrixRow<'_>) -> impl Iterator<Item = Option<ServiceUse>> {
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

impl<'a> Column<'a> {
    /// `of_classes` has the cell of each class.
    fn of(
        service: &'a Service,
        classes: &ServiceClasses,
        of_classes: &[Option<ServiceUse>],
        groups: &NodeGroups<'_>,
    ) -> Self {
        let mut uses = of_classes.to_vec();
        // A group that consists of exceptions does not get a cell.
        uses.push(None);
        uses.sort_unstable();
        uses.dedup();
        let (of_groups, exceptions) = (BTreeMap::new(), BTreeMap::new());
        let mut column = Self { service, empty: 0, uses, of_others: 0, of_groups, exceptions };
        let of_class = |column: &Self, class: Option<usize>| column.place(class.and_then(|class| of_classes[class]));
        column.of_others = of_class(&column, classes.of_others);
        let of_groups = classes.of_groups.iter().map(|(group, class)| (*group, of_class(&column, *class)));
        column.of_groups = of_groups.filter(|(_, cell)| *cell != column.of_others).collect();
        let mut exceptional: BTreeMap<usize, usize> = BTreeMap::new();
        for (node, class) in &classes.exceptions {
            let (group, cell) = (groups.group_of[*node], column.place(of_classes[*class]));
            *exceptional.entry(group).or_default() += 1;
            column.empty += usize::from(is_empty(column.uses[cell]));
            if column.of_group(group) != cell {
                column.exceptions.insert(*node, cell);
            }
        }
        let plain_nodes = |group: &usize| groups.members[*group].len() - exceptional.get(group).copied().unwrap_or(0);
        let of_empty_groups = column.of_groups.keys().filter(|group| column.is_empty_for(**group));
        let in_groups: usize = column.of_groups.keys().map(plain_nodes).sum();
        let others = groups.nodes.len() - classes.exceptions.len() - in_groups;
        column.empty += of_empty_groups.map(plain_nodes).sum::<usize>();
        column.empty += if is_empty(column.uses[column.of_others]) { others } else { 0 };
        column
    }

    /// The place of a cell.
    fn place(&self, cell: Option<ServiceUse>) -> usize {
        self.uses.binary_search(&cell).unwrap_or_default()
    }

    /// The place of the cell of a group.
    fn of_group(&self, group: usize) -> usize {
        self.of_groups.get(&group).copied().unwrap_or(self.of_others)
    }

    fn is_empty_for(&self, group: usize) -> bool {
        is_empty(self.uses[self.of_group(group)])
    }
}

/// How a node serves the worst port, for any lifetime of the view.
fn worst_use(view: &ServiceView<'_>) -> Option<ServiceUse> {
    view.worst_use()
}

fn is_empty(uses: Option<ServiceUse>) -> bool {
    uses.is_some_and(|uses| uses.used == 0)
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
    let first = first_of_equal(&of_groups);
    let cells = |place: usize| (first[groups.group_of[place]], &of_nodes[place]);
    let mut places: Vec<usize> = (0..groups.nodes.len()).collect();
    places.sort_unstable_by_key(|place| (cells(*place), *place));
    let of_others = columns.iter().filter(|column| is_empty(column.uses[column.of_others])).count();
    let row = |places: &[usize]| {
        let (group, exceptions) = cells(places[0]);
        let differing = of_groups[group].iter().map(|(place, cell)| (*place, columns[*place].of_others, *cell));
        let of_node = exceptions.iter().map(|(place, cell)| (*place, columns[*place].of_group(group), *cell));
        let changes: Vec<(usize, usize, usize)> = differing.chain(of_node).collect();
        let is_empty_cell = |place: usize, cell: usize| is_empty(columns[place].uses[cell]);
        let before = changes.iter().filter(|(place, before, _)| is_empty_cell(*place, *before)).count();
        let after = changes.iter().filter(|(place, _, after)| is_empty_cell(*place, *after)).count();
        let empty = of_others + after - before;
        let nodes = places.iter().map(|place| groups.nodes[*place]).collect();
        MatrixRow { nodes, empty, group, exceptions: exceptions.clone() }
    };
    let of_rows = places.chunk_by(|a, b| cells(*a) == cells(*b));
    let mut rows: Vec<MatrixRow<'a>> = of_rows.map(row).collect();
    rows.sort_by(|a, b| (Reverse(a.empty), &a.nodes[0].name).cmp(&(Reverse(b.empty), &b.nodes[0].name)));
    rows
}

/// For each of these, the place of the first equal one.
fn first_of_equal(all: &[Exceptions]) -> Vec<usize> {
    let mut first: HashMap<&Exceptions, usize, HashSeed> = HashMap::default();
    all.iter().enumerate().map(|(place, of)| *first.entry(of).or_insert(place)).collect()
}
