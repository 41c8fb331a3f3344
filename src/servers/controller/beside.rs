//! Services that the controller serves beside the built-in ones: those without a selector that name their pods in an annotation.
//!
//! They are planned like any other Service, with the names of the reference. Here these names are put in the place of our own
//! before a plan, and our own in their place after it: no other controller writes objects with our name, and the mirroring
//! controller leaves the Endpoints alone.

use std::sync::Arc;

use roster_engine::{
    model::{
        EndpointSlice, Endpoints, LabelQuery, Labels, Service, ServiceType,
        installed::{MANAGER, SELECTOR},
        names,
    },
    profile::Profile,
    state::{EndpointsAction, Plan},
};

use super::service_scope::NotServed;

/// The annotation with which a Service is held that has a selector of its own. No API server accepts such a name, so that no
/// user gives it to a Service.
const HAS_SELECTOR: &str = "has a selector";

/// A Service as it is held: with a selector only if it is one of these. Its pods are found by the labels that the annotation
/// wants with one value, and compared with the rest of it for each plan.
///
/// Of a selector of its own, only a mark is held: otherwise, each change of a pod would look for Services that others serve.
pub(super) fn held(mut service: Service) -> Service {
    if service.selector.is_some() {
        service.meta.annotations.insert(HAS_SELECTOR, "");
    }
    service.selector = query_of(&service).ok().map(|query| query.single_values());
    service
}

/// What selects the pods of a held Service; or why it is not one of these.
pub(super) fn query_of(service: &Service) -> Result<LabelQuery, NotServed> {
    let annotations = &service.meta.annotations;
    if service.kind == ServiceType::ExternalName {
        return Err(NotServed::ExternalName);
    }
    if annotations.contains_key(HAS_SELECTOR) {
        return Err(NotServed::HasSelector);
    }
    let query: LabelQuery =
        annotations.get(SELECTOR).ok_or(NotServed::NoAnnotation)?.parse().map_err(NotServed::Unreadable)?;
    // As in `kubectl`, an empty selector selects everything, which nobody means here.
    if query == LabelQuery::default() { Err(NotServed::Unreadable("it is empty".to_owned())) } else { Ok(query) }
}

/// Whether this controller has written an object of a Service.
pub(super) fn has_written(slices: &[Arc<EndpointSlice>], endpoints: Option<&Endpoints>) -> bool {
    endpoints.is_some_and(is_own) || own(slices).next().is_some()
}

fn own(slices: &[Arc<EndpointSlice>]) -> impl Iterator<Item = &Arc<EndpointSlice>> {
    slices.iter().filter(|slice| slice.managed_by().is_some_and(|by| by == MANAGER))
}

/// The slices of this controller, as the reference names them.
pub(super) fn slices_as_reference(slices: &[Arc<EndpointSlice>]) -> Vec<Arc<EndpointSlice>> {
    own(slices)
        .map(|slice| {
            let mut slice = EndpointSlice::clone(slice);
            slice.meta.labels.insert(names::SLICE_MANAGED_BY, names::SLICE_CONTROLLER);
            Arc::new(slice)
        })
        .collect()
}

/// The Endpoints of this controller, as the reference labels them.
pub(super) fn endpoints_as_reference(endpoints: &Endpoints, profile: &Profile) -> Endpoints {
    let mut endpoints = endpoints.clone();
    endpoints.meta.labels.remove(names::SKIP_MIRROR);
    endpoints.meta.labels.remove(names::ENDPOINTS_MANAGED_BY);
    if profile.managed_by_label {
        endpoints.meta.labels.insert(names::ENDPOINTS_MANAGED_BY, names::ENDPOINTS_CONTROLLER);
    }
    endpoints
}

/// Whether this controller has written the Endpoints.
pub(super) fn is_own(endpoints: &Endpoints) -> bool {
    endpoints.meta.labels.get(names::ENDPOINTS_MANAGED_BY).is_some_and(|by| by == MANAGER)
}

/// A plan with the names of this controller.
pub(super) fn as_own(mut plan: Plan) -> Plan {
    let changes = &mut plan.endpoint_slices;
    for slice in changes.create.iter_mut().chain(&mut changes.update) {
        slice.meta.labels.insert(names::SLICE_MANAGED_BY, MANAGER);
    }
    if let EndpointsAction::Create(endpoints) | EndpointsAction::Update(endpoints) = &mut plan.endpoints {
        let labels: &mut Labels = &mut endpoints.meta.labels;
        labels.insert(names::ENDPOINTS_MANAGED_BY, MANAGER);
        labels.insert(names::SKIP_MIRROR, "true");
    }
    plan
}

/// What is done with the objects of this controller if the Service is not, or not any more, one of its own: they go. The
/// garbage collector removes the slices of one that is gone.
pub(super) fn leftovers(
    service: Option<&Service>,
    slices: &[Arc<EndpointSlice>],
    endpoints: Option<&Endpoints>,
) -> Plan {
    let mut plan = Plan::default();
    if service.is_some() {
        plan.endpoint_slices.delete = own(slices).map(|slice| slice.meta.name.clone()).collect();
    }
    if endpoints.is_some_and(is_own) {
        plan.endpoints = EndpointsAction::Delete;
    }
    plan
}

#[cfg(test)]
mod tests {
    use roster_engine::state::{Controller, Options};
    use serde_json::{Value, json};

