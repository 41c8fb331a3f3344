//! Tests of the state of a node: what clients see after each event, and which events they get.

use std::{collections::BTreeMap, sync::Arc};

use roster_engine::{model::Resource, view::KeyOrder};
use serde_json::{Value, json};

use super::{
    node_state::{NodeState, ServedChange},
    raw_object::ObjectName,
    scheme::{EdgeScheme, NodeHealth},
    selection::Selection,
    versions::Versions,
    watch_cache::WatchCache,
};
use crate::servers::edge::{
    permissions::CACHED,
    upstream::upstream_event::{UpstreamEvent, UpstreamObject},
};

pub(crate) const OWN: &str = "hostname";
const START: u64 = 1000;

/// A state with caches behind it, as the server has them.
pub(crate) struct TestedNode {
    state: NodeState,
    caches: BTreeMap<Resource, WatchCache>,
    versions: Versions,
    seen: u64,
    /// How many decisions the last events took.
    pub(crate) decisions: usize,
}

impl TestedNode {
    /// A state for which all resources were listed, as they are here.
    pub(crate) fn new(scheme: EdgeScheme, objects: &[Value]) -> Self {
        Self::of(NodeState::new(OWN.into(), scheme, KeyOrder::AnyKey), scheme, objects)
    }

    pub(crate) fn of(state: NodeState, scheme: EdgeScheme, objects: &[Value]) -> Self {
        let mut tested =
            Self { state, caches: BTreeMap::new(), versions: Versions::from(START), seen: START, decisions: 0 };
        for resource in NodeState::watched(scheme).collect::<Vec<_>>() {
            let of_resource = objects.iter().filter(|o| o["kind"] == resource.kind());
            tested.take(UpstreamEvent::Replace(resource, of_resource.map(read).collect()));
        }
        tested
    }

    pub(crate) fn take(&mut self, event: UpstreamEvent) {
        let changes = self.state.apply(vec![event]).served;
        self.serve(changes);
    }

    pub(crate) fn set_health(&mut self, health: Option<NodeHealth>) {
        let changes = self.state.set_node_health(health);
        self.serve(changes);
    }

    fn serve(&mut self, changes: Vec<ServedChange>) {
        self.decisions += changes.len();
        for change in changes {
            let cache = self.caches.entry(change.resource).or_default();
            cache.apply(change.name, change.object, &mut self.versions);
        }
    }

    pub(crate) fn put(&mut self, object: &Value) {
        self.take(UpstreamEvent::Apply(read(object)));
    }

    pub(crate) fn delete(&mut self, object: &Value) {
        let UpstreamObject { resource, name, .. } = read(object);
        self.take(UpstreamEvent::Delete(resource, name));
    }

    /// The events since the last call: type, kind and name.
    pub(crate) fn events(&mut self) -> Vec<String> {
        let now = self.versions.current();
        let mut all = Vec::new();
        for (resource, cache) in &self.caches {
            let batch = cache.events_since(self.seen, now, &Selection::default(), usize::MAX).unwrap();
            all.extend(
                batch
                    .events
                    .into_iter()
                    .map(|e| (e.version, format!("{} {} {}", e.kind.name(), resource.kind(), e.object.name().name))),
            );
        }
        all.sort();
        (self.seen, self.decisions) = (now, 0);
        all.into_iter().map(|(_, text)| text).collect()
    }

    /// An object as clients see it.
    pub(crate) fn object(&self, resource: Resource, name: &str) -> Option<Value> {
        let name = ObjectName::new("default", name);
        let served = self.caches.get(&resource)?.get(&name)?;
        let mut text = Vec::new();
        served.object.write(served.version, &mut text);
        Some(serde_json::from_slice(&text).unwrap())
    }

