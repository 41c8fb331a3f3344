//! What the controllers would do to one Service: decide first, act last.

#[cfg(test)]
use serde::Deserialize;

use crate::{
    endpoints, endpointslice, membership, mirror,
    model::{EndpointSlice, Endpoints, Nodes, Pod, Service},
    record::{Discard, Recorder},
    state::{Controller, Options, Plan, State, SyncContext, SyncInput, SyncReport, Trigger},
};

/// What `controllers` would do to one Service: the objects to write, and what a user should know.
///
/// ```
/// use roster_engine::{Controller, Options, State, model::{Nodes, Pod, Service}, plan};
/// use serde_json::json;
///
/// let service: Service = serde_json::from_value(json!({
///     "metadata": {"name": "web", "namespace": "shop"},
///     "spec": {
///         "selector": {"app": "web"}, "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"],
///         "ports": [{"port": 80, "targetPort": 8080, "protocol": "TCP"}],
///     },
/// }))?;
/// let pod: Pod = serde_json::from_value(json!({
///     "metadata": {"name": "web-0", "namespace": "shop", "labels": {"app": "web"}},
///     "spec": {"nodeName": "n1"},
///     "status": {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "Ready", "status": "True"}]},
/// }))?;
/// let nodes: Nodes = serde_json::from_value(json!([{"metadata": {"name": "n1"}}]))?;
///
/// let state = State { service: Some(&service), pods: &[&pod], nodes: &nodes, endpoints: None, slices: &[] };
/// let plan = plan(&state, &Controller::ALL, &Options::default());
/// assert_eq!(plan.endpoints.verb(), "create");
/// assert_eq!(plan.endpoint_slices.create[0].endpoints[0].addresses[0], "10.0.0.1");
/// assert!(plan.problems.is_empty());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn plan(state: &State<'_>, controllers: &[Controller], options: &Options) -> Plan {
    plan_recorded(state, controllers, options, &mut Discard)
}

/// [`plan`] with every decision recorded. The index of a pod in a record is its index among [`selected_pods`].
pub fn plan_recorded<R: Recorder>(
    state: &State<'_>,
    controllers: &[Controller],
    options: &Options,
    recorder: &mut R,
) -> Plan {
    plan_selected(&selected_pods(state), state, controllers, options, recorder)
}

/// [`plan_recorded`] for the Service of a state whose [`selected_pods`] are known.
pub(crate) fn plan_selected<R: Recorder>(
    pods: &[&Pod],
    state: &State<'_>,
    controllers: &[Controller],
    options: &Options,
    recorder: &mut R,
) -> Plan {
    let context = SyncContext {
        profile: options.compat.profile(),
        minor: options.compat,
        per_slice: options.per_slice(),
        per_subset: options.per_subset(),
        trigger: match options.trigger {
            Trigger::Creation => state.service.and_then(|s| s.meta.creation_timestamp),
            Trigger::At(time) => Some(time),
            Trigger::Unknown => None,
        },
    };
    let input = SyncInput { state, pods, context: &context };
    let mut report = SyncReport::default();
    let mut plan = Plan::default();
    let has = |c, recorder: &R| controllers.contains(&c) && !recorder.interrupt().is_requested();
    if has(Controller::Endpoints, recorder) {
        plan.endpoints = endpoints::sync(&input, &mut report, recorder);
    }
    if has(Controller::EndpointSlices, recorder) {
        plan.endpoint_slices = endpointslice::sync(&input, &mut report, recorder);
    }
    if has(Controller::Mirroring, recorder) {
        plan.endpoint_slices.append(mirror::sync(state, &context, &mut report));
    }
    Plan { events: report.events, errors: report.errors, problems: report.problems, ..plan }
}

/// The pods that the Service of `state` selects, in their order.
pub fn selected_pods<'a>(state: &State<'a>) -> Vec<&'a Pod> {
    state.service.map(|s| membership::selected(s, state.pods)).unwrap_or_default()
}

/// A request to plan one Service: its state and the options. It is the body of `/v1/plan`, which `decode::request` reads.
#[derive(Clone, Debug, Default)]
// The tests of the core are built without that decoder.
#[cfg_attr(test, derive(Deserialize), serde(rename_all = "camelCase", default))]
pub struct PlanRequest {
    /// The Service; missing if it was deleted.
    pub service: Option<Service>,
    /// Pods.
    pub pods: Vec<Pod>,
    /// Nodes.
    pub nodes: Nodes,
    /// The Endpoints that the cluster holds.
    pub endpoints: Option<Endpoints>,
    /// The slices that the cluster holds.
    pub endpoint_slices: Vec<EndpointSlice>,
    /// The controllers to plan for; all three if missing.
    pub controllers: Option<Vec<Controller>>,
    /// The options.
    pub options: Options,
}

impl PlanRequest {
    /// What the controllers would do.
    pub fn plan(&self) -> Plan {
        self.with_state(|state, controllers| plan(state, controllers, &self.options))
    }

    /// Calls `f` with the borrowed state.
    pub fn with_state<T>(&self, f: impl FnOnce(&State<'_>, &[Controller]) -> T) -> T {
        let pods: Vec<&Pod> = self.pods.iter().collect();
        let slices: Vec<&EndpointSlice> = self.endpoint_slices.iter().collect();
        let state = State {
            service: self.service.as_ref(),
            pods: &pods,
            nodes: &self.nodes,
            endpoints: self.endpoints.as_ref(),
            slices: &slices,
        };
        f(&state, self.controllers.as_deref().unwrap_or(&Controller::ALL))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::state::{EndpointsAction, SliceChanges};

    #[test]
    fn desired_objects_are_those_stored_after_the_plan() {
        let meta = |name: &str, namespace: &str| json!({ "metadata": { "name": name, "namespace": namespace } });
        let state = json!({
            "service": meta("web", "shop"),
            "endpoints": meta("web", "shop"),
            "endpointSlices": [meta("web-1", "shop"), meta("web-2", "shop"), meta("web-3", "shop"), meta("web-1", "other")],
        });
        let request: PlanRequest = serde_json::from_value(state).unwrap();
        let written = |name: &str| Endpoints {
            meta: crate::model::ObjectMeta { name: name.into(), ..Default::default() },
            ..Default::default()
        };
        let slice = |name: &str| EndpointSlice {
            meta: crate::model::ObjectMeta { name: name.into(), ..Default::default() },
            ..Default::default()
        };
        for (action, want) in [
            (EndpointsAction::None, Some("web")),
            (EndpointsAction::Create(Box::new(written("new"))), Some("new")),
            (EndpointsAction::Update(Box::new(written("newer"))), Some("newer")),
            (EndpointsAction::Delete, None),
        ] {
            let endpoint_slices = SliceChanges {
                create: vec![slice("")],
                update: vec![slice("web-3")],
                delete: vec!["web-2".into()],
                unchanged: vec!["web-1".into()],
            };
            let plan = Plan { endpoints: action, endpoint_slices, ..Plan::default() };
            request.with_state(|state, _| {
                assert_eq!(plan.desired_endpoints(state).map(|e| e.meta.name.as_str()), want);
                let slices: Vec<_> = plan.desired_slices(state).into_iter().map(|s| s.meta.name.as_str()).collect();
                assert_eq!(slices, ["", "web-3", "web-1"]);
            });
        }
    }
}