    use super::*;
    use crate::servers::controller::{queue::Cause, service_input::ServiceInput, service_scope::ServiceScope};

    const QUERY: &str = "app=web,tier in (front,edge)";

    fn service(annotation: Option<&str>, selector: &Value) -> Service {
        let annotations = annotation.map_or(Value::Null, |text| json!({ SELECTOR: text }));
        let meta = json!({ "name": "web", "namespace": "shop", "uid": "s", "annotations": annotations });
        let spec = json!({ "selector": selector, "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"],
            "ipFamilies": ["IPv4"], "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 80 }] });
        held(serde_json::from_value(json!({ "metadata": meta, "spec": spec })).unwrap())
    }

    fn input(service: Option<Service>) -> ServiceInput {
        let pod = |(n, tier): (usize, &str)| {
            let labels = json!({ "app": "web", "tier": tier });
            let meta =
                json!({ "name": format!("web-{n}"), "namespace": "shop", "uid": n.to_string(), "labels": labels });
            let ip = format!("10.0.0.{n}");
            let status = json!({ "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
                "conditions": [{ "type": "Ready", "status": "True" }] });
            Arc::new(
                serde_json::from_value(json!({ "metadata": meta, "spec": { "nodeName": "n" }, "status": status }))
                    .unwrap(),
            )
        };
        let pods = [(1, "front"), (2, "edge"), (3, "back")].map(pod).into();
        let node = serde_json::from_value(json!({ "metadata": { "name": "n" } })).unwrap();
        let nodes = Arc::new([Arc::new(node)].into_iter().collect());
        let service = service.map(Arc::new);
        ServiceInput { service, pods, nodes, endpoints: None, slices: Vec::new(), seen: None }
    }

    fn plan(input: &ServiceInput) -> Plan {
        let scope = ServiceScope { is_beside: true, ..ServiceScope::default() };
        input.plan(&Controller::ALL, Options::default(), &scope, Cause::Change).0
    }

    /// What is there after the plan of a Service of our own.
    fn written() -> ServiceInput {
        let mut input = input(Some(service(Some(QUERY), &Value::Null)));
        let plan = plan(&input);
        let mut slice = plan.endpoint_slices.create[0].clone();
        slice.meta.name = "web-1".into();
        input.slices = vec![Arc::new(slice)];
        let mut endpoints = plan.endpoints.object().unwrap().clone();
        endpoints.meta.resource_version = "1".into();
        input.endpoints = Some(Arc::new(endpoints));
        input
    }

    #[test]
    fn pods_are_those_of_the_annotation_and_names_are_our_own() {
        let input = written();
        let slice = &input.slices[0];
        let addresses: Vec<&str> = slice.endpoints.iter().map(|endpoint| endpoint.addresses[0].as_str()).collect();
        assert_eq!((addresses, slice.managed_by().unwrap().as_str()), (vec!["10.0.0.1", "10.0.0.2"], MANAGER));
        let labels = &input.endpoints.as_ref().unwrap().meta.labels;
        assert_eq!(labels.get(names::SKIP_MIRROR).unwrap(), "true");
        assert_eq!(labels.get(names::ENDPOINTS_MANAGED_BY).unwrap(), MANAGER);
        let again = plan(&input);
        assert!(again.endpoint_slices.is_noop() && again.endpoints == EndpointsAction::None, "{again:?}");
    }

    #[test]
    fn what_is_not_our_own_stays_and_what_is_goes_with_the_annotation() {
        let own = |service: Option<Service>| ServiceInput { service: service.map(Arc::new), ..written() };
        let foreign = |mut input: ServiceInput| {
            let mut slice = EndpointSlice::clone(&input.slices[0]);
            slice.meta.labels.insert(names::SLICE_MANAGED_BY, names::SLICE_CONTROLLER);
            input.slices = vec![Arc::new(slice)];
            let mut endpoints = Endpoints::clone(input.endpoints.as_ref().unwrap());
            endpoints.meta.labels.remove(names::ENDPOINTS_MANAGED_BY);
            input.endpoints = Some(Arc::new(endpoints));
            input
        };
        let selected = json!({ "app": "web" });
        for (name, input, slices, endpoints, event) in [
            ("no annotation", own(Some(service(None, &Value::Null))), 1, "delete", ""),
            ("a selector", own(Some(service(Some(QUERY), &selected))), 1, "delete", ""),
            ("a selector, and unreadable", own(Some(service(Some("app in web"), &selected))), 1, "delete", ""),
            ("gone", own(None), 0, "delete", ""),
            ("unreadable", own(Some(service(Some("app in web"), &Value::Null))), 0, "none", "InvalidSelector"),
            ("empty", own(Some(service(Some(" "), &Value::Null))), 0, "none", "InvalidSelector"),
            ("no condition", own(Some(service(Some(" ,"), &Value::Null))), 0, "none", "InvalidSelector"),
            (
                "foreign, with ours",
                foreign(own(Some(service(Some(QUERY), &Value::Null)))),
                0,
                "none",
                "EndpointsNotOwn",
            ),
            ("foreign", foreign(own(Some(service(None, &Value::Null)))), 0, "none", ""),
        ] {
            let plan = plan(&input);
            let reason = plan.events.first().map_or("", |event| event.reason);
            let done = (plan.endpoint_slices.delete.len(), plan.endpoints.verb(), reason);
            assert_eq!(done, (slices, endpoints, event), "{name}");
        }
    }
}