    /// The addresses of an object as clients see them.
    pub(crate) fn addresses(&self, resource: Resource, name: &str) -> Vec<String> {
        let object = self.object(resource, name).unwrap();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let slices = list(&object["endpoints"]).into_iter().map(|e| e["addresses"][0].clone());
        let subsets = list(&object["subsets"]).into_iter().flat_map(|s| list(&s["addresses"])).map(|a| a["ip"].clone());
        slices.chain(subsets).map(|a| a.as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) fn read(object: &Value) -> UpstreamObject {
    let kind = object["kind"].as_str().unwrap();
    let resource = Resource::ALL.iter().find(|r| r.kind() == kind).copied().unwrap();
    UpstreamObject::read(resource, &object.to_string(), OWN).unwrap()
}

pub(crate) fn node(name: &str, labels: &[(&str, &str)]) -> Value {
    let labels: BTreeMap<_, _> = labels.iter().copied().collect();
    json!({ "kind": "Node", "metadata": { "name": name, "labels": labels } })
}

pub(crate) fn service(name: &str, annotations: &[(&str, &str)]) -> Value {
    let annotations: BTreeMap<_, _> = annotations.iter().copied().collect();
    json!({ "kind": "Service", "metadata": { "name": name, "namespace": "default", "annotations": annotations } })
}

/// Endpoints with addresses on nodes.
fn endpoints(name: &str, addresses: &[(&str, &str)]) -> Value {
    let addresses: Vec<Value> = addresses.iter().map(|(ip, node)| json!({ "ip": ip, "nodeName": node })).collect();
    json!({
        "kind": "Endpoints", "metadata": { "name": name, "namespace": "default" },
        "subsets": [{ "addresses": addresses, "ports": [{ "port": 80 }] }],
    })
}

/// A slice with endpoints on nodes; the empty name is none.
pub(crate) fn slice(name: &str, service: &str, endpoints: &[(&str, &str)]) -> Value {
    let one = |(ip, node): &(&str, &str)| match *node {
        "" => json!({ "addresses": [ip] }),
        node => json!({ "addresses": [ip], "nodeName": node }),
    };
    let labels = if service.is_empty() { json!({}) } else { json!({ "kubernetes.io/service-name": service }) };
    json!({
        "kind": "EndpointSlice", "metadata": { "name": name, "namespace": "default", "labels": labels },
        "addressType": "IPv4", "endpoints": endpoints.iter().map(one).collect::<Vec<_>>(),
    })
}

pub(crate) const REGION: &[(&str, &str)] = &[("topologyKeys", r#"["region"]"#)];

/// The fixture of A14: two Services, with endpoints on three nodes in two regions.
fn regions() -> TestedNode {
    TestedNode::new(
        EdgeScheme::SuperEdge,
        &[
            node(OWN, &[("region", "1")]),
            node("node-1", &[("region", "1")]),
            node("node-2", &[("region", "2")]),
            service("region-1", REGION),
            service("no-region", &[]),
            endpoints("region-1", &[("127.0.0.1", OWN), ("127.0.0.2", "node-1"), ("127.0.0.3", "node-2")]),
            endpoints("no-region", &[("127.0.2.1", OWN), ("127.0.2.2", "node-1"), ("127.0.2.3", "node-2")]),
        ],
    )
}

#[test]
fn a14_t3_the_labels_of_nodes_change() {
    let mut tested = regions();
    tested.events();
    let mut rows = Vec::new();
    for change in [
        None,
        Some(node(OWN, &[("region", "2")])),
        Some(node("node-2", &[("region", "3")])),
        Some(node("node-2", &[("region", "3")])),
        Some(node("node-2", &[("region", "3"), ("other", "x")])),
    ] {
        if let Some(node) = &change {
            tested.put(node);
        }
        let events = tested.events().into_iter().filter(|e| !e.contains("Node")).collect::<Vec<_>>();
        let addresses = ["region-1", "no-region"].map(|name| tested.addresses(Resource::Endpoints, name).concat());
        rows.push((events.join(), addresses));
    }
    let all = "127.0.2.1127.0.2.2127.0.2.3";
    let want = [
        ("", ["127.0.0.1127.0.0.2", all]),
        ("MODIFIED Endpoints region-1", ["127.0.0.1127.0.0.3", all]),
        ("MODIFIED Endpoints region-1", ["127.0.0.1", all]),
        ("", ["127.0.0.1", all]),
        ("", ["127.0.0.1", all]),
    ];
    assert_eq!(rows, want.map(|(events, addresses)| (events.to_owned(), addresses.map(str::to_owned))));
}

trait Join {
    fn join(self) -> String;
}

impl Join for Vec<String> {
    fn join(self) -> String {
        self.as_slice().join(", ")
    }
}

#[test]
fn a14_t4_the_keys_of_a_service_change() {
    let mut tested = regions();
    tested.events();
    tested.put(&service("no-region", &[("unrelated", "1")]));
    assert_eq!(tested.events(), ["MODIFIED Service no-region"]);
    tested.put(&service("no-region", REGION));
    assert_eq!(tested.events(), ["MODIFIED Endpoints no-region", "MODIFIED Service no-region"]);
    assert_eq!(tested.addresses(Resource::Endpoints, "no-region"), ["127.0.2.1", "127.0.2.2"]);
    tested.put(&service("no-region", REGION));
    assert_eq!(tested.events(), Vec::<String>::new());
}

#[test]
fn a14_a_node_and_a_service_are_deleted() {
    let mut tested = regions();
    tested.events();
    tested.delete(&node(OWN, &[]));
    assert_eq!(tested.events(), ["MODIFIED Endpoints region-1", "DELETED Node hostname"]);
    assert_eq!(tested.addresses(Resource::Endpoints, "region-1"), Vec::<String>::new());
    tested.delete(&service("region-1", &[]));
    assert_eq!(tested.events(), ["MODIFIED Endpoints region-1", "DELETED Service region-1"]);
    assert_eq!(tested.addresses(Resource::Endpoints, "region-1").len(), 3);
}

#[test]
fn a15_t1_a_slice_belongs_to_the_service_of_its_label() {
    let on_both = [("10.0.0.1", OWN), ("10.0.0.2", "node-2")];
    let long = "a-name-that-is-cut-because-it-has-fifty-eight-characters-xy";
    let tested = TestedNode::new(
        EdgeScheme::SuperEdge,
        &[
            node(OWN, &[("region", "1")]),
            node("node-2", &[("region", "2")]),
            service("web", REGION),
            service("other", &[]),
            service(long, REGION),
            slice("web-abcde", "web", &on_both),
            slice("custom", "web", &on_both),
            slice("web-v4-abcde", "web", &on_both),
            slice("web-plain", "other", &on_both),
            slice("web-none", "", &on_both),
            slice(&format!("{}12345", &long[..58]), long, &on_both),
        ],
    );
    for (name, want) in [
        ("web-abcde", 1),
        ("custom", 1),
        ("web-v4-abcde", 1),
        ("web-plain", 2),
        ("web-none", 2),
        (&*format!("{}12345", &long[..58]), 1),
    ] {
        assert_eq!(tested.addresses(Resource::EndpointSlice, name).len(), want, "{name}");
    }
}

#[test]
fn a15_t4_l4_clients_see_nothing_before_everything_was_listed() {
    let mut state = NodeState::new(OWN.into(), EdgeScheme::SuperEdge, KeyOrder::AnyKey);
    let list = |resource, objects: &[Value]| UpstreamEvent::Replace(resource, objects.iter().map(read).collect());
    let on_both = slice("web-1", "web", &[("10.0.0.1", OWN), ("10.0.0.2", "node-2")]);
    for event in [
        list(Resource::EndpointSlice, std::slice::from_ref(&on_both)),
        list(Resource::Endpoints, &[]),
        UpstreamEvent::Apply(read(&on_both)),
        list(Resource::Node, &[node(OWN, &[("region", "1")])]),
        list(Resource::Namespace, &[]),
    ] {
        assert!(state.apply(vec![event]).served.is_empty());
    }
    assert_eq!(state.awaited().collect::<Vec<_>>(), [Resource::Service]);
    let changes = state.apply(vec![list(Resource::Service, &[service("web", REGION)])]);
    let mut seen: Vec<_> = changes.served.iter().map(|c| (c.resource, c.name.name.to_string())).collect();
    seen.sort();
    let want = [(Resource::Service, "web"), (Resource::Node, OWN), (Resource::EndpointSlice, "web-1")];
    assert_eq!(seen, want.map(|(resource, name)| (resource, name.to_owned())));
}

/// A Service whose key all of its endpoints choose is decided about once, and the journal has each object once.
#[test]
fn events_that_arrive_together_are_decided_about_once() {
    let mut tested = regions();
    let of = |i: usize| slice("web-1", "web", &[(&format!("10.0.0.{i}"), OWN)]);
    let events = |count: usize| (1..=count).map(|i| UpstreamEvent::Apply(read(&of(i)))).collect::<Vec<_>>();
    let one = tested.state.apply(events(1));
    let many = tested.state.apply(events(100));
    assert_eq!((one.held.len(), one.served.len()), (many.held.len(), many.served.len()));
    assert_eq!(many.held.len(), 1);
}

#[test]
fn a15_t10_a_change_of_annotations_alone_is_seen() {
    let mut tested = regions();
    let mut changed = endpoints("no-region", &[("127.0.2.1", OWN), ("127.0.2.2", "node-1"), ("127.0.2.3", "node-2")]);
    changed["metadata"]["annotations"] = json!({ "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01" });
    tested.events();
    tested.put(&changed);
    assert_eq!(tested.events(), ["MODIFIED Endpoints no-region"]);
}

#[test]
fn a15_t13_a_node_label_touches_the_services_whose_keys_it_meets() {
    let mut objects = vec![node(OWN, &[("region", "1")]), node("a", &[("region", "1")]), node("b", &[("region", "1")])];
    for i in 0..100 {
        let (name, keys) = (format!("s{i}"), [r#"["region"]"#, r#"["rack"]"#][i % 2]);
        objects.push(service(&name, &[("topologyKeys", keys)]));
        objects.push(slice(&format!("{name}-1"), &name, &[("10.0.0.1", if i < 10 { "a" } else { "b" })]));
    }
    let mut tested = TestedNode::new(EdgeScheme::SuperEdge, &objects);
    tested.events();
    for (change, decisions, events) in [
        // The five Services with this key and an endpoint on the node.
        (node("a", &[("region", "2")]), 5, 5),
        (node("a", &[("region", "2"), ("other", "1")]), 0, 0),
        (node("a", &[("region", "2"), ("rack", "1")]), 5, 0),
        (node("b", &[("region", "1"), ("kubernetes.io/arch", "arm64")]), 0, 0),
        // All Services with the key, and the Node itself, which is served.
        (node(OWN, &[("region", "3")]), 51, 46),
        (node("c", &[("region", "3")]), 0, 0),
    ] {
        tested.put(&change);
        let decided = tested.decisions;
        assert_eq!((decided, tested.events().len()), (decisions, events), "{change}");
    }
    // A list in which several nodes are different, and one is missing.
    let own = node(OWN, &[("region", "3")]);
    let nodes = [own, node("a", &[("region", "9"), ("rack", "1")]), node("b", &[("region", "3")])];
    tested.take(UpstreamEvent::Replace(Resource::Node, nodes.iter().map(read).collect()));
    let decided = tested.decisions;
    assert_eq!((decided, tested.events().len()), (50, 45));
}

#[test]
fn a15_l3_what_a_list_does_not_have_was_deleted() {
    let mut tested = regions();
    tested.events();
    tested
        .take(UpstreamEvent::Replace(Resource::Endpoints, vec![read(&endpoints("no-region", &[("127.0.2.1", OWN)]))]));
    assert_eq!(tested.events(), ["MODIFIED Endpoints no-region", "DELETED Endpoints region-1"]);
    tested.take(UpstreamEvent::Replace(Resource::Node, vec![read(&node(OWN, &[("region", "1")]))]));
    assert_eq!(tested.events(), Vec::<String>::new());
}

#[test]
fn a15_t5_endpoints_without_a_node_and_empty_slices_are_cases() {
    let tested = TestedNode::new(
        EdgeScheme::SuperEdge,
        &[
            node(OWN, &[("region", "1")]),
            service("web", REGION),
            slice("no-node", "web", &[("10.0.0.1", ""), ("10.0.0.2", OWN)]),
            slice("empty", "web", &[]),
            json!({ "kind": "EndpointSlice", "metadata": { "name": "null", "namespace": "default",
                "labels": { "kubernetes.io/service-name": "web" } }, "endpoints": null }),
        ],
    );
    for (name, want) in [("no-node", &["10.0.0.2"][..]), ("empty", &[]), ("null", &[])] {
        assert_eq!(tested.addresses(Resource::EndpointSlice, name), want, "{name}");
    }
}

#[test]
fn a_slice_that_changes_its_service_is_decided_about_anew() {
    let mut tested = TestedNode::new(
        EdgeScheme::SuperEdge,
        &[
            node(OWN, &[("region", "1")]),
            node("b", &[("region", "2")]),
            service("fenced", REGION),
            service("open", &[]),
            slice("one", "open", &[("10.0.0.1", "b")]),
        ],
    );
    tested.events();
    for (service, want) in [("fenced", 0), ("open", 1), ("", 1), ("fenced", 0)] {
        tested.put(&slice("one", service, &[("10.0.0.1", "b")]));
        assert_eq!(
            (tested.events().len(), tested.addresses(Resource::EndpointSlice, "one").len()),
            (1, want),
            "{service}"
        );
    }
    tested.delete(&slice("one", "fenced", &[]));
    assert_eq!(tested.events(), ["DELETED EndpointSlice one"]);
}

#[test]
fn openyurt_follows_the_pool_of_the_node() {
    let pool = |name: &str, nodes: &[&str]| json!({ "kind": "NodePool", "metadata": { "name": name }, "status": { "nodes": nodes } });
    let in_pool = |name: &str| node(OWN, &[("apps.openyurt.io/nodepool", name)]);
    let mut tested = TestedNode::new(
        EdgeScheme::OpenYurt,
        &[
            in_pool("p"),
            service("fenced", &[("openyurt.io/topologyKeys", "openyurt.io/nodepool")]),
            service("open", &[]),
            slice("fenced-1", "fenced", &[("10.0.0.1", OWN), ("10.0.0.2", "b"), ("10.0.0.3", "c")]),
            slice("open-1", "open", &[("10.0.0.1", OWN), ("10.0.0.2", "b"), ("10.0.0.3", "c")]),
            pool("p", &[OWN, "b"]),
            pool("q", &["c"]),
        ],
    );
    tested.events();
    let mut rows = Vec::new();
    for change in [in_pool("p"), pool("p", &[OWN, "b", "c"]), pool("q", &["d"]), in_pool("q"), in_pool("r")] {
        tested.put(&change);
        let events = tested.events().into_iter().filter(|e| !e.contains("Node")).count();
        rows.push((events, tested.addresses(Resource::EndpointSlice, "fenced-1").len()));
    }
    assert_eq!(rows, [(0, 2), (1, 3), (0, 3), (1, 0), (1, 3)]);
    tested.delete(&pool("p", &[]));
    assert_eq!(tested.events(), Vec::<String>::new());
}

#[test]
fn openyurt_hides_services_of_other_pools() {
    let node_port = |listen: &str| {
        let mut object = service("web", &[("nodeport.openyurt.io/listen", listen)]);
        object["spec"] = json!({ "type": "NodePort" });
        object
    };
    let in_pool = |name: &str| node(OWN, &[("apps.openyurt.io/nodepool", name)]);
    let mut tested = TestedNode::new(EdgeScheme::OpenYurt, &[in_pool("p"), node_port("p")]);
    tested.events();
    let mut rows = Vec::new();
    for change in [node_port("q"), node_port("q,p"), in_pool("z"), in_pool("q")] {
        tested.put(&change);
        rows.push(tested.events().into_iter().filter(|e| e.contains("Service")).collect::<Vec<_>>().join());
    }
    let want = ["DELETED Service web", "ADDED Service web", "DELETED Service web", "ADDED Service web"];
    assert_eq!(rows, want);
}

#[test]
fn kube_proxy_sees_everything() {
    let mut tested = TestedNode::new(
        EdgeScheme::KubeProxy,
        &[node(OWN, &[]), service("web", REGION), slice("web-1", "web", &[("10.0.0.1", "b"), ("10.0.0.2", "")])],
    );
    tested.events();
    tested.put(&node("b", &[("region", "2")]));
    assert_eq!(tested.events(), Vec::<String>::new());
    assert_eq!(tested.addresses(Resource::EndpointSlice, "web-1"), ["10.0.0.1", "10.0.0.2"]);
}

#[test]
fn a_slice_is_decided_about_without_the_others_of_its_service() {
    let mut objects = vec![node(OWN, &[("region", "1")]), service("web", REGION), service("api", &[])];
    objects.extend((0..20).map(|i| slice(&format!("web-{i}"), "web", &[("10.0.0.1", OWN)])));
    for (scheme, order, decisions) in [
        (EdgeScheme::KubeProxy, KeyOrder::AnyKey, 1),
        (EdgeScheme::OpenYurt, KeyOrder::AnyKey, 1),
        (EdgeScheme::SuperEdge, KeyOrder::AnyKey, 1),
        // All of them choose the key.
        (EdgeScheme::SuperEdge, KeyOrder::Ordered, 20),
    ] {
        let mut tested = TestedNode::of(NodeState::new(OWN.into(), scheme, order), scheme, &objects);
        tested.events();
        tested.put(&slice("web-3", "web", &[("10.0.0.9", OWN)]));
        assert_eq!((tested.decisions, tested.events()), (decisions, vec!["MODIFIED EndpointSlice web-3".to_owned()]));
        tested.put(&slice("web-3", "api", &[("10.0.0.8", OWN), ("10.0.0.9", "far")]));
        assert_eq!(tested.addresses(Resource::EndpointSlice, "web-3"), ["10.0.0.8", "10.0.0.9"], "{scheme:?}");
        assert_eq!(tested.events(), ["MODIFIED EndpointSlice web-3"]);
        tested.delete(&slice("web-4", "web", &[]));
        assert_eq!(tested.events(), ["DELETED EndpointSlice web-4"]);
    }
}

#[test]
fn a_list_of_what_is_known_already_decides_nothing() {
    let mut tested = regions();
    tested.events();
    let again = endpoints("no-region", &[("127.0.2.1", OWN), ("127.0.2.2", "node-1"), ("127.0.2.3", "node-2")]);
    let mut newer = endpoints("region-1", &[("127.0.0.1", OWN), ("127.0.0.2", "node-1"), ("127.0.0.3", "node-2")]);
    newer["metadata"]["resourceVersion"] = "7".into();
    tested.take(UpstreamEvent::Replace(Resource::Endpoints, vec![read(&again), read(&newer)]));
    assert_eq!((tested.decisions, tested.events()), (0, Vec::new()));
}

#[test]
fn a_list_shares_the_texts_that_are_held_already() {
    let tested = regions();
    for (address, is_shared) in [("127.0.2.1", true), ("127.0.2.9", false)] {
        let listed = endpoints("no-region", &[(address, OWN), ("127.0.2.2", "node-1"), ("127.0.2.3", "node-2")]);
        let shared = tested.state.share(read(&listed));
        assert_eq!(shared.held.text().map(Arc::strong_count) > Some(1), is_shared, "{address}");
    }
}

/// A kind without a table would be listed, and its lists would be empty.
#[test]
fn clients_see_an_object_of_every_kind_that_is_cached() {
    let objects = CACHED.map(|resource| {
        let meta = json!({ "name": OWN, "labels": { "kubernetes.io/service-name": OWN } });
        json!({ "kind": resource.kind(), "metadata": meta, "addressType": "IPv4" })
    });
    let tested = TestedNode::new(EdgeScheme::KubeProxy, &objects);
    for resource in CACHED {
        let of_resource = tested.caches.get(&resource).map(WatchCache::len);
        assert_eq!(of_resource, Some(1), "{resource}");
    }
}
