//! What kube-controller-manager learns of a change.
//!
//! It puts a Service into its queue for some changes only, and forgets others: those stay wrong until something else happens to
//! the Service, and nothing is broken meanwhile. (Upstream: `GetServicesToUpdateOnPodChange`, `podEndpointsChanged`, and the event
//! handlers of the three controllers.)

use roster_engine::model::{EndpointSlice, Endpoints, Node, Pod, PodReadiness, Service};
use roster_manifests::inventory::{Live, PlanningRows};

use super::{affected::ObjectChange, queue::Notice};

fn of_cluster(reacts: bool) -> Notice {
    Notice { cluster: true, wakes_endpoints: reacts, wakes_slices: reacts, ..Notice::default() }
}

/// It does not look at a phase, a port or a hostname of its own.
pub(super) fn by_pod(change: &ObjectChange<Pod>) -> Notice {
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return of_cluster(true) };
    let shown = |pod: &Pod| (pod.deleting, pod.readiness == PodReadiness::Ready);
    let is_seen = shown(before) != shown(after) || before.ips != after.ips || before.labels != after.labels;
    of_cluster(is_seen)
}

pub(super) fn by_service(_: &ObjectChange<Service>) -> Notice {
    of_cluster(true)
}

/// It looks at all nodes again, but only for Services with hints that it could not give before.
pub(super) fn by_node(_: &ObjectChange<Node>) -> Notice {
    of_cluster(false)
}

/// Of Endpoints that it writes itself, it only misses those that are deleted.
pub(super) fn by_endpoints(change: &ObjectChange<Endpoints>, cluster: &Live<PlanningRows>) -> Notice {
    let is_mirrored = change.states().last().is_some_and(|endpoints| {
        let service = cluster.services.last_known().get(&endpoints.meta.namespace, &endpoints.meta.name);
        service.is_some_and(|service| service.selector.is_none())
    });
    let is_gone = change.after.is_none();
    Notice { endpoints: true, wakes_endpoints: is_gone, wakes_slices: is_mirrored, ..Notice::default() }
}

/// It sees that others have written a slice.
pub(super) fn by_slice(_: &ObjectChange<EndpointSlice>) -> Notice {
    Notice { slices: true, wakes_slices: true, ..Notice::default() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use roster_admission::Unknown;
    use roster_engine::model::names;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn read<T: DeserializeOwned>(value: Value) -> Arc<T> {
        Arc::new(serde_json::from_value(value).unwrap())
    }

    /// What has changed, and which of the reference's queues it wakes.
    fn shown(notice: Notice) -> String {
        let Notice { cluster, endpoints, slices, wakes_endpoints, wakes_slices } = notice;
        let parts = [
            (cluster, "cluster"),
            (endpoints, "endpoints"),
            (slices, "slices"),
            (wakes_endpoints, "wakes-endpoints"),
            (wakes_slices, "wakes-slices"),
        ];
        parts.iter().filter_map(|(is, name)| is.then_some(*name)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_reference_looks_at_a_part_of_a_pod() {
        let pod = |labels: Value, spec: Value, status: Value, deleted: Value| {
            let meta = json!({ "name": "p", "namespace": "shop", "labels": labels, "deletionTimestamp": deleted });
            Some(read::<Pod>(json!({ "metadata": meta, "spec": spec, "status": status })))
        };
        let running = |ready: &str, phase: &str, ip: &str| {
            let ready = json!([{ "type": "Ready", "status": ready }]);
            json!({ "phase": phase, "podIPs": [{ "ip": ip }], "podIP": ip, "conditions": ready })
        };
        let plain = |status: Value| pod(json!({ "app": "web" }), json!({}), status, Value::Null);
        let before = || plain(running("True", "Running", "10.0.0.1"));
        let web = || json!({ "app": "web" });
        let same = || running("True", "Running", "10.0.0.1");
        for (after, wakes) in [
            (before(), false),
            (plain(running("False", "Running", "10.0.0.1")), true),
            (plain(running("True", "Running", "10.0.0.2")), true),
            (pod(json!({ "app": "web", "x": "y" }), json!({}), same(), Value::Null), true),
            (pod(web(), json!({}), same(), json!("2026-01-01T00:00:00Z")), true),
            (None, true),
            (plain(running("True", "Failed", "10.0.0.1")), false),
            (pod(web(), json!({ "hostname": "h", "subdomain": "s" }), same(), Value::Null), false),
        ] {
            let want = if wakes { "cluster wakes-endpoints wakes-slices" } else { "cluster" };
            assert_eq!(shown(by_pod(&ObjectChange { before: before(), after: after.clone() })), want, "{after:?}");
        }
        assert_eq!(
            shown(by_pod(&ObjectChange { before: None, after: before() })),
            "cluster wakes-endpoints wakes-slices"
        );
    }

    #[test]
    fn each_controller_of_the_reference_is_woken_by_other_objects() {
        let mut cluster = Live::empty(Unknown("test"));
        for (name, selector) in [("web", json!({ "app": "web" })), ("by-hand", Value::Null)] {
            let service =
                json!({ "metadata": { "name": name, "namespace": "shop" }, "spec": { "selector": selector } });
            cluster.services.insert(read(service));
        }
        let endpoints =
            |name: &str| Some(read::<Endpoints>(json!({ "metadata": { "name": name, "namespace": "shop" } })));
        for (name, is_there, want) in [
            ("web", true, "endpoints"),
            ("web", false, "endpoints wakes-endpoints"),
            ("by-hand", true, "endpoints wakes-slices"),
            ("by-hand", false, "endpoints wakes-endpoints wakes-slices"),
            ("unknown", true, "endpoints"),
        ] {
            let after = endpoints(name).filter(|_| is_there);
            let change = ObjectChange { before: endpoints(name), after };
            assert_eq!(shown(by_endpoints(&change, &cluster)), want, "{name} {is_there}");
        }
        let labels = json!({ names::SERVICE_NAME: "web" });
        let slice =
            json!({ "metadata": { "name": "s", "namespace": "shop", "labels": labels }, "addressType": "IPv4" });
        assert_eq!(shown(by_slice(&ObjectChange { before: None, after: Some(read(slice)) })), "slices wakes-slices");
        let node = Some(read(json!({ "metadata": { "name": "n" } })));
        assert_eq!(shown(by_node(&ObjectChange { before: None, after: node })), "cluster");
        let service = cluster.services.last_known().get("shop", "web").cloned();
        let all = "cluster wakes-endpoints wakes-slices";
        assert_eq!(shown(by_service(&ObjectChange { before: service, after: None })), all);
    }
}
