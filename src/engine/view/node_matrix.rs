//! Every node and every Service: how many endpoints a node uses.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{node_groups::NodeGroups, service_view::ServiceUse, viewed_cluster::ViewedCluster};
use crate::model::{Node, Service};

/// How each node serves each Service: a row for all nodes that do the same, a column for each Service; rows and columns
/// with empty cells first.
#[derive(Debug)]
pub struct NodeMatrix<'a> {
    /// The Services that kube-proxy serves.
    pub services: Vec<&'a Service>,
    /// The rows.
    pub rows: Vec<MatrixRow<'a>>,
    /// How many other Services there are.
    pub not_proxied: usize,
    /// The cells of each group of nodes, in the order of `services`.
    of_groups: Vec<Vec<Option<ServiceUse>>>,
}

/// Nodes that serve all Services alike.
#[derive(Debug)]
pub struct MatrixRow<'a> {
    /// The nodes, by name.
    pub nodes: Vec<&'a Node>,
    /// How many Services have no endpoint for these nodes.
    pub empty: usize,
    group: usize,
    /// Cells that differ from those of the group, by place.
    exceptions: BTreeMap<usize, Option<ServiceUse>>,
}

/// The cells of nodes that differ from those of their group.
type Exceptions = BTreeMap<usize, Option<ServiceUse>>;

impl<'a> NodeMatrix<'a> {
    /// Views all Services from all nodes.
    pub fn of(cluster: &ViewedCluster<'a>) -> Self {
        let reads = cluster.reads();
        let groups = NodeGroups::of(cluster.nodes, &reads);
        let mut columns: Vec<Column<'a>> = Vec::new();
        for (of, reads) in cluster.services.iter().zip(&reads) {
            let classes = groups.classes(reads);
            let of_class = |place: &usize| cluster.view_from(of, groups.nodes[*place], |view| view.worst_use());
            let uses: Vec<Option<ServiceUse>> = classes.examples.iter().map(of_class).collect();
            if uses.iter().all(Option::is_none) {
                continue;
            }
            let of_groups: Vec<_> = classes.of_group.iter().map(|class| class.and_then(|class| uses[class])).collect();
            let exceptions = classes.exceptions.iter().map(|(place, class)| (*place, uses[*class]));
            let exceptions: Exceptions =
                exceptions.filter(|(place, uses)| of_groups[groups.group_of[*place]] != *uses).collect();
            columns.push(Column { service: of.service, empty: 0, of_groups, exceptions });
        }
        for column in &mut columns {
            column.count_empty(&groups);
        }
        columns.sort_by_key(|column| Reverse(column.empty));
        Self {
            not_proxied: cluster.services.len() - columns.len(),
            services: columns.iter().map(|column| column.service).collect(),
            rows: rows(&groups, &columns),
            of_groups: (0..groups.members.len())
                .map(|group| columns.iter().map(|column| column.of_groups[group]).collect())
                .collect(),
        }
    }

    /// The cell of a row and the Service at a place; `None` if kube-proxy of these nodes does not see the Service.
    pub fn cell(&self, row: &MatrixRow<'_>, place: usize) -> Option<ServiceUse> {
        row.exceptions.get(&place).copied().unwrap_or_else(|| self.of_groups[row.group][place])
    }

    /// The cells of a row.
    pub fn cells(&self, row: &MatrixRow<'_>) -> impl Iterator<Item = Option<ServiceUse>> {
        (0..self.services.len()).map(|place| self.cell(row, place))
    }

    /// How many nodes and Services have no endpoint: pairs.
    pub fn empty(&self) -> usize {
        self.rows.iter().map(|row| row.empty * row.nodes.len()).sum()
    }
}

/// A Service, and how all nodes serve it.
struct Column<'a> {
    service: &'a Service,
    /// How many nodes have no endpoint.
    empty: usize,
    of_groups: Vec<Option<ServiceUse>>,
    /// By node.
    exceptions: Exceptions,
}

impl Column<'_> {
    fn count_empty(&mut self, groups: &NodeGroups<'_>) {
        let mut nodes: Vec<usize> = groups.members.iter().map(Vec::len).collect();
        self.exceptions.keys().for_each(|place| nodes[groups.group_of[*place]] -= 1);
        let of_groups = self.of_groups.iter().zip(nodes).filter(|(uses, _)| is_empty(**uses)).map(|(_, nodes)| nodes);
        let exceptions = self.exceptions.values().filter(|uses| is_empty(**uses)).count();
        self.empty = of_groups.sum::<usize>() + exceptions;
    }
}

fn is_empty(uses: Option<ServiceUse>) -> bool {
    uses.is_some_and(|uses| uses.used == 0)
}

/// Nodes with equal cells, those with the most empty cells first.
fn rows<'a>(groups: &NodeGroups<'a>, columns: &[Column<'a>]) -> Vec<MatrixRow<'a>> {
    let mut of_nodes: Vec<Exceptions> = groups.nodes.iter().map(|_| Exceptions::new()).collect();
    for (place, column) in columns.iter().enumerate() {
        column.exceptions.iter().for_each(|(node, uses)| {
            of_nodes[*node].insert(place, *uses);
        });
    }
    // Groups with equal cells become one.
    let mut first_with: BTreeMap<Vec<Option<ServiceUse>>, usize> = BTreeMap::new();
    let merged: Vec<usize> = (0..groups.members.len())
        .map(|group| *first_with.entry(columns.iter().map(|c| c.of_groups[group]).collect()).or_insert(group))
        .collect();
    let mut by_cells: BTreeMap<(usize, Exceptions), Vec<&'a Node>> = BTreeMap::new();
    for (place, exceptions) in of_nodes.into_iter().enumerate() {
        let key = (merged[groups.group_of[place]], exceptions);
        by_cells.entry(key).or_default().push(groups.nodes[place]);
    }
    let empty_of = |group: usize| columns.iter().filter(|column| is_empty(column.of_groups[group])).count();
    let empty_of_groups: Vec<usize> = (0..groups.members.len()).map(empty_of).collect();
    let row = |((group, exceptions), nodes): ((usize, Exceptions), Vec<&'a Node>)| {
        let was_empty = exceptions.keys().filter(|place| is_empty(columns[**place].of_groups[group])).count();
        let is_now = exceptions.values().filter(|uses| is_empty(**uses)).count();
        MatrixRow { nodes, empty: empty_of_groups[group] - was_empty + is_now, group, exceptions }
    };
    let mut rows: Vec<MatrixRow<'a>> = by_cells.into_iter().map(row).collect();
    rows.sort_by(|a, b| (Reverse(a.empty), &a.nodes[0].name).cmp(&(Reverse(b.empty), &b.nodes[0].name)));
    rows
}
