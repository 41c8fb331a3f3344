//! The objects of a cluster as a controller holds them: whole planning values, shared with the plans that are being made.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::BuildHasher,
    sync::Arc,
};

use roster_engine::model::{EndpointSlice, Endpoints, HashSeed, Labels, Node, Nodes, Pod, Service, Text, names};
use smallvec::SmallVec;

use super::{
    live::LiveRows,
    rows::NamespaceRow,
    service_lookups::{ServicesBySelector, SlicesByService},
    table::{Lookup, Row},
};

/// Planning values.
#[derive(Debug)]
pub struct PlanningRows;

impl LiveRows for PlanningRows {
    type Pod = Arc<Pod>;
    type Pods = PlannedPods;
    type Service = Arc<Service>;
    type Services = PlannedServices;
    type Node = Arc<Node>;
    type Nodes = SharedNodes;
    type Endpoints = Arc<Endpoints>;
    type Slice = Arc<EndpointSlice>;
    type Slices = SlicesByService<Arc<EndpointSlice>>;
    type Namespace = NamespaceRow;
}

/// Pods by their labels, and by their node.
///
/// Pods of one workload have the same labels. They are one group, so that a selector is compared with few groups and not with all
/// pods. A group and a label are known by their hashes. Two that have one hash cost time, and nothing else: every pod that is
/// found is compared with what was asked for.
#[derive(Debug, Default)]
pub struct PlannedPods {
    seed: HashSeed,
    /// By the hash of namespace and labels; sorted by namespace and name.
    groups: HashMap<u64, SmallVec<[Arc<Pod>; 1]>, HashSeed>,
    /// By the hash of namespace and one label, the groups that have it.
    by_label: HashMap<u64, BTreeSet<u64>, HashSeed>,
    /// By the hash of the node; sorted by namespace and name.
    by_node: HashMap<u64, SmallVec<[Arc<Pod>; 1]>, HashSeed>,
}

impl PlannedPods {
    /// The pods of a namespace that a selector selects, sorted by name; `None` if it selects all. It costs as much as the pods
    /// that have its rarest label.
    pub fn selected(&self, namespace: &str, selector: &Labels) -> Option<Vec<Arc<Pod>>> {
        let labels = selector.iter().map(|label| self.by_label.get(&self.label(namespace, label)));
        let groups = labels.min_by_key(|groups| groups.map_or(0, BTreeSet::len))?;
        let pods = groups.into_iter().flatten().filter_map(|group| self.groups.get(group)).flatten();
        let is_selected = |pod: &&Arc<Pod>| pod.namespace() == namespace && selector.selects(&pod.labels);
        let mut selected: Vec<Arc<Pod>> = pods.filter(is_selected).cloned().collect();
        selected.sort_by(|a, b| a.name().cmp(b.name()));
        Some(selected)
    }

    /// The pods of a node.
    pub fn on_node(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.by_node.get(&self.seed.hash_one(node)).into_iter().flatten().filter(move |pod| pod.node_name == node)
    }

    fn group(&self, pod: &Pod) -> u64 {
        self.seed.hash_one((pod.namespace().as_str(), &*pod.labels))
    }

    fn label(&self, namespace: &str, (key, value): (&Text, &Text)) -> u64 {
        self.seed.hash_one((namespace, key.as_str(), value.as_str()))
    }

    fn add_to_node(&mut self, pod: &Arc<Pod>) {
        if !pod.node_name.is_empty() {
            insert(self.by_node.entry(self.seed.hash_one(pod.node_name.as_str())).or_default(), pod);
        }
    }

    fn remove_from_node(&mut self, pod: &Pod) {
        let node = self.seed.hash_one(pod.node_name.as_str());
        if let Some(pods) = self.by_node.get_mut(&node)
            && is_empty_without(pods, pod)
        {
            self.by_node.remove(&node);
        }
    }

    fn add_to_group(&mut self, pod: &Arc<Pod>) {
        let group = self.group(pod);
        let pods = self.groups.entry(group).or_default();
        insert(pods, pod);
        if pods.len() > 1 {
            return;
        }
        for label in pod.labels.iter() {
            self.by_label.entry(self.label(pod.namespace(), label)).or_default().insert(group);
        }
    }

