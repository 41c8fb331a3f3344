//! The kinds of which an inventory has no object, and what is therefore not concluded.
//!
//! `kubectl get services,pods -o yaml` prints no Nodes, and files in git contain no slices: such an input is a part of a
//! cluster. That it has no object of a kind says nothing about the cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::objects::Inventory;
use crate::{
    engine::{
        reason::{Finding, Reason},
        state::State,
        unknown_kinds::UnknownKinds,
    },
    model::{Labels, Node, ObjectKey, Text, names},
};

/// The kinds that `inventory` has no object of. What is assumed was not in the input.
pub(super) fn of(inventory: &Inventory) -> UnknownKinds {
    UnknownKinds {
        services: inventory.services.is_empty(),
        pods: inventory.pods_of_input().is_empty(),
        assumes_pods: !inventory.workloads.is_empty() || inventory.assumed_pods.pods > 0,
        nodes: inventory.nodes_of_input().is_empty(),
        endpoints: inventory.endpoints.is_empty(),
    }
}

/// A finding for each kind that would make a difference to one of `states`.
pub(super) fn findings<'s>(
    unknown: UnknownKinds,
    inventory: &Inventory,
    states: &(impl Iterator<Item = State<'s>> + Clone),
) -> Vec<Finding> {
    if !unknown.any() {
        return Vec::new();
    }
    let any = |test: &dyn Fn(&State<'_>) -> bool| states.clone().any(|state| test(&state));
    let mirrored = |s: &State<'_>| s.endpoints.is_none() && s.service.is_some_and(|s| s.selector.is_none());
    let on_node = || inventory.pods_of_input().iter().any(|p| !p.node_name.is_empty());
    [
        (
            unknown.services && any(&|s| s.service.is_none()),
            "Service",
            "no Services in the input: not checked whether Endpoints and slices are left over",
        ),
        (
            unknown.pods && any(&|s| s.service.is_some() && unknown.hides_pods_of(s)),
            "Pod",
            if unknown.assumes_pods {
                "no Pods in the input: not checked whether the stored endpoints of Services with a selector are right"
            } else {
                "no Pods in the input: not checked which endpoints Services with a selector have"
            },
        ),
        (
            unknown.nodes && on_node(),
            "Node",
            "no Nodes in the input: not checked whether the nodes of pods exist, nor their zones; stored zones and hints stay",
        ),
        (
            unknown.endpoints && !inventory.slices.is_empty() && any(&mirrored),
            "Endpoints",
            "no Endpoints in the input: not checked whether mirrored slices are left over",
        ),
    ]
    .into_iter()
    .filter(|(is_needed, ..)| *is_needed)
    .map(|(_, kind, message)| {
        let key = ObjectKey { kind: Text::new_static(kind), ..ObjectKey::default() };
        Finding::new(Reason::NotChecked, key, message)
    })
    .collect()
}

/// The nodes that pods name and that are not among the others, each with the zone that a stored slice gives it. They are
/// ready, as most nodes are; how much CPU they have stays unknown.
pub(super) fn assumed_nodes(inventory: &Inventory) -> Vec<Node> {
    let mut missing: BTreeSet<&Text> = inventory.pods.iter().map(|p| &p.node_name).filter(|n| !n.is_empty()).collect();
    for node in &inventory.nodes {
        missing.remove(&node.name);
    }
    let endpoints = inventory.slices.iter().flat_map(|s| &s.endpoints);
    let zones: BTreeMap<&Text, &Text> = endpoints.filter_map(|e| e.node_name.as_ref().zip(e.zone.as_ref())).collect();
    missing
        .into_iter()
        .map(|name| Node {
            name: name.clone(),
            labels: zones.get(name).map(|zone| (names::ZONE, (*zone).clone())).into_iter().collect::<Labels>(),
            ready: true,
            ..Node::default()
        })
        .collect()
}
