//! What views are taken of: Services, their slices and the nodes of an input.

use std::convert::Infallible;

use roster_engine::{
    model::{
        EndpointSlice, Family, Labels, Node, Nodes, ObjectKey, Text, names,
        spelling::{did_you_mean, nearest},
    },
    phrase::{absent, absent_of, counted},
    plan::selected_pods,
    reason::{Finding, Reason},
    state::{Controller, Options},
    view::{Scheme, ViewedCluster, ViewedService, planned_slices},
};

use super::{
    findings::Findings,
    index::{Entry, Index},
    objects::Inventory,
    service_findings::ServiceFindings,
    whole,
    workloads::UnreadMatch,
};

/// There is no node of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {name} not found{hint}")]
pub struct NodeNotFound {
    name: Text,
    /// Which one was meant, or which there are.
    hint: String,
}

/// The objects of an input that views read, and what of them is assumed.
pub struct ViewInput<'a> {
    index: &'a Index<'a>,
    inventory: &'a Inventory,
    /// The node from which Services are viewed; `None` for all.
    node: Option<&'a Text>,
    /// All nodes, as far as they are known.
    pub nodes: Nodes,
    /// Whether Nodes were read, so that a name that is not among them is a mistake.
    pub knows_nodes: bool,
    /// Whether views of it are taken, for each entry of the index.
    viewed: Vec<bool>,
    /// Of Services without slices, those that the controllers would write, for each entry of the index.
    planned: Vec<Option<Vec<EndpointSlice>>>,
    /// Whether there are no slices at all.
    has_no_slices: bool,
    /// Namespaces and names of Services whose pods are not known, and so neither are their endpoints, in order; with what
    /// cannot be read and may have the pods.
    hidden: Vec<((&'a Text, &'a Text), Option<UnreadMatch>)>,
}

impl<'a> ViewInput<'a> {
    /// The input of views from `node`, or from all nodes.
    pub fn new(inventory: &'a Inventory, index: &'a Index<'a>, options: &Options, node: Option<&'a Text>) -> Self {
        Self::of_services(inventory, index, options, node, |_| true)
    }

