//! Kinds of objects about which nothing is known, and what is therefore not planned.

use std::collections::HashMap;

use crate::{
    model::{Endpoint, EndpointSlice, HashSeed, Interrupt, Interrupted, ObjectRef, Pod, Text, by_name},
    plan::{plan_selected, selected_pods},
    record::{DiscardUntil, Recorder},
    state::{Controller, Options, Plan, State},
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
    plan_known_of(&selected_pods(state), state, controllers, options, unknown, recorder)
}

/// [`plan_known`], unless it is interrupted.
pub fn plan_known_until(
    state: &State<'_>,
    controllers: &[Controller],
    options: &Options,
    unknown: UnknownKinds,
    interrupt: Interrupt<'_>,
) -> Result<Plan, Interrupted> {
    let plan = plan_known(state, controllers, options, unknown, &mut DiscardUntil(interrupt));
    interrupt.check().map(|()| plan)
}

/// [`plan_known`] for the Service of a state whose [`selected_pods`] are known.
pub(crate) fn plan_known_of(
    pods: &[&Pod],
    state: &State<'_>,
    controllers: &[Controller],
    options: &Options,
    unknown: UnknownKinds,
    recorder: &mut impl Recorder,
) -> Plan {
    let mut plan = plan_selected(pods, state, &unknown.plannable(state, controllers), options, recorder);
    if unknown.nodes {
        keep_stored_places(state, &mut plan);
    }
    plan
}

/// Whether an address is stored for the Service of `state`.
fn stores_addresses(state: &State<'_>) -> bool {
    state.endpoints.is_some_and(|e| !e.subsets.is_empty()) || state.slices.iter().any(|s| !s.endpoints.is_empty())
}

/// Gives the endpoints that `plan` writes the hints and zones that the stored slices of `state` have: both come from nodes,
/// which are unknown. A slice that is then equal to the stored one stays as it is.
fn keep_stored_places(state: &State<'_>, plan: &mut Plan) {
    let slices = &mut plan.endpoint_slices;
    if slices.create.is_empty() && slices.update.is_empty() {
        return;
    }
    let stored = StoredPlaces::of(state.slices);
    for slice in slices.create.iter_mut().chain(&mut slices.update) {
        for endpoint in &mut slice.endpoints {
            if let Some(stored) = stored.find(&slice.meta.name, endpoint) {
                keep_place(endpoint, stored);
            }
        }
    }
    let is_stored = |new: &EndpointSlice| stored.slices.get(&new.meta.name).is_some_and(|old| says_the_same(old, new));
    let (same, update): (Vec<_>, Vec<_>) = std::mem::take(&mut slices.update).into_iter().partition(is_stored);
    slices.update = update;
    slices.unchanged.extend(same.into_iter().map(|slice| slice.meta.name));
}

/// Gives an endpoint the zone and the hints of a stored one. A zone that is planned is that of another slice which lists
/// the node, and hints are those of the zone.
fn keep_place(endpoint: &mut Endpoint, stored: &Endpoint) {
    if stored.zone.is_some() && stored.zone != endpoint.zone {
        (endpoint.zone, endpoint.hints) = (stored.zone.clone(), stored.hints.clone());
    }
    endpoint.hints = endpoint.hints.take().or_else(|| stored.hints.clone());
}

/// The stored endpoints of a Service, by slice and address. Nothing depends on the order in which the slices were read.
struct StoredPlaces<'s> {
    slices: HashMap<&'s Text, &'s EndpointSlice, HashSeed>,
    /// Those of each slice; and without a slice, those of the first one by name.
    endpoints: HashMap<(Option<&'s Text>, PodAddress<'s>), &'s Endpoint, HashSeed>,
}

impl<'s> StoredPlaces<'s> {
    fn of(slices: &[&'s EndpointSlice]) -> Self {
        let mut this = Self { slices: HashMap::default(), endpoints: HashMap::default() };
        for slice in by_name(slices.to_vec()) {
            this.slices.insert(&slice.meta.name, slice);
            for endpoint in &slice.endpoints {
                for of in [Some(&slice.meta.name), None] {
                    this.endpoints.entry((of, pod_address(endpoint))).or_insert(endpoint);
                }
            }
        }
        this
    }

    /// What is stored for an endpoint: in the slice of a name, else in the first one that lists it.
    fn find(&self, slice: &Text, endpoint: &Endpoint) -> Option<&'s Endpoint> {
        let at = pod_address(endpoint);
        [Some(slice), None].into_iter().find_map(|of| self.endpoints.get(&(of, at)).copied())
    }
}

/// The addresses, the target and the node of an endpoint.
type PodAddress<'a> = (&'a [Text], Option<&'a ObjectRef>, Option<&'a Text>);

fn pod_address(endpoint: &Endpoint) -> PodAddress<'_> {
    (&endpoint.addresses, endpoint.target_ref.as_deref(), endpoint.node_name.as_ref())
}

/// Whether a slice and the one that replaces it differ in nothing but the trigger time and the like.
fn says_the_same(old: &EndpointSlice, new: &EndpointSlice) -> bool {
    (&old.meta.name, &old.meta.labels, &old.meta.owner_references)
        == (&new.meta.name, &new.meta.labels, &new.meta.owner_references)
        && (&old.address_type, &old.ports, &old.endpoints) == (&new.address_type, &new.ports, &new.endpoints)
}
