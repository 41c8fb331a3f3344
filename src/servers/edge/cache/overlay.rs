//! Endpoints of the own node while the API server is away: what its pods are now takes the place of what was last known.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use roster_engine::{
    local_overlay::{LocalPods, OverlaidEndpoint, overlay_endpoints, overlay_slices},
    model::{EndpointSlice, Endpoints, Pod, Resource, Service},
};
use serde::Serialize;
use serde_json::json;

use super::{
    raw_object::{ObjectName, RawObject},
    scheme::Surroundings,
};

/// When the pods of the node count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OverlayPhase {
    /// The API server is there, and its state counts alone.
    #[default]
    Off,
    /// The API server is away.
    On,
    /// The API server is back. What it has of the node may be from before: a Service follows it as soon as both agree.
    CatchingUp,
}

/// The pods of the own node, as its kubelet knows them, and the Services for which they count.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    /// In the order of their namespaces.
    pub(crate) pods: Vec<Pod>,
    pub(crate) phase: OverlayPhase,
    /// The Services whose endpoints differ from what the API server last had.
    differing: BTreeSet<ObjectName>,
    /// The slices that were added for a Service.
    added: BTreeMap<ObjectName, BTreeSet<ObjectName>>,
}

/// The Endpoints or the slices of a Service with the endpoints of the node decided anew.
#[derive(Debug)]
pub(super) struct Overlaid {
    pub(crate) objects: Vec<Arc<RawObject>>,
    /// Slices that were added before, and are not any more.
    pub(crate) gone: Vec<ObjectName>,
}

impl Overlay {
    /// The Services whose endpoints differ from what the API server last had.
    pub(crate) fn differing(&self) -> impl Iterator<Item = &ObjectName> {
        self.differing.iter()
    }

    /// Whether the endpoints of a Service are, or were, others than the API server last had.
    pub(super) fn concerns(&self, service: &ObjectName) -> bool {
        self.applies_to(service) || self.differing.contains(service) || self.added.contains_key(service)
    }

    fn applies_to(&self, service: &ObjectName) -> bool {
        match self.phase {
            OverlayPhase::Off => false,
            OverlayPhase::On => true,
            OverlayPhase::CatchingUp => self.differing.contains(service),
        }
    }

    /// Lays the pods of the node over the Endpoints or the slices of a Service. `text` is that of the Service.
    pub(super) fn lay(
        &mut self,
        name: &ObjectName,
        text: Option<&RawObject>,
        resource: Resource,
        objects: Vec<Arc<RawObject>>,
        around: Surroundings<'_>,
    ) -> Overlaid {
        let service: Option<Service> =
            text.filter(|_| self.applies_to(name)).and_then(|raw| serde_json::from_str(&raw.text).ok());
        let Some(service) = service else { return self.without(name, resource, objects) };
        let first = self.pods.partition_point(|pod| *pod.namespace() < name.namespace);
        let of_namespace = self.pods[first..].iter().take_while(|pod| *pod.namespace() == name.namespace);
        let local = of_namespace.collect::<Vec<_>>();
        let local = LocalPods { node: &around.own.name, nodes: around.held.nodes(), pods: &local };
        let (objects, added, differs) = match resource {
            Resource::Endpoints => endpoints_over(&service, objects, &local),
            _ => slices_over(&service, name, objects, &local),
        };
        if differs {
            self.differing.insert(name.clone());
        } else if resource == Resource::EndpointSlice {
            // Endpoints are decided about first, and kube-proxy reads slices.
            self.differing.remove(name);
        }
        let gone = self.replace_added(name, resource, added);
        Overlaid { objects, gone }
    }

    /// What the API server last had.
    fn without(&mut self, name: &ObjectName, resource: Resource, objects: Vec<Arc<RawObject>>) -> Overlaid {
        self.differing.remove(name);
        Overlaid { objects, gone: self.replace_added(name, resource, BTreeSet::new()) }
    }

    /// Remembers the added slices of a Service, and returns those that are gone.
    fn replace_added(&mut self, name: &ObjectName, resource: Resource, added: BTreeSet<ObjectName>) -> Vec<ObjectName> {
        if resource != Resource::EndpointSlice {
            return Vec::new();
        }
        let before = self.added.remove(name).unwrap_or_default();
        let gone = before.difference(&added).cloned().collect();
        if !added.is_empty() {
            self.added.insert(name.clone(), added);
        }
        gone
    }
}

/// Objects, the names of those that were added, and whether anything differs.
type Laid = (Vec<Arc<RawObject>>, BTreeSet<ObjectName>, bool);