    /// The same for views of some Services only: nothing is assumed for the others.
    pub fn of_services(
        inventory: &'a Inventory,
        index: &'a Index<'a>,
        options: &Options,
        node: Option<&'a Text>,
        is_viewed: impl Fn(&Entry<'_>) -> bool + Sync,
    ) -> Self {
        let knows_nodes = index.knows_nodes();
        let nodes = if knows_nodes { index.nodes().clone() } else { named_nodes(inventory, index) };
        let has_no_slices = inventory.slices.is_empty();
        let selects = |entry: &Entry<'_>| entry.service.is_some_and(|service| service.selector.is_some());
        // Its controller writes at least one slice for each Service with a selector: the input has another part of the cluster.
        let is_without_its_own =
            |entry: &Entry<'_>| index.is_part() && selects(entry) && index.state(entry).slices.is_empty();
        // What a whole cluster does not have does not exist; one without any slices has no controller.
        let lacks_slices =
            |entry: &Entry<'_>| !inventory.pods.is_empty() && (has_no_slices || is_without_its_own(entry));
        let lacks_slices = |entry: &Entry<'_>| is_viewed(entry) && lacks_slices(entry);
        let of_manifests = ServiceFindings::new(index);
        let lacks_pods = |entry: &Entry<'_>| {
            let state = index.state(entry);
            is_without_its_own(entry)
                && (index.unknown_of(entry).hides_pods_of(&state)
                    || (selected_pods(&state).is_empty() && of_manifests.may_have_other_pods(entry)))
        };
        let hidden = |entry: &Entry<'a>| {
            let unread = index.unread_pods_of(entry).filter(|_| index.state(entry).slices.is_empty());
            (unread.is_some() || lacks_pods(entry)).then_some(((entry.namespace, entry.name), unread))
        };
        let viewed: Vec<bool> = index.entries().iter().map(&is_viewed).collect();
        let hidden = index.entries().iter().filter(|entry| is_viewed(entry)).filter_map(hidden).collect();
        let planned = slices_of_plans(index, options, lacks_slices);
        Self { index, inventory, node, nodes, knows_nodes, viewed, planned, has_no_slices, hidden }
    }

    /// Whether a pod or an endpoint is on the node of this name.
    pub fn has_on_node(&self, name: &Text) -> bool {
        let endpoints = || self.inventory.slices.iter().flat_map(|slice| &slice.endpoints);
        self.inventory.pods.iter().any(|pod| pod.node_name == *name)
            || endpoints().any(|endpoint| endpoint.node_name.as_ref() == Some(name))
    }

    /// The Node that is named. A name that the input does not have is an error; a node without a Node has no labels, and so does
    /// any if there are no Nodes.
    ///
    /// # Errors
    ///
    /// There are Nodes, but neither a Node nor a pod or an endpoint on a node of this name.
    pub fn named_node(&self, name: &Text) -> Result<Option<&Node>, NodeNotFound> {
        let found = self.nodes.get(name);
        if found.is_some() || !self.knows_nodes || self.has_on_node(name) {
            return Ok(found);
        }
        let hint = match (self.node_like(name), self.nodes.iter().next()) {
            (Some(meant), _) => did_you_mean(&[meant.as_str()]),
            (None, first) => {
                let such_as = first.map(|node| format!(", such as {}", node.name)).unwrap_or_default();
                format!("; the input has {}{such_as}", counted(self.nodes.iter().count(), "Node"))
            }
        };
        Err(NodeNotFound { name: name.clone(), hint })
    }

    /// The node whose name is most like this one, if one is.
    pub fn node_like(&self, name: &str) -> Option<&Text> {
        nearest(name, self.nodes.iter(), |node| node.name.as_str()).map(|node| &node.name)
    }

    /// What is not known of nodes.
    fn unknown_of_nodes(&self) -> Option<String> {
        let unknown = self.node.filter(|name| self.nodes.get(name).is_none());
        if self.knows_nodes {
            return unknown.map(|name| format!("no Node {name} in the input: its zone and its labels are not known"));
        }
        let unknown = unknown.filter(|name| !self.has_on_node(name)).map(|name| {
            let meant = self.node_like(name).map(Text::as_str);
            format!("; nothing is known of node {name}{}", did_you_mean(meant.as_slice()))
        });
        let unknown = unknown.unwrap_or_default();
        let nodes = "nodes and their zones are known from endpoints only, other labels are not";
        Some(format!("no Nodes in the input: {nodes}{unknown}"))
    }

    /// Whether the endpoints of an entry are known.
    pub fn knows_endpoints_of(&self, namespace: &Text, name: &Text) -> bool {
        self.hidden.binary_search_by_key(&(namespace, name), |(hidden, _)| *hidden).is_err()
    }

    /// What views read: the Services of which they are taken and whose endpoints are known.
    pub fn cluster<'c>(&'c self, scheme: Scheme<'c>, family: Option<Family>) -> ViewedCluster<'c> {
        let service = |(place, entry): (usize, &'c Entry<'_>)| {
            if !self.viewed[place] || !self.knows_endpoints_of(entry.namespace, entry.name) {
                return None;
            }
            let slices = match self.planned.get(place) {
                Some(Some(planned)) => planned.iter().collect(),
                _ => self.index.state(entry).slices.to_vec(),
            };
            Some(ViewedService { service: entry.service?, slices })
        };
        let services = self.index.entries().iter().enumerate().filter_map(service).collect();
        ViewedCluster { scheme, family, nodes: &self.nodes, services }
    }

    /// The findings about the input, and what is not known of it that a view depends on.
    pub fn findings(&self) -> Findings {
        let mut findings = self.index.problems().clone();
        // Views read neither pods nor Endpoints, and what is not known of nodes follows.
        findings.retain(|f| f.code != Reason::NotChecked || !f.object.name.is_empty());
        let mut add = |code, kind: &'static str, message: &str| {
            let key = ObjectKey { kind: Text::new_static(kind), ..ObjectKey::default() };
            findings.push(Finding::new(code, key, message));
        };
        let entries = self.index.entries().iter().zip(&self.planned);
        let planned: Vec<&Entry<'_>> = entries.filter_map(|(entry, planned)| planned.as_ref().map(|_| entry)).collect();
        if let Some(first) = planned.first() {
            let absent = if self.has_no_slices {
                absent("EndpointSlices", &[])
            } else {
                let others = others(planned.len() - 1);
                absent_of("EndpointSlices", &format!("{}/{}{others}", first.namespace, first.name))
            };
            let message = format!("{absent}; assumed: what the controllers would write");
            add(Reason::Assumed, "EndpointSlice", &message);
        }
        let (unread, absent): (Vec<_>, Vec<_>) = self.hidden.iter().partition(|(_, unread)| unread.is_some());
        if let Some((((namespace, name), Some(why)), more)) = unread.split_first() {
            let others = others(more.len());
            add(
                Reason::NotChecked,
                "Service",
                &format!("{namespace}/{name} {why}: not checked which endpoints nodes use of it{others}"),
            );
        }
        if let Some((((namespace, name), _), more)) = absent.split_first() {
            let absent = absent_of("Pods", &format!("{namespace}/{name}{}", others(more.len())));
            add(Reason::NotChecked, "Service", &format!("{absent}: not checked which endpoints nodes use"));
        }
        if let Some(message) = self.unknown_of_nodes() {
            add(Reason::NotChecked, "Node", &message);
        }
        findings
    }
}

