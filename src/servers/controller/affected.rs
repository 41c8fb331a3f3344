//! Which Services a change concerns: those whose plan may read something that differs.
//!
//! The reference reacts to less. It forgets a phase, a hostname, a subdomain and a port of a pod, the zone of a node, and an owner of Endpoints,
//! and finds them at the next sync that happens to come.

use std::sync::Arc;

use roster_engine::{
    endpointslice::asks_for_zones,
    model::{EndpointSlice, Endpoints, Node, Pod, Service, installed::MANAGER, names},
    profile::Profile,
};
use roster_manifests::inventory::{Live, PlanningRows};

use super::queue::{Cause, Origin, ServiceKey};

/// A Service that is to be synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wake {
    pub(super) key: ServiceKey,
    pub(super) cause: Cause,
    pub(super) pace: Pace,
    pub(super) origin: Origin,
}

/// How soon a Service is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pace {
    /// At once.
    Now,
    /// After the batch period, together with other changes.
    Batch,
    /// After a second, and the batch period: another program has changed what the controllers write. Two that disagree would
    /// write as fast as they can otherwise (upstream: `endpointSliceChangeMinSyncDelay`).
    Correction,
}

impl Wake {
    fn new(key: ServiceKey, pace: Pace) -> Self {
        Self { key, cause: Cause::Change, pace, origin: Origin::Other }
    }

    fn by(origin: Origin, key: ServiceKey) -> Self {
        Self { origin, ..Self::new(key, Pace::Batch) }
    }
}

/// A change of an object: as it was, and as it is now.
pub(super) struct ObjectChange<T> {
    pub(super) before: Option<Arc<T>>,
    pub(super) after: Option<Arc<T>>,
}

impl<T> ObjectChange<T> {
    /// The object as it was, if it was there, and as it is, if it is there.
    pub(super) fn states(&self) -> impl Iterator<Item = &Arc<T>> {
        self.before.iter().chain(&self.after)
    }
}

type Cluster = Live<PlanningRows>;

pub(super) fn by_pod(change: &ObjectChange<Pod>, cluster: &Cluster) -> Vec<Wake> {
    let selecting = |pod: &'_ Arc<Pod>| -> Vec<ServiceKey> {
        let services = cluster.services.last_known().lookup().selecting(pod.namespace(), &pod.labels);
        services.map(|service| key_of(service)).collect()
    };
    let mut keys: Vec<ServiceKey> = match (&change.before, &change.after) {
        (Some(before), Some(after)) if before.labels == after.labels => selecting(after),
        _ => change.states().flat_map(selecting).collect(),
    };
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().map(|key| Wake::by(Origin::Pods, key)).collect()
}

pub(super) fn by_service(change: &ObjectChange<Service>) -> Vec<Wake> {
    let cause = if change.after.is_some() { Cause::Change } else { Cause::Leftover };
    let last = change.states().last();
    last.map(|service| Wake { cause, ..Wake::new(key_of(service), Pace::Now) }).into_iter().collect()
}

pub(super) fn by_endpoints(change: &ObjectChange<Endpoints>, cluster: &Cluster) -> Vec<Wake> {
    let Some(Endpoints { meta, .. }) = change.states().last().map(|endpoints| &**endpoints) else { return Vec::new() };
    let service = cluster.services.last_known().get(&meta.namespace, &meta.name);
    let is_written_here = service.is_some_and(|service| service.selector.is_some());
    let pace = if is_written_here { Pace::Correction } else { Pace::Now };
    vec![Wake::new(ServiceKey::new(&meta.namespace, &meta.name), pace)]
}

