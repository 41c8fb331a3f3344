//! Every node and every Service: how many endpoints a node uses.

use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeMap,
};

use super::{
    node_groups::NodeGroups,
    node_groups::ServiceClasses,
    service_view::{ServiceUse, ServiceView},
    viewed_cluster::ViewedCluster,
};
use crate::model::{Node, Service};

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

/// The cells of a node that differ from those of its group: places of columns, in order, and of their uses.
type Exceptions = Vec<(usize, usize)>;

/// A Service, and how all nodes serve it.
#[derive(Debug)]
struct Column<'a> {
    service: &'a Service,
    /// How many nodes have no endpoint.
    empty: usize,
    /// The different cells, each once.
    uses: Vec<Option<ServiceUse>>,
    /// For each group of nodes, the place of its cell.
    of_groups: Vec<usize>,
    /// For nodes whose cell differs from that of their group, its place.
    exceptions: BTreeMap<usize, usize>,
}

impl<'a> NodeMatrix<'a> {
    /// Views all Services from all nodes.
    pub fn of(cluster: &ViewedCluster<'a>) -> Self {
        let reads = cluster.reads();
        let groups = NodeGroups::of(cluster.nodes, &reads);
        let mut columns: Vec<Column<'a>> = Vec::new();
        for (of, reads) in cluster.services.iter().zip(&reads) {
            let classes = groups.classes(reads);
            let of_class = |place: &usize| cluster.view_from(of, groups.nodes[*place], worst_use);
            let uses: Vec<Option<ServiceUse>> = classes.examples.iter().map(of_class).collect();
            if uses.iter().any(Option::is_some) {
                columns.push(Column::of(of.service, &classes, &uses, &groups));
            }
        }
        // Stable: Services stay in order of namespace and name.
        columns.sort_by_key(|column| Reverse(column.empty));
        let not_proxied = cluster.services.len() - columns.len();
        Self { rows: rows(&groups, &columns), not_proxied, columns }
    }

    /// The Services that kube-proxy serves.
    pub fn services(&self) -> impl ExactSizeIterator<Item = &'a Service> {
        self.columns.iter().map(|column| column.service)
    }

    /// The cell of a row and the Service at a place; `None` if kube-proxy of these nodes does not see the Service.
    pub fn cell(&self, row: &MatrixRow<'_>, place: usize) -> Option<ServiceUse> {
        let column = &self.columns[place];
        let exception = row.exceptions.binary_search_by_key(&place, |(column, _)| *column);
        column.uses[exception.map_or_else(|_| column.of_groups[row.group], |found| row.exceptions[found].1)]
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
        let place = |cell: Option<ServiceUse>| uses.binary_search(&cell).unwrap_or_default();
        let of_group = |class: &Option<usize>| place(class.and_then(|class| of_classes[class]));
        let of_groups: Vec<usize> = classes.of_group.iter().map(of_group).collect();
        let mut nodes: Vec<usize> = groups.members.iter().map(Vec::len).collect();
        let mut empty = 0;
        let mut exceptions = BTreeMap::new();
        for (node, class) in &classes.exceptions {
            let (group, cell) = (groups.group_of[*node], place(of_classes[*class]));
            nodes[group] -= 1;
            empty += usize::from(is_empty(uses[cell]));
            if of_groups[group] != cell {
                exceptions.insert(*node, cell);
            }
        }
        empty += of_groups.iter().zip(nodes).filter(|(cell, _)| is_empty(uses[**cell])).map(|(_, n)| n).sum::<usize>();
        Self { service, empty, uses, of_groups, exceptions }
    }

    fn is_empty_for(&self, group: usize) -> bool {
        is_empty(self.uses[self.of_groups[group]])
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
    let first = first_with_equal_cells(groups.members.len(), columns);
    let mut by_cells: BTreeMap<(usize, Exceptions), Vec<&'a Node>> = BTreeMap::new();
    for (place, exceptions) in of_nodes.into_iter().enumerate() {
        by_cells.entry((first[groups.group_of[place]], exceptions)).or_default().push(groups.nodes[place]);
    }
    let empty_of = |group: usize| columns.iter().filter(|column| column.is_empty_for(group)).count();
    let empty_of_groups: Vec<usize> = (0..groups.members.len()).map(empty_of).collect();
    let row = |((group, exceptions), nodes): ((usize, Exceptions), Vec<&'a Node>)| {
        let was_empty = exceptions.iter().filter(|(place, _)| columns[*place].is_empty_for(group)).count();
        let is_now = exceptions.iter().filter(|(place, cell)| is_empty(columns[*place].uses[*cell])).count();
        MatrixRow { nodes, empty: empty_of_groups[group] + is_now - was_empty, group, exceptions }
    };
    let mut rows: Vec<MatrixRow<'a>> = by_cells.into_iter().map(row).collect();
    rows.sort_by(|a, b| (Reverse(a.empty), &a.nodes[0].name).cmp(&(Reverse(b.empty), &b.nodes[0].name)));
    rows
}

/// For each group of nodes, the first one with equal cells.
fn first_with_equal_cells(groups: usize, columns: &[Column<'_>]) -> Vec<usize> {
    let compared = |a: usize, b: usize| {
        let differences = columns.iter().map(|column| column.of_groups[a].cmp(&column.of_groups[b]));
        differences.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut sorted: Vec<usize> = (0..groups).collect();
    // Stable: of equal groups, the first one stays first.
    sorted.sort_by(|a, b| compared(*a, *b));
    let mut first: Vec<usize> = (0..groups).collect();
    for pair in sorted.windows(2) {
        if compared(pair[0], pair[1]).is_eq() {
            first[pair[1]] = first[pair[0]];
        }
    }
    first
}
