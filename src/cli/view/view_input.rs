//! What views are taken of: Services, their slices and the nodes of an input.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
};

use crate::{
    engine::{
        reason::{Finding, Reason},
        state::{Controller, Options},
        view::{Scheme, ViewedCluster, ViewedService, planned_slices},
    },
    inventory::{Entry, Findings, Index, Inventory, whole},
    model::{EndpointSlice, Family, Labels, Node, Nodes, ObjectKey, Text, names},
};

/// The objects of an input that views read, and what of them is assumed.
pub(in crate::cli) struct ViewInput<'a> {
    index: &'a Index<'a>,
    /// All nodes, as far as they are known.
    pub(in crate::cli) nodes: Nodes,
    /// Whether Nodes were read, so that a name that is not among them is a mistake.
    pub(in crate::cli) knows_nodes: bool,
    /// Of an input without slices, those that the controllers would write, for each entry of the index.
    planned: Option<Vec<Vec<EndpointSlice>>>,
}

impl<'a> ViewInput<'a> {
    pub(in crate::cli) fn new(inventory: &Inventory, index: &'a Index<'a>, options: &Options) -> Self {
        let knows_nodes = !index.unknown().nodes;
        let nodes = if knows_nodes { index.nodes().clone() } else { named_nodes(inventory, index) };
        let has_none = inventory.slices.is_empty() && !inventory.pods.is_empty();
        Self { index, nodes, knows_nodes, planned: has_none.then(|| slices_of_plans(index, options)) }
    }

    /// What views read.
    pub(in crate::cli) fn cluster<'c>(&'c self, scheme: Scheme<'c>, family: Option<Family>) -> ViewedCluster<'c> {
        let service = |(place, entry): (usize, &'c Entry<'_>)| {
            let slices = match &self.planned {
                Some(planned) => planned[place].iter().collect(),
                None => self.index.state(entry).slices.to_vec(),
            };
            Some(ViewedService { service: entry.service?, slices })
        };
        let services = self.index.entries().iter().enumerate().filter_map(service).collect();
        ViewedCluster { scheme, family, nodes: &self.nodes, services }
    }

    /// The findings about the input, and what is not known of it that a view depends on.
    pub(in crate::cli) fn findings(&self) -> Findings {
        let mut findings = self.index.problems().clone();
        // Views read neither pods nor Endpoints, and what is not known of nodes follows.
        findings.retain(|f| f.code != Reason::NotChecked || !f.object.name.is_empty());
        let mut add = |code, kind: &'static str, message: &str| {
            let key = ObjectKey { kind: Text::new_static(kind), ..ObjectKey::default() };
            findings.push(Finding::new(code, key, message));
        };
        if self.planned.is_some() {
            add(
                Reason::Assumed,
                "EndpointSlice",
                "no EndpointSlices in the input; assumed: what the controllers would write",
            );
        }
        if !self.knows_nodes {
            let message =
                "no Nodes in the input: nodes and their zones are known from endpoints only, other labels are not";
            add(Reason::NotChecked, "Node", message);
        }
        findings
    }
}

/// The slices that the controllers would write, with names.
fn slices_of_plans(index: &Index<'_>, options: &Options) -> Vec<Vec<EndpointSlice>> {
    let plan = |entry: &Entry<'_>| {
        let state = index.state(entry);
        let plan = whole::plan_of(index, entry, &[Controller::EndpointSlices, Controller::Mirroring], options);
        planned_slices(&state, &plan)
    };
    let mut planned = Vec::with_capacity(index.entries().len());
    let collected = whole::each(index, whole::all_cores(), plan, |slices| {
        planned.push(slices);
        Ok::<(), Infallible>(())
    });
    match collected {
        Ok(()) => planned,
    }
}

/// The nodes that pods and endpoints name, with the zones that endpoints have.
fn named_nodes(inventory: &Inventory, index: &Index<'_>) -> Nodes {
    let mut known: BTreeMap<Text, Node> = index.nodes().iter().map(|node| (node.name.clone(), node.clone())).collect();
    let endpoints = inventory.slices.iter().flat_map(|slice| &slice.endpoints);
    let placed: BTreeSet<(&Text, Option<&Text>)> =
        endpoints.filter_map(|e| e.node_name.as_ref().map(|node| (node, e.zone.as_ref()))).collect();
    for (name, zone) in placed {
        let node =
            known.entry(name.clone()).or_insert_with(|| Node { name: name.clone(), ready: true, ..Node::default() });
        if let Some(zone) = zone.filter(|_| node.zone().is_none()) {
            node.labels = [(names::ZONE, zone.clone())].into_iter().collect::<Labels>();
        }
    }
    known.into_values().collect()
}