pub(super) fn by_slice(change: &ObjectChange<EndpointSlice>) -> Vec<Wake> {
    let is_managed = change.states().any(|slice| slice.managed_by().is_some_and(|by| is_controller(by)));
    if !is_managed {
        return Vec::new();
    }
    let service = |slice: &Arc<EndpointSlice>| {
        let service = slice.service_name().filter(|service| !service.is_empty())?;
        Some(ServiceKey::new(&slice.meta.namespace, service))
    };
    let mut keys: Vec<ServiceKey> = change.states().filter_map(service).collect();
    keys.dedup();
    keys.into_iter().map(|key| Wake::new(key, Pace::Correction)).collect()
}

pub(super) fn by_node(change: &ObjectChange<Node>, cluster: &Cluster, profile: &Profile) -> Vec<Wake> {
    let places: Vec<_> = change.states().map(|node| node.zone()).collect();
    let shares: Vec<_> =
        change.states().map(|node| (node.zone(), node.ready, node.cpu_nano, node.control_plane())).collect();
    let Some(node) = change.states().last() else { return Vec::new() };
    let is_new_or_gone = places.len() == 1;
    let mut keys = Vec::new();
    if is_new_or_gone || places[0] != places[1] {
        let services = cluster.services.last_known().lookup();
        let pods = cluster.pods.last_known().lookup().on_node(&node.name);
        keys.extend(pods.flat_map(|pod| services.selecting(pod.namespace(), &pod.labels)).map(|s| key_of(s)));
    }
    if is_new_or_gone || shares[0] != shares[1] {
        let services = cluster.services.last_known().lookup().with_hints();
        keys.extend(services.filter(|service| asks_for_zones(service, profile)).map(|service| key_of(service)));
    }
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().map(|key| Wake::by(Origin::Nodes, key)).collect()
}

fn key_of(service: &Service) -> ServiceKey {
    ServiceKey::new(&service.meta.namespace, &service.meta.name)
}

/// Whether it is the name with which one of the controllers marks its slices.
fn is_controller(managed_by: &str) -> bool {
    [names::SLICE_CONTROLLER, names::MIRROR_CONTROLLER, MANAGER].contains(&managed_by)
}

#[cfg(test)]
mod tests {
    use roster_admission::Unknown;
    use roster_engine::profile::Minor;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn read<T: DeserializeOwned>(value: Value) -> Arc<T> {
        Arc::new(serde_json::from_value(value).unwrap())
    }

    fn service(name: &str, spec: &Value, annotations: &Value) -> Arc<Service> {
        read(json!({ "metadata": { "name": name, "namespace": "shop", "annotations": annotations }, "spec": spec }))
    }

    fn pod(labels: &Value, node: &str, status: &Value) -> Arc<Pod> {
        let meta = json!({ "name": "p", "namespace": "shop", "labels": labels });
        read(json!({ "metadata": meta, "spec": { "nodeName": node }, "status": status }))
    }

    fn node(zone: &str, ready: &str) -> Arc<Node> {
        let meta = json!({ "name": "n", "labels": { "topology.kubernetes.io/zone": zone } });
        let status = json!({ "conditions": [{ "type": "Ready", "status": ready }], "allocatable": { "cpu": "4" } });
        read(json!({ "metadata": meta, "status": status }))
    }

    fn slice(labels: &Value) -> Arc<EndpointSlice> {
        read(json!({ "metadata": { "name": "s", "namespace": "shop", "labels": labels }, "addressType": "IPv4" }))
    }

    /// `web` and `blue` select pods, `zones` asks for hints, `by-hand` selects nothing. A pod of `web` is on a node.
    fn cluster() -> Cluster {
        let mut cluster = Cluster::empty(Unknown("test"));
        for (name, spec, annotations) in [
            ("web", json!({ "selector": { "app": "web" } }), json!({})),
            ("blue", json!({ "selector": { "color": "blue" } }), json!({})),
            ("zones", json!({ "selector": { "app": "zones" } }), json!({ names::TOPOLOGY_MODE: "Auto" })),
            ("by-hand", json!({}), json!({})),
        ] {
            cluster.services.insert(service(name, &spec, &annotations));
        }
        cluster.pods.insert(pod(&json!({ "app": "web" }), "n", &json!({})));
        cluster
    }