    fn remove_from_group(&mut self, pod: &Pod) {
        let group = self.group(pod);
        let Some(pods) = self.groups.get_mut(&group) else { return };
        if !is_empty_without(pods, pod) {
            return;
        }
        self.groups.remove(&group);
        for label in pod.labels.iter() {
            let label = self.label(pod.namespace(), label);
            let Some(groups) = self.by_label.get_mut(&label) else { continue };
            groups.remove(&group);
            if groups.is_empty() {
                self.by_label.remove(&label);
            }
        }
    }
}

fn place(pods: &[Arc<Pod>], pod: &Pod) -> Result<usize, usize> {
    pods.binary_search_by(|other| (other.namespace(), other.name()).cmp(&(pod.namespace(), pod.name())))
}

fn insert(pods: &mut SmallVec<[Arc<Pod>; 1]>, pod: &Arc<Pod>) {
    match place(pods, pod) {
        Ok(at) => pods[at] = pod.clone(),
        Err(at) => pods.insert(at, pod.clone()),
    }
}

/// Removes a pod. Returns whether no other one is left.
fn is_empty_without(pods: &mut SmallVec<[Arc<Pod>; 1]>, pod: &Pod) -> bool {
    if let Ok(at) = place(pods, pod) {
        pods.remove(at);
    }
    pods.is_empty()
}

impl Lookup<Arc<Pod>> for PlannedPods {
    fn add(&mut self, pod: &Arc<Pod>) {
        self.add_to_group(pod);
        self.add_to_node(pod);
    }

    fn remove(&mut self, pod: &Arc<Pod>) {
        self.remove_from_group(pod);
        self.remove_from_node(pod);
    }

    /// Most changes of a pod are of its status.
    fn replace(&mut self, before: &Arc<Pod>, after: &Arc<Pod>) {
        if before.labels != after.labels {
            self.remove_from_group(before);
        }
        self.add_to_group(after);
        if before.node_name != after.node_name {
            self.remove_from_node(before);
        }
        self.add_to_node(after);
    }
}

/// Services by their selector, and those that ask for hints by an annotation: each change of a node may concern these.
#[derive(Debug, Default)]
pub struct PlannedServices {
    by_selector: ServicesBySelector<Arc<Service>>,
    /// By namespace and name.
    with_hints: BTreeMap<(Text, Text), Arc<Service>>,
}

impl PlannedServices {
    /// The Services that select a pod with these labels, as [`ServicesBySelector::selecting`] finds them.
    pub fn selecting<'a>(&'a self, namespace: &str, labels: &'a Labels) -> impl Iterator<Item = &'a Arc<Service>> {
        self.by_selector.selecting(namespace, labels)
    }

    /// The Services that have one of the annotations about hints, whatever it says.
    pub fn with_hints(&self) -> impl Iterator<Item = &Arc<Service>> {
        self.with_hints.values()
    }
}

impl Lookup<Arc<Service>> for PlannedServices {
    fn add(&mut self, service: &Arc<Service>) {
        self.by_selector.add(service);
        let annotations = &service.meta.annotations;
        if [names::TOPOLOGY_HINTS, names::TOPOLOGY_MODE].iter().any(|name| annotations.contains_key(name)) {
            let key = (service.meta.namespace.clone(), service.meta.name.clone());
            self.with_hints.insert(key, service.clone());
        }
    }

    fn remove(&mut self, service: &Arc<Service>) {
        self.by_selector.remove(service);
        self.with_hints.remove(&(service.meta.namespace.clone(), service.meta.name.clone()));
    }
}

/// All nodes. A plan that is being made keeps them as they were.
#[derive(Clone, Debug, Default)]
pub struct SharedNodes(Arc<Nodes>);

impl SharedNodes {
    /// The nodes as they are now.
    pub fn now(&self) -> Arc<Nodes> {
        self.0.clone()
    }
}

impl Lookup<Arc<Node>> for SharedNodes {
    fn add(&mut self, node: &Arc<Node>) {
        Arc::make_mut(&mut self.0).insert(node.clone());
    }

    fn remove(&mut self, node: &Arc<Node>) {
        Arc::make_mut(&mut self.0).remove(&node.name);
    }

    fn replace(&mut self, _: &Arc<Node>, after: &Arc<Node>) {
        self.add(after);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::table::Table, *};

