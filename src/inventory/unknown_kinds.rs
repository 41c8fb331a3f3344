//! Kinds of which an input has no object, and what is therefore not concluded.
//!
//! `kubectl get services,pods -o yaml` prints no Nodes, and files in git contain no slices: such an input is a part of a
//! cluster. That it has no object of a kind says nothing about the cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::{index::Entry, objects::Inventory};
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
    /// Pods: nothing is known about Services with a selector.
    pub pods: bool,
    /// Nodes: those that pods name exist.
    pub nodes: bool,
    /// Endpoints: no mirrored slice counts as left over.
    pub endpoints: bool,
}

impl UnknownKinds {
    /// The kinds that `inventory` has no object of.
    pub(super) fn of(inventory: &Inventory) -> Self {
        Self {
            services: inventory.services.is_empty(),
            pods: inventory.pods.is_empty(),
            nodes: inventory.nodes.is_empty(),
            endpoints: inventory.endpoints.is_empty(),
        }
    }

    /// Those of `controllers` whose work on `entry` can be planned.
    pub(super) fn plannable(self, entry: &Entry<'_>, controllers: &[Controller]) -> Vec<Controller> {
        let can = |controller: &Controller| match (entry.service, controller) {
            (None, _) => !self.services,
            (Some(service), Controller::Endpoints | Controller::EndpointSlices) => {
                !self.pods || service.selector.is_none()
            }
            (Some(service), Controller::Mirroring) => !self.endpoints || service.selector.is_some(),
        };
        controllers.iter().copied().filter(can).collect()
    }

    /// Whether nothing can be said about the pods of `entry`.
    pub fn hides_pods_of(self, entry: &Entry<'_>) -> bool {
        entry.service.map_or(self.services, |s| self.pods && s.selector.is_some())
    }

    /// A finding for each kind that would make a difference.
    pub(super) fn findings(self, inventory: &Inventory, entries: &[Entry<'_>]) -> Vec<Finding> {
        let any = |test: fn(&Entry<'_>) -> bool| entries.iter().any(test);
        let has_selector = |e: &Entry<'_>| e.service.is_some_and(|s| s.selector.is_some());
        let mirrored = |e: &Entry<'_>| e.endpoints.is_none() && e.service.is_some_and(|s| s.selector.is_none());
        let on_node = || inventory.pods.iter().any(|p| !p.node_name.is_empty());
        [
            (
                self.services && any(|e| e.service.is_none()),
                "Service",
                "no Services in the input: not checked whether Endpoints and slices are left over",
            ),
            (
                self.pods && any(has_selector),
                "Pod",
                "no Pods in the input: not checked which endpoints Services with a selector have",
            ),
            (
                self.nodes && on_node(),
                "Node",
                "no Nodes in the input: not checked whether the nodes of pods exist, nor their zones; stored zones and hints stay",
            ),
            (
                self.endpoints && any(mirrored) && !inventory.slices.is_empty(),
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

/// The nodes that pods name, each with the zone that a stored slice gives it. They are ready, as most nodes are; how
/// much CPU they have stays unknown.
pub(super) fn assumed_nodes(inventory: &Inventory) -> Vec<Node> {
    let names: BTreeSet<&Text> = inventory.pods.iter().map(|p| &p.node_name).filter(|n| !n.is_empty()).collect();
    let endpoints = inventory.slices.iter().flat_map(|s| &s.endpoints);
    let zones: BTreeMap<&Text, &Text> = endpoints.filter_map(|e| e.node_name.as_ref().zip(e.zone.as_ref())).collect();
    names
        .into_iter()
        .map(|name| Node {
            name: name.clone(),
            labels: zones.get(name).map(|zone| (names::ZONE, (*zone).clone())).into_iter().collect::<Labels>(),
            ready: true,
            cpu_nano: 0,
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
