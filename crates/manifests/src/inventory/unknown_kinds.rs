//! The kinds that an inventory lacks, namespace by namespace, and what is therefore not concluded.
//!
//! `kubectl get services,pods -o yaml` prints no Nodes, and files in git contain no slices: such an input is a part of a
//! cluster. That it lacks objects of a kind says nothing about the cluster; nor do the Pods of one namespace say anything
//! about those of another.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use roster_engine::{
    model::{EndpointSlice, HashSeed, Labels, Node, ObjectKey, Pod, Text, names},
    phrase::absent,
    reason::{Finding, Reason},
    state::State,
    unknown_kinds::UnknownKinds,
};

use super::objects::Inventory;

/// The kinds of which an inventory has no object, by namespace. What is assumed was not in the input.
#[derive(Debug)]
pub(super) struct UnknownByNamespace<'a> {
    inventory: &'a Inventory,
    /// The namespaces that have an object.
    namespaces: HashMap<&'a str, UnknownKinds, HashSeed>,
    /// What is unknown of all other namespaces.
    others: UnknownKinds,
}

impl<'a> UnknownByNamespace<'a> {
    pub(super) fn new(inventory: &'a Inventory) -> Self {
        let nodes = inventory.nodes_of_input().is_empty();
        let others = UnknownKinds { services: true, pods: true, assumes_pods: false, nodes, endpoints: true };
        let mut this = Self { inventory, namespaces: HashMap::default(), others };
        let read = inventory.pods_of_input();
        this.note(&inventory.services, |s| &s.meta.namespace, |kinds| kinds.services = false);
        this.note(read, Pod::namespace, |kinds| kinds.pods = false);
        this.note(&inventory.pods[read.len()..], Pod::namespace, |kinds| kinds.assumes_pods = true);
        this.note(&inventory.workloads, |w| &w.namespace, |kinds| kinds.assumes_pods = true);
        this.note(&inventory.endpoints, |e| &e.meta.namespace, |kinds| kinds.endpoints = false);
        this
    }

    /// Notes for each namespace of `objects` what they say of it.
    fn note<T>(&mut self, objects: &'a [T], namespace: fn(&T) -> &Text, known: fn(&mut UnknownKinds)) {
        // Objects mostly come namespace by namespace.
        for run in objects.chunk_by(|a, b| namespace(a) == namespace(b)) {
            if let Some(first) = run.first() {
                known(self.namespaces.entry(namespace(first)).or_insert(self.others));
            }
        }
    }

    /// What is unknown of a namespace.
    pub(super) fn of(&self, namespace: &str) -> UnknownKinds {
        self.namespaces.get(namespace).copied().unwrap_or(self.others)
    }

    /// Whether there are no Nodes.
    pub(super) fn nodes(&self) -> bool {
        self.others.nodes
    }

    /// What is not checked of one Service; `None` if everything is.
    pub(super) fn of_state(&self, namespace: &str, state: &State<'_>) -> Option<String> {
        let mut gaps = Gaps::default();
        gaps.add(namespace, state, self.of(namespace));
        self.sentences(&gaps, false).next().map(|(_, sentence)| sentence)
    }