fn endpoints_over(service: &Service, objects: Vec<Arc<RawObject>>, local: &LocalPods<'_>) -> Laid {
    let mut differs = false;
    let over = |raw: Arc<RawObject>| {
        let stored: Option<Endpoints> = serde_json::from_str(&raw.text).ok();
        let after = stored.and_then(|stored| overlay_endpoints(service, &stored, local));
        let tail = raw.endpoints.as_ref().map(|lists| lists.tail_at);
        let text =
            after.zip(tail).map(|(after, at)| format!(r#"{},"subsets":{}}}"#, &raw.text[..at], json!(after.subsets)));
        let read = text.and_then(|text| RawObject::read(Resource::Endpoints, &text).ok());
        differs |= read.is_some();
        read.map_or(raw, Arc::new)
    };
    (objects.into_iter().map(over).collect(), BTreeSet::new(), differs)
}

fn slices_over(service: &Service, name: &ObjectName, mut objects: Vec<Arc<RawObject>>, local: &LocalPods<'_>) -> Laid {
    let slices: Option<Vec<EndpointSlice>> = objects.iter().map(|raw| serde_json::from_str(&raw.text).ok()).collect();
    // What cannot be read stays as it is, with everything else of its Service: its endpoints may be among those.
    let Some(slices) = slices else { return (objects, BTreeSet::new(), false) };
    let overlay = overlay_slices(service, &slices.iter().collect::<Vec<_>>(), local);
    let differs = !overlay.is_empty();
    for (index, endpoints) in overlay.changed {
        let over = objects.get(index).and_then(|raw| with_endpoints(raw, &endpoints));
        if let (Some(raw), Some(place)) = (over, objects.get_mut(index)) {
            *place = Arc::new(raw);
        }
    }
    let mut added = BTreeSet::new();
    for (number, mut slice) in overlay.added.into_iter().enumerate() {
        // No controller generates names with dots.
        slice.meta.name = format!("{}.{}.{number}", name.name, local.node).into();
        if let Some(raw) = json_of(&slice).and_then(|text| RawObject::read(Resource::EndpointSlice, &text).ok()) {
            added.insert(raw.name.clone());
            objects.push(Arc::new(raw));
        }
    }
    (objects, added, differs)
}

/// A slice with other endpoints. Those that are stored keep their text.
fn with_endpoints(raw: &RawObject, endpoints: &[OverlaidEndpoint]) -> Option<RawObject> {
    let lists = raw.endpoints.as_ref()?;
    let list = lists.lists.first()?;
    let mut out = raw.text[..list.text.start].to_owned();
    for (i, endpoint) in endpoints.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        match endpoint {
            OverlaidEndpoint::Stored(index) => out.push_str(&raw.text[lists.endpoints.get(*index)?.text.clone()]),
            OverlaidEndpoint::Decided(endpoint) => out.push_str(&json_of(endpoint)?),
        }
    }
    out.push_str(&raw.text[list.text.end..]);
    RawObject::read(Resource::EndpointSlice, &out).ok()
}

/// A value as JSON. The values here are plain objects, which always are JSON.
fn json_of(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{
        super::{held_objects::HeldObjects, scheme::OwnNode},
        *,
    };
    use crate::servers::edge::upstream::upstream_event::{UpstreamEvent, UpstreamObject};

    const NAME: &str = "web";

    fn raw(resource: Resource, object: &Value) -> Arc<RawObject> {
        Arc::new(RawObject::read(resource, &object.to_string()).unwrap())
    }

    fn service() -> Arc<RawObject> {
        let port = json!({"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"});
        let meta = json!({"name": NAME, "namespace": "ns", "uid": NAME});
        let spec =
            json!({"selector": {"app": "web"}, "ports": [port], "ipFamilies": ["IPv4"], "clusterIP": "10.96.0.1"});
        raw(Resource::Service, &json!({"metadata": meta, "spec": spec}))
    }

    fn pods(ips: &[&str]) -> Vec<Pod> {
        let pod = |ip: &&str| {
            let name = format!("of-{ip}");
            json!({
                "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"app": "web"}},
                "spec": {"nodeName": "n1"},
                "status": {"podIP": ip, "podIPs": [{"ip": ip}], "conditions": [{"type": "Ready", "status": "True"}]},
            })
        };
        ips.iter().map(|ip| serde_json::from_value(pod(ip)).unwrap()).collect()
    }

    /// A stored slice with a field that is not known here in each endpoint.
    fn slice(endpoints: &[(&str, &str)]) -> Arc<RawObject> {
        let endpoint = |(ip, node): &(&str, &str)| {
            json!({
                "addresses": [ip], "nodeName": node, "future": ip,
                "conditions": {"ready": true, "serving": true, "terminating": false},
                "targetRef": {"kind": "Pod", "namespace": "ns", "name": format!("of-{ip}"), "uid": "other"},
            })
        };
        let labels = json!({
            "kubernetes.io/service-name": NAME,
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        });
        let owner = json!({"apiVersion": "v1", "kind": "Service", "name": NAME, "uid": NAME, "controller": true});
        let meta = json!({"name": "web-1", "namespace": "ns", "labels": labels, "ownerReferences": [owner]});
        let ports = json!([{"name": "http", "port": 8080, "protocol": "TCP"}]);
        let endpoints: Vec<Value> = endpoints.iter().map(endpoint).collect();
        raw(
            Resource::EndpointSlice,
            &json!({"metadata": meta, "addressType": "IPv4", "ports": ports, "endpoints": endpoints}),
        )
    }

    /// What is served: `slice: address` of each endpoint, with `*` where its unknown field is still there; and what is gone.
    fn lay(overlay: &mut Overlay, objects: &[Arc<RawObject>]) -> (Vec<String>, Vec<String>) {
        let node = UpstreamObject::read(Resource::Node, r#"{"metadata": {"name": "n1"}}"#, "n1").unwrap();
        let (own, mut held) = (OwnNode { name: "n1".into(), ..OwnNode::default() }, HeldObjects::new());
        held.take(UpstreamEvent::Apply(node));
        let around = Surroundings { own: &own, held: &held };
        let name = ObjectName::new("ns", NAME);
        let overlaid = overlay.lay(&name, Some(&service()), Resource::EndpointSlice, objects.to_vec(), around);
        let lines = overlaid.objects.iter().flat_map(|raw| {
            let slice: Value = serde_json::from_str(&raw.text).unwrap();
            let name = slice["metadata"]["name"].as_str().unwrap().to_owned();
            let endpoints = slice["endpoints"].as_array().unwrap().clone();
            endpoints.into_iter().map(move |e| {
                let kept = if e["future"].is_null() { "" } else { "*" };
                format!("{name}: {}{kept}", e["addresses"][0].as_str().unwrap())
            })
        });
        (lines.collect(), overlaid.gone.into_iter().map(|name| name.name.to_string()).collect())
    }

    #[test]
    fn pods_of_the_node_count_while_the_api_server_is_away_and_until_it_agrees() {
        use OverlayPhase::{CatchingUp, Off, On};
        let before = [slice(&[("10.0.0.1", "n1"), ("10.0.1.1", "n2")])];
        let agreed = [slice(&[("10.0.0.9", "n1"), ("10.0.1.1", "n2")])];
        let mut overlay = Overlay::default();
        for (phase, ips, stored, want, differing) in [
            (Off, ["10.0.0.9"], &before, ["web-1: 10.0.0.1*", "web-1: 10.0.1.1*"], 0),
            (On, ["10.0.0.1"], &before, ["web-1: 10.0.0.1*", "web-1: 10.0.1.1*"], 0),
            (On, ["10.0.0.9"], &before, ["web-1: 10.0.1.1*", "web-1: 10.0.0.9"], 1),
            // It is back, and has not heard of the change yet.
            (CatchingUp, ["10.0.0.9"], &before, ["web-1: 10.0.1.1*", "web-1: 10.0.0.9"], 1),
            (CatchingUp, ["10.0.0.9"], &agreed, ["web-1: 10.0.0.9*", "web-1: 10.0.1.1*"], 0),
            // From then on, its state counts, whatever the kubelet says.
            (CatchingUp, ["10.0.0.8"], &agreed, ["web-1: 10.0.0.9*", "web-1: 10.0.1.1*"], 0),
            (On, ["10.0.0.8"], &agreed, ["web-1: 10.0.1.1*", "web-1: 10.0.0.8"], 1),
            (Off, ["10.0.0.8"], &agreed, ["web-1: 10.0.0.9*", "web-1: 10.0.1.1*"], 0),
        ] {
            (overlay.phase, overlay.pods) = (phase, pods(&ips));
            let (served, gone) = lay(&mut overlay, stored);
            assert_eq!((served, gone), (want.map(str::to_owned).to_vec(), vec![]), "{phase:?} {ips:?}");
            assert_eq!(overlay.differing().count(), differing, "{phase:?} {ips:?}");
        }
    }

    #[test]
    fn a_slice_is_added_where_there_is_none_and_goes_again() {
        let mut overlay = Overlay { pods: pods(&["10.0.0.1"]), phase: OverlayPhase::On, ..Overlay::default() };
        let added = vec!["web.n1.0: 10.0.0.1".to_owned()];
        assert_eq!(lay(&mut overlay, &[]), (added.clone(), vec![]));
        assert_eq!(lay(&mut overlay, &[]), (added, vec![]), "again");
        let stored = [slice(&[("10.0.0.1", "n1")])];
        let want = vec!["web-1: 10.0.0.1*".to_owned()];
        assert_eq!(lay(&mut overlay, &stored), (want, vec!["web.n1.0".to_owned()]));
    }

    #[test]
    fn a_list_with_a_slice_that_cannot_be_read_stays_as_it_is() {
        let mut overlay = Overlay { pods: pods(&["10.0.0.9"]), phase: OverlayPhase::On, ..Overlay::default() };
        let odd = raw(
            Resource::EndpointSlice,
            &json!({"metadata": {"name": "odd", "namespace": "ns"}, "addressType": 7, "endpoints": []}),
        );
        let (served, _) = lay(&mut overlay, &[slice(&[("10.0.0.1", "n1")]), odd]);
        assert_eq!(served, ["web-1: 10.0.0.1*"]);
    }
}
