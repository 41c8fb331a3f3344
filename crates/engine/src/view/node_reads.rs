//! What the views of a Service read of a node: nodes that agree in it use the same endpoints.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    openyurt::{POOL_OF_NODE, YURT_TOPOLOGY, YurtView},
    scheme::Scheme,
    topology_keys::TopologyKeys,
    traffic_policy::ServicePolicies,
};
use crate::model::{EndpointSlice, Family, Node, Nodes, Service, Text, names};

/// The names and labels of nodes that make a difference to the views of a Service.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeReads<'a> {
    /// Whether the name is one of these.
    pub(super) names: BTreeSet<&'a str>,
    /// Whether a label has one of these values.
    pub(super) labels: BTreeMap<&'a str, ValuesRead<'a>>,
}

/// The values of a label that make a difference; all others count as none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValuesRead<'a> {
    All,
    These(BTreeSet<&'a str>),
}

/// What a Service reads of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeClass<'a> {
    name: Option<&'a str>,
    labels: Vec<Option<&'a str>>,
}

impl ValuesRead<'_> {
    pub(super) fn has(&self, value: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(values) => values.contains(value),
        }
    }
}

impl<'a> NodeReads<'a> {
    /// What is read in the views of a Service with these slices.
    pub(super) fn of(
        scheme: &Scheme<'_>,
        service: &'a Service,
        slices: &[&'a EndpointSlice],
        nodes: &'a Nodes,
    ) -> Self {
        let mut reads = Self::default();
        reads.add_hints(slices);
        let families = [Family::V4, Family::V6];
        let is_local = |family| {
            let of_service = ServicePolicies::of(service, family);
            service.ports.iter().any(|port| of_service.of_port(port).uses_local())
        };
        if families.into_iter().any(is_local) {
            reads.add_nodes_of_endpoints(slices);
        }
        match scheme {
            Scheme::KubeProxy => {}
            Scheme::SuperEdge { .. } => {
                reads.add_keys(TopologyKeys::of(service).unwrap_or_default().iter(), slices, nodes);
            }
            Scheme::TopologyKeysField => reads.add_keys(TopologyKeys::of_field(service).iter(), slices, nodes),
            Scheme::OpenYurt { .. } => {
                if YurtView::depends_on_pool(service) {
                    reads.labels.insert(POOL_OF_NODE, ValuesRead::All);
                }
                if service.meta.annotations.contains_key(YURT_TOPOLOGY) {
                    reads.add_nodes_of_endpoints(slices);
                }
            }
        }
        reads
    }

    fn add_hints(&mut self, slices: &[&'a EndpointSlice]) {
        let hints = || slices.iter().flat_map(|slice| &slice.endpoints).filter_map(|e| e.hints.as_ref());
        self.names.extend(hints().flat_map(|h| &h.for_nodes).map(|hint| hint.name.as_str()));
        self.add_values(names::ZONE, hints().flat_map(|h| &h.for_zones).map(|hint| hint.name.as_str()));
    }

    fn add_nodes_of_endpoints(&mut self, slices: &[&'a EndpointSlice]) {
        let endpoints = slices.iter().flat_map(|slice| &slice.endpoints);
        self.names.extend(endpoints.filter_map(|e| e.node_name.as_deref()));
    }

    /// A node compares its labels with those of the nodes of endpoints.
    fn add_keys<'k>(&mut self, keys: impl Iterator<Item = &'k Text>, slices: &[&'a EndpointSlice], nodes: &'a Nodes) {
        let endpoints = || slices.iter().flat_map(|slice| &slice.endpoints);
        let mut on: Vec<&Text> = endpoints().filter_map(|e| e.node_name.as_ref()).collect();
        on.sort_unstable();
        on.dedup();
        let on: Vec<&Node> = on.into_iter().filter_map(|name| nodes.get(name)).collect();
        for key in keys {
            let pairs = on.iter().filter_map(|node| node.labels.get_pair(key));
            let pairs: Vec<_> = pairs.collect();
            if let Some((key, _)) = pairs.first() {
                self.add_values(key, pairs.iter().map(|(_, value)| value.as_str()));
            }
        }
    }

    fn add_values(&mut self, key: &'a str, values: impl Iterator<Item = &'a str>) {
        match self.labels.entry(key).or_insert_with(|| ValuesRead::These(BTreeSet::new())) {
            ValuesRead::All => {}
            ValuesRead::These(known) => known.extend(values),
        }
    }

    /// What is read of a node.
    pub(super) fn class(&self, node: &'a Node) -> NodeClass<'a> {
        let value = |(key, values): (&&'a str, &ValuesRead<'a>)| {
            node.labels.get(key).map(Text::as_str).filter(|value| values.has(value))
        };
        NodeClass { name: self.names.get(node.name.as_str()).copied(), labels: self.labels.iter().map(value).collect() }
    }
}