    /// A finding for each kind that would make a difference to one of `states`, which are in the order of their namespaces,
    /// with the namespaces that have no object of the kind.
    pub(super) fn findings<'s>(&self, states: impl Iterator<Item = (&'s str, State<'s>)>) -> Vec<Finding> {
        let mut gaps = Gaps::default();
        for (namespace, state) in states {
            gaps.add(namespace, &state, self.of(namespace));
        }
        let is_node_named = || self.inventory.pods_of_input().iter().any(|p| !p.node_name.is_empty());
        self.sentences(&gaps, self.nodes() && is_node_named())
            .map(|(kind, sentence)| {
                let key = ObjectKey { kind: Text::new_static(kind), ..ObjectKey::default() };
                Finding::new(Reason::NotChecked, key, sentence)
            })
            .collect()
    }

    /// What is not checked, by kind. `nodes`: whether this concerns Nodes, too.
    fn sentences(&self, gaps: &Gaps<'_>, nodes: bool) -> impl Iterator<Item = (&'static str, String)> {
        let read = self.inventory.pods_of_input();
        let assumes = self.inventory.pods.len() > read.len() || !self.inventory.workloads.is_empty();
        let no_nodes: &[&str] = if nodes { &[""] } else { &[] };
        [
            (
                "Service",
                "not checked whether Endpoints and slices are left over",
                self.inventory.services.is_empty(),
                gaps.services.as_slice(),
            ),
            (
                "Pod",
                "not checked which endpoints Services with a selector have",
                read.is_empty() && !assumes,
                gaps.pods.as_slice(),
            ),
            (
                "Pod",
                "not checked whether the stored endpoints of Services with a selector are right",
                read.is_empty() && gaps.pods.is_empty(),
                gaps.stored_pods.as_slice(),
            ),
            (
                "Node",
                "not checked whether the nodes of pods exist, nor their zones; stored zones and hints stay",
                true,
                no_nodes,
            ),
            (
                "Endpoints",
                "not checked whether mirrored slices are left over",
                self.inventory.endpoints.is_empty(),
                gaps.endpoints.as_slice(),
            ),
        ]
        .into_iter()
        .filter(|(.., namespaces)| !namespaces.is_empty())
        .map(|(kind, consequence, is_everywhere, namespaces)| {
            let kinds = if kind == "Endpoints" { kind.to_owned() } else { format!("{kind}s") };
            let mut absent = absent(&kinds, if is_everywhere { &[] } else { namespaces });
            if let Some(unread) = self.inventory.unread.first_labelled().filter(|_| kind == "Pod") {
                absent = format!("{absent}, and {unread} cannot be read");
            }
            (kind, format!("{absent}: {consequence}"))
        })
        .collect::<Vec<_>>()
        .into_iter()
    }
}

/// The namespaces in which an unknown kind would make a difference.
#[derive(Default)]
struct Gaps<'s> {
    services: Vec<&'s str>,
    pods: Vec<&'s str>,
    /// Those with workloads whose Services have stored endpoints.
    stored_pods: Vec<&'s str>,
    endpoints: Vec<&'s str>,
}

impl<'s> Gaps<'s> {
    fn add(&mut self, namespace: &'s str, state: &State<'_>, unknown: UnknownKinds) {
        let mut add = |is_unknown: bool, namespaces: fn(&mut Self) -> &mut Vec<&'s str>| {
            let namespaces = namespaces(self);
            if is_unknown && namespaces.last() != Some(&namespace) {
                namespaces.push(namespace);
            }
        };
        if state.service.is_none() {
            return add(unknown.services, |gaps| &mut gaps.services);
        }
        let hides_pods = unknown.hides_pods_of(state);
        add(hides_pods && !unknown.assumes_pods, |gaps| &mut gaps.pods);
        add(hides_pods && unknown.assumes_pods, |gaps| &mut gaps.stored_pods);
        add(!hides_pods && unknown.hides_changes_of(state), |gaps| &mut gaps.endpoints);
    }
}