    fn pod(namespace: &str, name: &str, labels: &str, node: &str) -> Arc<Pod> {
        let labels: serde_json::Map<_, _> = labels
            .split_whitespace()
            .filter_map(|l| l.split_once('='))
            .map(|(k, v)| (k.to_owned(), json!(v)))
            .collect();
        let pod = json!({
            "metadata": { "name": name, "namespace": namespace, "labels": labels }, "spec": { "nodeName": node },
        });
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn names_of<'a>(pods: impl IntoIterator<Item = &'a Arc<Pod>>) -> String {
        pods.into_iter().map(|pod| pod.name().to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn pods_are_found_by_selector_and_by_node() {
        let mut pods: Table<Arc<Pod>, PlannedPods> = Table::default();
        for (namespace, name, labels, node) in [
            ("shop", "b", "app=web color=blue", "n1"),
            ("shop", "a", "app=web color=blue", "n1"),
            ("shop", "c", "app=web", "n2"),
            ("shop", "d", "", ""),
            ("other", "a", "app=web color=blue", "n1"),
        ] {
            pods.insert(pod(namespace, name, labels, node));
        }
        let selected = |pods: &Table<Arc<Pod>, PlannedPods>, selector: &str| {
            let selector = selector.split_whitespace().filter_map(|l| l.split_once('=')).collect();
            pods.lookup().selected("shop", &selector).map(|found| names_of(&found))
        };
        for (selector, found) in [
            ("app=web", Some("a b c")),
            ("color=blue app=web", Some("a b")),
            ("app=web color=red", Some("")),
            ("none=x", Some("")),
            ("", None),
        ] {
            assert_eq!(selected(&pods, selector).as_deref(), found, "{selector}");
        }
        assert_eq!(names_of(pods.lookup().on_node("n1")), "a a b");
        pods.insert(pod("shop", "b", "app=web color=blue", "n2"));
        pods.insert(pod("shop", "a", "app=api", "n1"));
        assert_eq!(selected(&pods, "app=web").as_deref(), Some("b c"));
        assert_eq!(
            (names_of(pods.lookup().on_node("n1")), names_of(pods.lookup().on_node("n2"))),
            ("a a".into(), "b c".into())
        );
        assert_eq!(pods.lookup().selected("shop", &[("app", "web")].into_iter().collect()).unwrap()[0].node_name, "n2");
        for (namespace, name) in [("shop", "a"), ("shop", "b"), ("shop", "c"), ("shop", "d"), ("other", "a")] {
            pods.remove(namespace, name);
        }
        let PlannedPods { groups, by_label, by_node, .. } = pods.lookup();
        assert!(groups.is_empty() && by_label.is_empty() && by_node.is_empty(), "nothing is left of what is gone");
    }

    #[test]
    fn services_that_ask_for_hints_are_known_as_long_as_they_do() {
        let service = |annotations: serde_json::Value| {
            let meta = json!({ "name": "web", "namespace": "shop", "annotations": annotations });
            let spec = json!({ "selector": { "app": "web" } });
            Arc::new(serde_json::from_value::<Service>(json!({ "metadata": meta, "spec": spec })).unwrap())
        };
        let labels = [("app", "web")].into_iter().collect();
        let mut services: Table<Arc<Service>, PlannedServices> = Table::default();
        for (annotations, want) in [
            (json!({}), 0),
            (json!({ "service.kubernetes.io/topology-mode": "Auto" }), 1),
            (json!({ "service.kubernetes.io/topology-aware-hints": "x" }), 1),
            (json!({ "other": "Auto" }), 0),
            (json!({ "service.kubernetes.io/topology-mode": "Auto" }), 1),
        ] {
            services.insert(service(annotations));
            let lookup = services.lookup();
            assert_eq!((lookup.with_hints().count(), lookup.selecting("shop", &labels).count()), (want, 1));
        }
        services.remove("shop", "web");
        assert_eq!(
            (services.lookup().with_hints().count(), services.lookup().selecting("shop", &labels).count()),
            (0, 0)
        );
    }

    #[test]
    fn a_plan_keeps_the_nodes_as_they_were() {
        let node = |zone: &str| {
            let labels = json!({ "topology.kubernetes.io/zone": zone });
            Arc::new(serde_json::from_value::<Node>(json!({ "metadata": { "name": "n", "labels": labels } })).unwrap())
        };
        let mut nodes: Table<Arc<Node>, SharedNodes> = Table::default();
        nodes.insert(node("a"));
        let before = nodes.lookup().now();
        nodes.insert(node("b"));
        let zone = |nodes: &Nodes| nodes.zone_of(&"n".into()).flatten().cloned();
        assert_eq!((zone(&before).as_deref(), zone(&nodes.lookup().now()).as_deref()), (Some("a"), Some("b")));
        nodes.remove("", "n");
        assert_eq!(zone(&nodes.lookup().now()), None);
    }
}
