//! The pods and nodes that stored addresses may belong to.

use std::collections::BTreeSet;

use crate::model::{Nodes, ObjectRef, Pod, Text};

/// Pods by namespace and name.
#[derive(Clone, Debug, Default)]
pub struct PodNames<'a> {
    pods: Vec<&'a Pod>,
    /// Namespace and name of those that exist and cannot be read.
    unread: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> PodNames<'a> {
    /// The pod of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&'a Pod> {
        let key = |p: &&Pod| (p.namespace().as_str(), p.name().as_str()).cmp(&(namespace, name));
        self.pods.binary_search_by(key).ok().map(|place| self.pods[place])
    }

    /// Whether there is a pod in this namespace.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        let first = self.pods.partition_point(|p| p.namespace().as_str() < namespace);
        self.pods.get(first).is_some_and(|p| p.namespace() == namespace)
    }

    /// The same with pods that cannot be read, of which namespace and name are known.
    #[must_use]
    pub fn with_unread(self, unread: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self { unread: unread.collect(), ..self }
    }

    /// The number of pods.
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// Whether there are no pods.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }
}

impl<'a> FromIterator<&'a Pod> for PodNames<'a> {
    /// Of several pods with one name, the last one counts.
    fn from_iter<I: IntoIterator<Item = &'a Pod>>(pods: I) -> Self {
        let key = |p: &&'a Pod| (p.namespace(), p.name());
        let mut pods: Vec<&'a Pod> = pods.into_iter().collect();
        // What kubectl prints is sorted already.
        if !pods.is_sorted_by(|a, b| key(a) < key(b)) {
            pods.reverse();
            pods.sort_by(|a, b| key(a).cmp(&key(b)));
            pods.dedup_by(|a, b| key(a) == key(b));
        }
        Self { pods, unread: BTreeSet::new() }
    }
}

/// What stored objects are compared with, and what is known of it.
#[expect(clippy::struct_excessive_bools, reason = "what is known of one kind does not depend on the others")]
#[derive(Clone, Copy, Debug)]
pub struct KnownTargets<'a> {
    /// All known pods.
    pub pods: &'a PodNames<'a>,
    /// All known nodes.
    pub nodes: &'a Nodes,
    /// Whether these are all pods of the cluster. Otherwise a pod counts as gone only if others of its namespace are
    /// known.
    pub complete: bool,
    /// Whether these are the nodes of the cluster.
    pub knows_nodes: bool,
    /// Whether a Service that is not there does not exist.
    pub services: bool,
    /// Whether Endpoints that are not there do not exist.
    pub endpoints: bool,
}

impl<'a> KnownTargets<'a> {
    /// The targets for the state of one Service, which may leave out kinds that it does not need.
    pub fn of_state(pods: &'a PodNames<'a>, nodes: &'a Nodes) -> Self {
        let knows_nodes = nodes.iter().next().is_some();
        Self { pods, nodes, complete: false, knows_nodes, services: true, endpoints: true }
    }

    /// Whether the pod of a reference in an object of `namespace` is known not to exist. A pod with its name and another
    /// uid is another pod.
    pub(super) fn lacks_pod(&self, namespace: &Text, target: &ObjectRef) -> bool {
        let namespace = if target.namespace.is_empty() { namespace } else { &target.namespace };
        match self.pods.get(namespace, &target.name) {
            Some(pod) => {
                let uid = &pod.reference.uid;
                !uid.is_empty() && !target.uid.is_empty() && *uid != target.uid
            }
            None if self.pods.unread.contains(&(namespace, &target.name)) => false,
            None => self.complete || self.pods.has_namespace(namespace),
        }
    }

    /// Whether a node is known not to exist.
    pub(super) fn lacks_node(&self, name: &Text) -> bool {
        self.knows_nodes && self.nodes.get(name).is_none()
    }
}