/// The nodes that pods name and that are not among the others, each with the zone that a stored slice gives it: the first
/// one by namespace and name, so that the order of the input does not matter. They are ready, as most nodes are; how much
/// CPU they have stays unknown.
pub(super) fn assumed_nodes(inventory: &Inventory) -> Vec<Arc<Node>> {
    let mut missing: BTreeSet<&str> = inventory.pods.iter().map(|p| p.node_name.as_str()).collect();
    missing.remove("");
    for node in &inventory.nodes {
        missing.remove(node.name.as_str());
    }
    let mut slices: Vec<&EndpointSlice> = inventory.slices.iter().collect();
    slices.sort_by_key(|slice| (&slice.meta.namespace, &slice.meta.name));
    let mut zones: BTreeMap<&str, &str> = BTreeMap::new();
    for endpoint in slices.into_iter().flat_map(|slice| &slice.endpoints) {
        if let Some((node, zone)) = endpoint.node_name.as_ref().zip(endpoint.zone.as_ref()) {
            zones.entry(node).or_insert(zone);
        }
    }
    let zone_of = |node: &str| zones.get(node).map(|zone| (names::ZONE, Text::new(zone)));
    missing
        .into_iter()
        .map(|name| {
            let labels = zone_of(name).into_iter().collect::<Labels>();
            Arc::new(Node { name: Text::new(name), labels, ready: true, ..Node::default() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use roster_engine::{
        compare::Tally,
        state::{Controller, Options},
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::inventory::{AnyObject, whole};

    fn meta(namespace: &str, name: &str) -> Value {
        json!({ "namespace": namespace, "name": name, "uid": "u", "labels": { "app": "web" } })
    }

    fn service(namespace: &str, selector: &Value) -> AnyObject {
        let spec = json!({ "selector": selector, "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"],
            "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 80 }] });
        AnyObject::Service(serde_json::from_value(json!({ "metadata": meta(namespace, "web"), "spec": spec })).unwrap())
    }

    fn pod(namespace: &str) -> AnyObject {
        AnyObject::Pod(serde_json::from_value(json!({ "metadata": meta(namespace, "web-1") })).unwrap())
    }

    fn endpoints(namespace: &str) -> AnyObject {
        let subsets = json!([{ "addresses": [{ "ip": "10.0.0.1" }], "ports": [{ "port": 80, "protocol": "TCP" }] }]);
        let object = json!({ "metadata": meta(namespace, "web"), "subsets": subsets });
        AnyObject::Endpoints(serde_json::from_value(object).unwrap())
    }

    fn slice(namespace: &str, managed_by: &str) -> AnyObject {
        let labels =
            json!({ "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": managed_by });
        let object = json!({ "metadata": { "namespace": namespace, "name": "web-1", "uid": "s", "labels": labels },
            "addressType": "IPv4", "endpoints": [{ "addresses": ["10.0.0.1"] }] });
        AnyObject::EndpointSlice(serde_json::from_value(object).unwrap())
    }

    fn inventory(objects: Vec<AnyObject>) -> Inventory {
        let mut inventory = Inventory::default();
        for object in objects {
            inventory.add(object);
        }
        inventory
    }

    /// The namespaces in which something changes, of a part of a cluster and of a whole one, and what is not checked.
    fn planned(objects: Vec<AnyObject>) -> (Vec<String>, Vec<String>, Vec<String>) {
        let inventory = inventory(objects);
        let (part, whole) = (inventory.index_of_part(), inventory.index());
        let changed = |index: &crate::inventory::Index<'_>| {
            let is_changed = |entry: &&crate::inventory::Entry<'_>| {
                let plan = whole::plan_of(index, entry, &Controller::ALL, &Options::default());
                Tally::of(&index.state(entry), &plan).is_change()
            };
            index.entries().iter().filter(is_changed).map(|entry| entry.namespace.to_string()).collect()
        };
        let not_checked = part.problems().iter().filter(|f| f.code == Reason::NotChecked).map(|f| f.message.clone());
        (changed(&part), changed(&whole), not_checked.collect())
    }

    #[test]
    fn what_one_namespace_has_says_nothing_about_another() {
        let (web, none) = (json!({ "app": "web" }), json!(null));
        let (own, mirrored) = (names::SLICE_CONTROLLER, names::MIRROR_CONTROLLER);
        for (name, objects, part, whole, not_checked) in [
            (
                "pods",
                vec![service("a", &web), pod("a"), service("b", &web), endpoints("b"), service("c", &web)],
                &["a"][..],
                &["a", "b", "c"][..],
                &["no Pods of namespaces b, c in the input: not checked which endpoints Services with a selector have"]
                    [..],
            ),
            (
                "no pods at all",
                vec![service("a", &web), service("b", &web), service("c", &none)],
                &[],
                &["a", "b"],
                &["no Pods in the input: not checked which endpoints Services with a selector have"],
            ),
            (
                "Services",
                // No controller removes the slices of a Service that is gone.
                vec![service("a", &none), slice("b", own)],
                &[],
                &[],
                &["no Services of namespace b in the input: not checked whether Endpoints and slices are left over"],
            ),
            (
                "Endpoints",
                vec![
                    service("a", &none),
                    endpoints("a"),
                    slice("a", mirrored),
                    service("b", &none),
                    slice("b", mirrored),
                ],
                &["a"],
                &["a", "b"],
                &["no Endpoints of namespace b in the input: not checked whether mirrored slices are left over"],
            ),
        ] {
            let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(planned(objects), (owned(part), owned(whole), owned(not_checked)), "{name}");
        }
    }

    /// Slices that give an address, or a node, different zones and hints.
    #[test]
    fn the_order_of_the_input_does_not_matter() {
        let stored = |name: &str, service: &str, endpoints: &Value| {
            let labels = json!({ "kubernetes.io/service-name": service,
                "endpointslice.kubernetes.io/managed-by": names::SLICE_CONTROLLER });
            let object = json!({ "metadata": { "namespace": "a", "name": name, "uid": name, "labels": labels,
                "ownerReferences": [{ "apiVersion": "v1", "kind": "Service", "name": service, "uid": "u" }] },
                "addressType": "IPv4", "ports": [{ "name": "", "port": 80, "protocol": "TCP" }], "endpoints": endpoints });
            AnyObject::EndpointSlice(serde_json::from_value(object).unwrap())
        };
        let endpoint = |pod: &str, node: &str, zone: &str| {
            json!({ "addresses": [format!("10.0.0.{}", &pod[1..])], "nodeName": node, "zone": zone,
                "hints": { "forZones": [{ "name": zone }] },
                "targetRef": { "kind": "Pod", "namespace": "a", "name": pod, "uid": pod } })
        };
        let pod = |name: &str, node: &str| {
            let meta = json!({ "namespace": "a", "name": name, "uid": name, "labels": { "app": "web" } });
            let ip = format!("10.0.0.{}", &name[1..]);
            let status = json!({ "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
                "conditions": [{ "type": "Ready", "status": "True" }] });
            let object = json!({ "metadata": meta, "spec": { "nodeName": node }, "status": status });
            AnyObject::Pod(serde_json::from_value(object).unwrap())
        };
        let objects = vec![
            service("a", &json!({ "app": "web" })),
            pod("p1", "n1"),
            pod("p2", "n1"),
            pod("p3", "n2"),
            stored("web-1", "web", &json!([endpoint("p1", "n1", "x"), endpoint("p2", "n1", "y")])),
            stored(
                "web-2",
                "web",
                &json!([endpoint("p1", "n1", "y"), endpoint("p1", "n1", "z"), endpoint("p3", "n3", "x")]),
            ),
            stored("web-3", "web", &json!([endpoint("p1", "n1", "z"), endpoint("p3", "n2", "y")])),
            stored("other-1", "other", &json!([endpoint("p1", "n1", "w"), endpoint("p3", "n2", "w")])),
        ];
        let plan = |objects: Vec<AnyObject>| {
            let inventory = inventory(objects);
            let index = inventory.index_of_part();
            let entry = index.get("a", "web").unwrap();
            serde_json::to_value(whole::plan_of(&index, entry, &Controller::ALL, &Options::default())).unwrap()
        };
        let want = plan(objects.clone());
        // Each turn and its reverse bring every pair into both orders.
        for turn in 0..objects.len() {
            let mut turned = objects.clone();
            turned.rotate_left(turn);
            assert_eq!(plan(turned.clone()), want, "{turn}");
            turned.reverse();
            assert_eq!(plan(turned), want, "{turn}, reversed");
        }
        // What is stored in the slice itself stays.
        let slices = want["endpointSlices"]["update"].as_array().unwrap();
        let kept = slices.iter().find(|slice| slice["metadata"]["name"] == "web-1").unwrap_or_else(|| panic!("{want}"));
        let zones: Vec<_> = kept["endpoints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| (&e["zone"], &e["hints"]["forZones"][0]["name"]))
            .collect();
        assert_eq!(zones[..2], [(&json!("x"), &json!("x")), (&json!("y"), &json!("y"))]);
    }

    #[test]
    fn what_is_not_looked_at_is_not_listed_as_not_checked() {
        let web = json!({ "app": "web" });
        let inventory = inventory(vec![service("a", &web), pod("a"), service("b", &web)]);
        let mut index = inventory.index_of_part();
        let count = |index: &crate::inventory::Index<'_>| {
            index.problems().iter().filter(|f| f.code == Reason::NotChecked).count()
        };
        assert_eq!(count(&index), 1);
        index.retain(|entry| entry.namespace == "a");
        assert_eq!(count(&index), 0);
    }
}
