//! Kinds of objects about which nothing is known, and what is therefore not planned.

use std::collections::HashMap;

use crate::{
    engine::{
        plan::plan_recorded,
        record::Recorder,
        state::{Controller, Options, Plan, State},
    },
    model::{Endpoint, EndpointSlice, ObjectRef, Text},
};

/// The kinds of which an input has no object in the namespace of a Service, though the cluster may have some. Nodes are in
/// no namespace. Default: all kinds are known.
#[expect(clippy::struct_excessive_bools, reason = "what is known of one kind does not depend on the others")]
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
    /// Whether nothing can be said about the pods of a Service. Assumed pods stand for them only while no address is
    /// stored: pods of a cluster have other addresses, and must not seem to go.
    pub fn hides_pods_of(self, state: &State<'_>) -> bool {
        let Some(service) = state.service else { return self.services };
        self.pods && service.selector.is_some() && (!self.assumes_pods || stores_addresses(state))
    }

    /// Whether nothing is planned for some controller of the Service of `state`, so that what its plan leaves as it is may
    /// change.
    pub fn hides_changes_of(self, state: &State<'_>) -> bool {
        let may_be_left_over = state.endpoints.is_none() && !state.slices.is_empty();
        self.hides_pods_of(state)
            || state.service.is_some_and(|s| s.selector.is_none() && self.endpoints && may_be_left_over)
    }

    /// Those of `controllers` whose work on the Service of `state` can be planned.
    fn plannable(self, state: &State<'_>, controllers: &[Controller]) -> Vec<Controller> {
        let can = |controller: &Controller| match (state.service, controller) {
            (None, _) => !self.services,
            (Some(_), Controller::Endpoints | Controller::EndpointSlices) => !self.hides_pods_of(state),
            (Some(service), Controller::Mirroring) => !self.endpoints || service.selector.is_some(),
        };
        controllers.iter().copied().filter(can).collect()
    }
}

/// What `controllers` would do to one Service, as far as the known kinds tell: nothing is planned for a controller that
/// reads an unknown kind, and what comes from unknown nodes stays as it is stored.
pub fn plan_known(
    state: &State<'_>,
    controllers: &[Controller],
    options: &Options,
    unknown: UnknownKinds,
    recorder: &mut impl Recorder,
) -> Plan {
    let mut plan = plan_recorded(state, &unknown.plannable(state, controllers), options, recorder);
    if unknown.nodes {
        keep_stored_places(state, &mut plan);
    }
    plan
}

/// Whether an address is stored for the Service of `state`.
fn stores_addresses(state: &State<'_>) -> bool {
    state.endpoints.is_some_and(|e| !e.subsets.is_empty()) || state.slices.iter().any(|s| !s.endpoints.is_empty())
}

/// Gives the endpoints that `plan` writes the hints and zones that the stored slices of `state` have, where it has none:
/// both come from nodes, which are unknown. A slice that is then equal to the stored one stays as it is.
fn keep_stored_places(state: &State<'_>, plan: &mut Plan) {
    let slices = &mut plan.endpoint_slices;
    if slices.create.is_empty() && slices.update.is_empty() {
        return;
    }
    let mut endpoints: HashMap<PodAddress<'_>, &Endpoint, Fast> = HashMap::default();
    let mut by_name: HashMap<&Text, Vec<&EndpointSlice>, Fast> = HashMap::default();
    for slice in state.slices {
        by_name.entry(&slice.meta.name).or_default().push(slice);
        for endpoint in &slice.endpoints {
            endpoints.entry(pod_address(endpoint)).or_insert(endpoint);
        }
    }
    for slice in slices.create.iter_mut().chain(&mut slices.update) {
        for endpoint in &mut slice.endpoints {
            let Some(stored) = endpoints.get(&pod_address(endpoint)).copied() else { continue };
            endpoint.zone = endpoint.zone.take().or_else(|| stored.zone.clone());
            endpoint.hints = endpoint.hints.take().or_else(|| stored.hints.clone());
        }
    }
    let is_stored = |new: &EndpointSlice| {
        let stored = by_name.get(&new.meta.name).into_iter().flatten();
        stored.copied().any(|old| says_the_same(old, new))
    };
    let (same, update): (Vec<_>, Vec<_>) = std::mem::take(&mut slices.update).into_iter().partition(is_stored);
    slices.update = update;
    slices.unchanged.extend(same.into_iter().map(|slice| slice.meta.name));
}

/// The addresses, the target and the node of an endpoint.
type PodAddress<'a> = (&'a [Text], Option<&'a ObjectRef>, Option<&'a Text>);

fn pod_address(endpoint: &Endpoint) -> PodAddress<'_> {
    (&endpoint.addresses, endpoint.target_ref.as_deref(), endpoint.node_name.as_ref())
}

type Fast = foldhash::fast::FixedState;

/// Whether a slice and the one that replaces it differ in nothing but the trigger time and the like.
fn says_the_same(old: &EndpointSlice, new: &EndpointSlice) -> bool {
    (&old.meta.name, &old.meta.labels, &old.meta.owner_references)
        == (&new.meta.name, &new.meta.labels, &new.meta.owner_references)
        && (&old.address_type, &old.ports, &old.endpoints) == (&new.address_type, &new.ports, &new.endpoints)
}
