//! The nodes of a cluster in groups of which the views of all Services read the same.
//!
//! A matrix of thousands of nodes and Services has few different cells: a Service tells apart the nodes of its endpoints,
//! and the zones or sites that its hints or keys name. So a view is taken once for each class of nodes, not for each node.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::node_reads::{NodeClass, NodeReads, ValuesRead};
use crate::model::{HashSeed, Node, Nodes, Text};

/// The nodes, in groups with equal labels, as far as any Service reads them and more than one node has them.
#[derive(Debug)]
pub(super) struct NodeGroups<'a> {
    /// All nodes, by name.
    pub(super) nodes: Vec<&'a Node>,
    /// The group of each node.
    pub(super) group_of: Vec<usize>,
    /// The nodes of each group.
    pub(super) members: Vec<Vec<usize>>,
    /// The groups of nodes with a value of a label.
    with_value: BTreeMap<(&'a str, &'a str), Vec<usize>>,
    /// The nodes that are the only ones with a value of a label.
    only: BTreeMap<(&'a str, &'a str), usize>,
    places: BTreeMap<&'a str, usize>,
}

/// The nodes of one Service in classes: nodes of one class use the same endpoints.
#[derive(Debug)]
pub(super) struct ServiceClasses {
    /// A node of each class.
    pub(super) examples: Vec<usize>,
    /// The class of the nodes of most groups: those without a value that the Service reads. `None` if there are none.
    pub(super) of_others: Option<usize>,
    /// The other groups, sorted, and the class of their nodes that are not exceptions; `None` if all of them are.
    pub(super) of_groups: Vec<(usize, Option<usize>)>,
    /// Nodes of which the Service reads more than of others of their group, and their classes.
    pub(super) exceptions: BTreeMap<usize, usize>,
}

impl<'a> NodeGroups<'a> {
    /// Groups nodes by what all Services read.
    pub(super) fn of(nodes: &'a Nodes, reads: &[NodeReads<'a>]) -> Self {
        let mut nodes: Vec<&'a Node> = nodes.iter().collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        let mut labels: BTreeMap<&'a str, ValuesRead<'a>> = BTreeMap::new();
        for (key, values) in reads.iter().flat_map(|reads| &reads.labels) {
            let known = labels.entry(key).or_insert_with(|| ValuesRead::These(BTreeSet::new()));
            match (known, values) {
                (ValuesRead::These(known), ValuesRead::These(values)) => known.extend(values),
                (known, _) => *known = ValuesRead::All,
            }
        }
        let of_nodes: Vec<Vec<(&'a str, &'a str)>> = nodes.iter().map(|node| labels_read(node, &labels)).collect();
        let mut with_value: BTreeMap<(&'a str, &'a str), Vec<usize>> = BTreeMap::new();
        for (place, labels) in of_nodes.iter().enumerate() {
            for label in labels {
                with_value.entry(*label).or_default().push(place);
            }
        }
        let mut groups: HashMap<Vec<(&'a str, &'a str)>, usize, HashSeed> = HashMap::default();
        let mut groups_with_value: BTreeMap<(&'a str, &'a str), Vec<usize>> = BTreeMap::new();
        let (mut group_of, mut members) = (Vec::with_capacity(nodes.len()), Vec::new());
        for (place, mut of_node) in of_nodes.into_iter().enumerate() {
            of_node.retain(|label| with_value.get(label).is_some_and(|nodes| nodes.len() > 1));
            let group = *groups.entry(of_node).or_insert_with_key(|of_group| {
                for label in of_group {
                    groups_with_value.entry(*label).or_default().push(members.len());
                }
                members.push(Vec::new());
                members.len() - 1
            });
            group_of.push(group);
            members[group].push(place);
        }
        let only = with_value.into_iter().filter(|(_, nodes)| nodes.len() == 1).map(|(pair, nodes)| (pair, nodes[0]));
        let only = only.collect();
        let places = nodes.iter().enumerate().map(|(place, node)| (node.name.as_str(), place)).collect();
        Self { nodes, group_of, members, with_value: groups_with_value, only, places }
    }

    /// The place of a node.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// The classes of a Service.
    pub(super) fn classes(&self, reads: &NodeReads<'a>) -> ServiceClasses {
        let mut special: BTreeSet<usize> = reads.names.iter().filter_map(|name| self.place(name)).collect();
        let mut groups: BTreeSet<usize> = BTreeSet::new();
        for (key, values) in &reads.labels {
            match values {
                ValuesRead::These(values) => {
                    special.extend(values.iter().filter_map(|value| self.only.get(&(*key, *value))));
                    groups.extend(values.iter().filter_map(|value| self.with_value.get(&(*key, *value))).flatten());
                }
                ValuesRead::All => {
                    special.extend(of_key(&self.only, key));
                    groups.extend(of_key(&self.with_value, key).flatten());
                }
            }
        }
        let mut known: HashMap<NodeClass<'a>, usize, HashSeed> = HashMap::default();
        let mut examples = Vec::new();
        let mut class = |place: usize| {
            *known.entry(reads.class(self.nodes[place])).or_insert_with(|| {
                examples.push(place);
                examples.len() - 1
            })
        };
        let plain = |group: usize| self.members[group].iter().copied().find(|place| !special.contains(place));
        let mut others = (0..self.members.len()).filter(|group| !groups.contains(group));
        let of_others = others.find_map(plain).map(&mut class);
        let of_groups = groups.iter().map(|group| (*group, plain(*group).map(&mut class))).collect();
        let exceptions = special.iter().map(|place| (*place, class(*place))).collect();
        ServiceClasses { examples, of_others, of_groups, exceptions }
    }
}

/// The labels of a node that any Service reads, by their keys. Either may be many, and few are both.
fn labels_read<'a>(node: &'a Node, read: &BTreeMap<&'a str, ValuesRead<'a>>) -> Vec<(&'a str, &'a str)> {
    let label = |key: &'a Text, value: &'a Text| (key.as_str(), value.as_str());
    if read.len() < node.labels.len() {
        let of_node = read.iter().filter_map(|(key, values)| Some((node.labels.get_pair(key)?, values)));
        return of_node.filter(|((_, value), values)| values.has(value)).map(|((k, v), _)| label(k, v)).collect();
    }
    let is_read = |(key, value): &(&Text, &Text)| read.get(key.as_str()).is_some_and(|values| values.has(value));
    node.labels.iter().filter(is_read).map(|(key, value)| label(key, value)).collect()
}

impl ServiceClasses {
    /// The number of groups and nodes that differ from most.
    pub(super) fn told_apart(&self) -> usize {
        self.of_groups.len() + self.exceptions.len()
    }

    /// The class of the nodes of a group that are not exceptions; `None` if all of them are.
    pub(super) fn of_group(&self, group: usize) -> Option<usize> {
        let place = self.of_groups.binary_search_by_key(&group, |(group, _)| *group);
        place.map_or(self.of_others, |place| self.of_groups[place].1)
    }

    /// The class of a node in a group.
    pub(super) fn class_of(&self, node: usize, group: usize) -> Option<usize> {
        self.exceptions.get(&node).copied().or_else(|| self.of_group(group))
    }
}

/// What belongs to any value of a label.
fn of_key<'m, T>(map: &'m BTreeMap<(&str, &str), T>, key: &'m str) -> impl Iterator<Item = &'m T> {
    map.range((key, "")..).take_while(move |((k, _), _)| *k == key).map(|(_, of_value)| of_value)
}
