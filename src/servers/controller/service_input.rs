//! What one plan needs, collected from the copy: shared values, so that nothing is locked while the plan is made.

use std::sync::Arc;

use roster_engine::{
    explain::{Explanation, Focus, explain_only},
    model::{EndpointSlice, Endpoints, LabelQuery, Nodes, ObjectKey, Pod, Service, names},
    plan::plan,
    state::{Controller, Event, EventType, Options, Plan, State, Trigger},
    unknown_kinds::UnknownKinds,
};

use super::{
    beside,
    queue::Cause,
    service_scope::{NotServed, ServiceScope},
    trigger_times::SeenTimes,
};
use crate::runtime::aside::aside;

/// Pods of a Service whose plan takes long.
const MANY_PODS: usize = 500;

/// Whether a controller has written these Endpoints: without a Service, they are left over.
pub(super) fn is_written_by_controller(Endpoints { meta, .. }: &Endpoints) -> bool {
    meta.labels.get(names::ENDPOINTS_MANAGED_BY).is_some_and(|by| by == names::ENDPOINTS_CONTROLLER)
        || meta.annotations.contains_key(names::TRIGGER_TIME)
}

/// Nothing is written for a Service whose annotation cannot be read: what is there may be right.
fn unusable(service: &Service, why: &NotServed) -> Plan {
    Plan { events: vec![warning("InvalidSelector", why.to_string(), service.key())], ..Plan::default() }
}

fn warning(reason: &'static str, message: String, object: ObjectKey) -> Event {
    Event { kind: EventType::Warning, reason, message, object }
}

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
    pub(super) fn plan(
        &self,
        controllers: &[Controller],
        options: Options,
        scope: &ServiceScope,
        cause: Cause,
    ) -> (Plan, Option<SeenTimes>) {
        if !self.is_in(scope) {
            (Plan::default(), None)
        } else if scope.is_beside {
            self.plan_beside(controllers, options)
        } else {
            self.plan_as_reference(controllers, options, cause)
        }
    }

    /// Whether the Service is one of these.
    pub(super) fn is_in(&self, scope: &ServiceScope) -> bool {
        let slices = self.slices.iter().map(|slice| &**slice);
        scope.has(self.service.as_deref(), self.endpoints.as_deref(), slices)
    }

    /// Why the controller of this scope does not serve the Service; `None` if it does. It serves one that is gone while something of
    /// it is its own.
    pub(super) fn not_served(&self, scope: &ServiceScope) -> Option<NotServed> {
        if !self.is_in(scope) {
            return Some(NotServed::OtherLabels);
        }
        if !scope.is_beside {
            return None;
        }
        match &self.service {
            Some(service) => beside::query_of(service).err(),
            None if beside::has_written(&self.slices, self.endpoints.as_deref()) => None,
            None => Some(NotServed::Gone),
        }
    }

    /// The plan of a controller beside the built-in ones.
    fn plan_beside(&self, controllers: &[Controller], options: Options) -> (Plan, Option<SeenTimes>) {
        let service = self.service.as_deref();
        let query = match service.map(|service| (service, beside::query_of(service))) {
            Some((_, Ok(query))) => query,
            Some((service, Err(why @ NotServed::Unreadable(_)))) => return (unusable(service, &why), None),
            _ => return (beside::leftovers(service, &self.slices, self.endpoints.as_deref()), None),
        };
        let foreign = self.endpoints.as_ref().filter(|endpoints| !beside::is_own(endpoints));
        let runs =
            |c: &Controller| *c == Controller::EndpointSlices || (*c == Controller::Endpoints && foreign.is_none());
        let controllers: Vec<Controller> = controllers.iter().copied().filter(runs).collect();
        let input = self.of_query(&query, options);
        let (plan, seen) = input.plan_as_reference(&controllers, options, Cause::Change);
        let mut plan = beside::as_own(plan);
        if let Some(foreign) = foreign {
            let message =
                "someone else has written the Endpoints: they stay, and are served if they are mirrored".to_owned();
            plan.events.push(warning("EndpointsNotOwn", message, foreign.key()));
        }
        (plan, seen)
    }

    /// The same for a controller beside the built-in ones: the pods that the annotation selects, and the objects of this controller
    /// with the names of the reference.
    fn of_query(&self, query: &LabelQuery, options: Options) -> Self {
        let profile = options.compat.profile();
        let own = self.endpoints.as_ref().filter(|endpoints| beside::is_own(endpoints));
        Self {
            service: self.service.clone(),
            pods: self.pods.iter().filter(|pod| query.matches(&pod.labels)).cloned().collect(),
            nodes: self.nodes.clone(),
            endpoints: own.map(|endpoints| Arc::new(beside::endpoints_as_reference(endpoints, profile))),
            slices: beside::slices_as_reference(&self.slices),
            seen: self.seen.clone(),
        }
    }

    fn plan_as_reference(
        &self,
        controllers: &[Controller],
        options: Options,
        cause: Cause,
    ) -> (Plan, Option<SeenTimes>) {
        let seen = self.service.as_ref().map(|service| SeenTimes::of(service, self.pods.iter().map(|pod| &**pod)));
        let trigger = seen.as_ref().map_or(Trigger::Unknown, |seen| seen.since(self.seen.as_ref()));
        let options = Options { trigger, ..options };
        // Endpoints that came before their Service are not what is left of one.
        let keeps_endpoints = self.service.is_none() && cause != Cause::Leftover;
        let controllers: Vec<Controller> =
            controllers.iter().copied().filter(|c| !(keeps_endpoints && *c == Controller::Endpoints)).collect();
        (self.with_state(|state| plan(state, &controllers, &options)), seen)
    }

    /// Which pods serve the Service, and why the others do not. It says nothing about pods that stored addresses name: the copy has
    /// more pods than those that the Service selects, as many as `namespace_pods` in its namespace.
    pub(super) fn explain(
        &self,
        options: &Options,
        scope: &ServiceScope,
        unknown: UnknownKinds,
        namespace_pods: usize,
    ) -> Explanation {
        let service = self.service.as_deref().filter(|_| scope.is_beside);
        let query = service.and_then(|service| beside::query_of(service).ok());
        let beside = query.map(|query| self.of_query(&query, *options));
        let input = beside.as_ref().unwrap_or(self);
        let is_narrowed = beside.is_some();
        let focus = Focus { unknown, namespace_pods: Some(namespace_pods), is_narrowed, ..Focus::default() };
        input.with_state(|state| explain_only(state, options, focus))
    }

    /// Calls `f` with the objects, as the engine takes them.
    pub(super) fn with_state<T>(&self, f: impl FnOnce(&State<'_>) -> T) -> T {
        let pods: Vec<&Pod> = self.pods.iter().map(|pod| &**pod).collect();
        let slices: Vec<&EndpointSlice> = self.slices.iter().map(|slice| &**slice).collect();
        f(&State {
            service: self.service.as_deref(),
            pods: &pods,
            nodes: &self.nodes,
            endpoints: self.endpoints.as_deref(),
            slices: &slices,
        })
    }

    /// Does work for the Service, aside if it takes so long that other tasks of the thread should not wait for it.
    pub(super) fn aside_if_large<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.pods.len() > MANY_PODS { aside(work) } else { work() }
    }

    /// The stored slice of this name.
    pub(super) fn slice(&self, name: &str) -> Option<&EndpointSlice> {
        self.slices.iter().map(|slice| &**slice).find(|slice| slice.meta.name == name)
    }
}