/// How many Services there are besides the one that is named.
fn others(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" and {}", counted(count, "other Service")) }
}

/// The slices that the controllers would write, with names, for the entries that lack slices.
fn slices_of_plans(
    index: &Index<'_>,
    options: &Options,
    lacks_slices: impl Fn(&Entry<'_>) -> bool + Sync,
) -> Vec<Option<Vec<EndpointSlice>>> {
    let plan = |entry: &Entry<'_>| {
        if !lacks_slices(entry) {
            return None;
        }
        let state = index.state(entry);
        let plan = whole::plan_of(index, entry, &[Controller::EndpointSlices, Controller::Mirroring], options);
        Some(planned_slices(&state, &plan))
    };
    let mut planned = Vec::with_capacity(index.entries().len());
    let collected = whole::each(index, whole::all_cores(), plan, |slices| {
        planned.push(slices);
        Ok::<(), Infallible>(())
    });
    match collected {
        Ok(()) => planned,
    }
}

/// The nodes that pods and endpoints name, with the zones that endpoints have.
fn named_nodes(inventory: &Inventory, index: &Index<'_>) -> Nodes {
    let mut nodes = index.nodes().clone();
    let endpoints = inventory.slices.iter().flat_map(|slice| &slice.endpoints);
    let mut placed: Vec<(&Text, Option<&Text>)> =
        endpoints.filter_map(|e| e.node_name.as_ref().map(|node| (node, e.zone.as_ref()))).collect();
    placed.sort_unstable();
    placed.dedup();
    for (name, zone) in placed {
        let named = || Node { name: name.clone(), ready: true, ..Node::default() };
        let mut node = nodes.get(name).cloned().unwrap_or_else(named);
        if let Some(zone) = zone.filter(|_| node.zone().is_none()) {
            node.labels = [(names::ZONE, zone.clone())].into_iter().collect::<Labels>();
        }
        nodes.insert(node);
    }
    let mut sorted: Vec<Node> = nodes.iter().cloned().collect();
    sorted.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Nodes::new(sorted)
}
