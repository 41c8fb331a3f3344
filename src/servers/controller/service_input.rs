//! What one plan needs, collected from the copy: shared values, so that nothing is locked while the plan is made.

use std::sync::Arc;

use roster_engine::{
    model::{EndpointSlice, Endpoints, Nodes, Pod, Service},
    plan::plan,
    state::{Controller, Options, Plan, State, Trigger},
};

use super::{queue::Cause, trigger_times::SeenTimes};

/// The objects of one Service.
#[derive(Debug)]
pub(super) struct ServiceInput {
    pub(super) service: Option<Arc<Service>>,
    /// The pods that it selects, sorted by name.
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) nodes: Arc<Nodes>,
    pub(super) endpoints: Option<Arc<Endpoints>>,
    pub(super) slices: Vec<Arc<EndpointSlice>>,
    /// The times at its last sync.
    pub(super) seen: Option<SeenTimes>,
}

impl ServiceInput {
    /// What the controllers do, and the times that this sync has seen.
    pub(super) fn plan(&self, controllers: &[Controller], options: Options, cause: Cause) -> (Plan, Option<SeenTimes>) {
        let seen = self.service.as_ref().map(|service| SeenTimes::of(service, self.pods.iter().map(|pod| &**pod)));
        let trigger = seen.as_ref().map_or(Trigger::Unknown, |seen| seen.since(self.seen.as_ref()));
        let options = Options { trigger, ..options };
        // Endpoints that came before their Service are not what is left of one.
        let keeps_endpoints = self.service.is_none() && cause != Cause::Leftover;
        let controllers: Vec<Controller> =
            controllers.iter().copied().filter(|c| !(keeps_endpoints && *c == Controller::Endpoints)).collect();
        let pods: Vec<&Pod> = self.pods.iter().map(|pod| &**pod).collect();
        let slices: Vec<&EndpointSlice> = self.slices.iter().map(|slice| &**slice).collect();
        let state = State {
            service: self.service.as_deref(),
            pods: &pods,
            nodes: &self.nodes,
            endpoints: self.endpoints.as_deref(),
            slices: &slices,
        };
        (plan(&state, &controllers, &options), seen)
    }

    /// The stored slice of this name.
    pub(super) fn slice(&self, name: &str) -> Option<&EndpointSlice> {
        self.slices.iter().map(|slice| &**slice).find(|slice| slice.meta.name == name)
    }
}
