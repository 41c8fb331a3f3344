//! Kinds of which an input has no object, and what is therefore not concluded.
//!
//! `kubectl get services,pods -o yaml` prints no Nodes, and files in git contain no slices: such an input is a part of a
//! cluster. That it has no object of a kind says nothing about the cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::objects::Inventory;
use crate::{
    engine::{
        reason::{Finding, Reason},
        state::{Controller, Plan, State},
    },
    model::{Endpoint, EndpointSlice, Labels, Node, ObjectKey, Text, names},
};

/// The kinds that an input has no object of, though the cluster may have some. Default: all kinds are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnknownKinds {
    /// Services: no Endpoints and no slice count as left over.
    pub services: bool,
    /// Pods: nothing is known about Services with a selector, except what workloads say.
    pub pods: bool,
    /// Whether pods of workloads are assumed, where [`pods`](Self::pods) are unknown.
    pub assumes_pods: bool,
    /// Nodes: those that pods name exist.
    pub nodes: bool,
    /// Endpoints: no mirrored slice counts as left over.
    pub endpoints: bool,
}

impl UnknownKinds {
    /// The kinds that `inventory` has no object of. What is assumed was not in the input.
    pub(super) fn of(inventory: &Inventory) -> Self {
        Self {
            services: inventory.services.is_empty(),
            pods: inventory.pods_of_input().is_empty(),
            assumes_pods: !inventory.workloads.is_empty(),
            nodes: inventory.nodes_of_input().is_empty(),
            endpoints: inventory.endpoints.is_empty(),
        }
    }

    /// Whether something is unknown.
    pub fn any(self) -> bool {
        self.services || self.pods || self.nodes || self.endpoints
    }

    /// Those of `controllers` whose work on the Service of `state` can be planned.
    pub(super) fn plannable(self, state: &State<'_>, controllers: &[Controller]) -> Vec<Controller> {
        let can = |controller: &Controller| match (state.service, controller) {
            (None, _) => !self.services,
            (Some(_), Controller::Endpoints | Controller::EndpointSlices) => !self.hides_pods_of(state),
            (Some(service), Controller::Mirroring) => !self.endpoints || service.selector.is_some(),
        };
        controllers.iter().copied().filter(can).collect()
    }

    /// Whether nothing can be said about the pods of a Service. Assumed pods stand for them only while no address is
    /// stored: pods of a cluster have other addresses, and must not seem to go.
    pub fn hides_pods_of(self, state: &State<'_>) -> bool {
        let Some(service) = state.service else { return self.services };
        self.pods && service.selector.is_some() && (!self.assumes_pods || stores_addresses(state))
    }

    /// A finding for each kind that would make a difference to one of `states`.
    pub(super) fn findings<'s>(
        self,
        inventory: &Inventory,
        states: impl Iterator<Item = State<'s>> + Clone,
    ) -> Vec<Finding> {
        if !self.any() {
            return Vec::new();
        }
        let any = |test: &dyn Fn(&State<'_>) -> bool| states.clone().any(|state| test(&state));
        let mirrored = |s: &State<'_>| s.endpoints.is_none() && s.service.is_some_and(|s| s.selector.is_none());
        let on_node = || inventory.pods_of_input().iter().any(|p| !p.node_name.is_empty());
        [
            (
                self.services && any(&|s| s.service.is_none()),
                "Service",
                "no Services in the input: not checked whether Endpoints and slices are left over",
            ),
            (
                self.pods && any(&|s| s.service.is_some() && self.hides_pods_of(s)),
                "Pod",
                if self.assumes_pods {
                    "no Pods in the input: not checked whether the stored endpoints of Services with a selector are right"
                } else {
                    "no Pods in the input: not checked which endpoints Services with a selector have"
                },
            ),
            (
                self.nodes && on_node(),
                "Node",
                "no Nodes in the input: not checked whether the nodes of pods exist, nor their zones; stored zones and hints stay",
            ),
            (
                self.endpoints && !inventory.slices.is_empty() && any(&mirrored),
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
}

/// Whether an address is stored for the Service of `state`.
fn stores_addresses(state: &State<'_>) -> bool {
    state.endpoints.is_some_and(|e| !e.subsets.is_empty()) || state.slices.iter().any(|s| !s.endpoints.is_empty())
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

/// Gives the endpoints that `plan` writes the hints and zones that the stored slices of `state` have, where it has none:
/// both come from nodes, which are unknown. A slice that is then equal to the stored one stays as it is.
pub(super) fn keep_stored_places(state: &State<'_>, plan: &mut Plan) {
    let slices = &mut plan.endpoint_slices;
    for slice in slices.create.iter_mut().chain(&mut slices.update) {
        for endpoint in &mut slice.endpoints {
            let Some(stored) = stored_endpoint(state.slices, endpoint) else { continue };
            endpoint.zone = endpoint.zone.take().or_else(|| stored.zone.clone());
            endpoint.hints = endpoint.hints.take().or_else(|| stored.hints.clone());
        }
    }
    let is_stored = |new: &EndpointSlice| state.slices.iter().any(|old| says_the_same(old, new));
    let (same, update): (Vec<_>, Vec<_>) = std::mem::take(&mut slices.update).into_iter().partition(is_stored);
    slices.update = update;
    slices.unchanged.extend(same.into_iter().map(|slice| slice.meta.name));
}

/// The endpoint of the same pod and address in the stored slices.
fn stored_endpoint<'a>(slices: &[&'a EndpointSlice], wanted: &Endpoint) -> Option<&'a Endpoint> {
    let same = |e: &&Endpoint| {
        e.addresses == wanted.addresses && e.target_ref == wanted.target_ref && e.node_name == wanted.node_name
    };
    slices.iter().flat_map(|s| &s.endpoints).find(same)
}

/// Whether a slice and the one that replaces it differ in nothing but the trigger time and the like.
fn says_the_same(old: &EndpointSlice, new: &EndpointSlice) -> bool {
    (&old.meta.name, &old.meta.labels, &old.meta.owner_references)
        == (&new.meta.name, &new.meta.labels, &new.meta.owner_references)
        && (&old.address_type, &old.ports, &old.endpoints) == (&new.address_type, &new.ports, &new.endpoints)
}