    fn change<T>(before: Option<Arc<T>>, after: Option<Arc<T>>) -> ObjectChange<T> {
        ObjectChange { before, after }
    }

    /// Each Service with its pace.
    fn woken(wakes: &[Wake]) -> String {
        let shown = wakes.iter().map(|wake| {
            let leftover = if wake.cause == Cause::Leftover { "!" } else { "" };
            format!("{}{leftover}:{:?}", wake.key.name, wake.pace)
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_pod_wakes_the_services_that_select_it_or_did() {
        let cluster = cluster();
        let web = || Some(pod(&json!({ "app": "web" }), "n", &json!({})));
        let ended = || Some(pod(&json!({ "app": "web" }), "n", &json!({ "phase": "Failed" })));
        let blue = || Some(pod(&json!({ "app": "web", "color": "blue" }), "n", &json!({})));
        let other = || Some(pod(&json!({ "app": "x" }), "n", &json!({})));
        for (before, after, want) in [
            (None, web(), "web:Batch"),
            (web(), ended(), "web:Batch"),
            (web(), blue(), "blue:Batch web:Batch"),
            (blue(), other(), "blue:Batch web:Batch"),
            (web(), None, "web:Batch"),
            (None, other(), ""),
        ] {
            assert_eq!(woken(&by_pod(&change(before, after), &cluster)), want);
        }
    }

    #[test]
    fn a_service_wakes_itself_and_what_is_left_of_it() {
        let web = || Some(service("web", &json!({}), &json!({})));
        assert_eq!(woken(&by_service(&change(None, web()))), "web:Now");
        assert_eq!(woken(&by_service(&change(web(), web()))), "web:Now");
        assert_eq!(woken(&by_service(&change(web(), None))), "web!:Now");
    }

    #[test]
    fn what_the_controllers_write_is_corrected_after_a_second() {
        let cluster = cluster();
        let endpoints = |name: &str| read::<Endpoints>(json!({ "metadata": { "name": name, "namespace": "shop" } }));
        for (name, is_there, want) in [
            ("web", true, "web:Correction"),
            ("web", false, "web:Correction"),
            ("by-hand", true, "by-hand:Now"),
            ("unknown", true, "unknown:Now"),
        ] {
            let (before, after) = (Some(endpoints(name)), is_there.then(|| endpoints(name)));
            assert_eq!(woken(&by_endpoints(&change(before, after), &cluster)), want);
        }
        let of = |service: &str| {
            slice(&json!({ names::SERVICE_NAME: service, names::SLICE_MANAGED_BY: names::SLICE_CONTROLLER }))
        };
        let foreign = || slice(&json!({ names::SERVICE_NAME: "web", names::SLICE_MANAGED_BY: "other" }));
        for (before, after, want) in [
            (None, Some(of("web")), "web:Correction"),
            (Some(of("web")), Some(of("blue")), "web:Correction blue:Correction"),
            (Some(of("web")), Some(foreign()), "web:Correction"),
            (Some(foreign()), Some(foreign()), ""),
            (Some(of("")), None, ""),
        ] {
            assert_eq!(woken(&by_slice(&change(before, after))), want);
        }
    }

    #[test]
    fn a_node_wakes_the_services_of_its_pods_and_those_that_share_zones() {
        let cluster = cluster();
        let profile = Minor::NEWEST.profile();
        for (before, after, want) in [
            (None, Some(node("a", "True")), "web:Batch zones:Batch"),
            (Some(node("a", "True")), Some(node("b", "True")), "web:Batch zones:Batch"),
            (Some(node("a", "True")), Some(node("a", "False")), "zones:Batch"),
            (Some(node("a", "True")), Some(node("a", "True")), ""),
            (Some(node("a", "True")), None, "web:Batch zones:Batch"),
        ] {
            assert_eq!(woken(&by_node(&change(before, after), &cluster, profile)), want);
        }
    }
}
