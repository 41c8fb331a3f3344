//! What a change of objects does to the endpoints that each node uses.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
};

use super::{
    node_groups::{NodeGroups, ServiceClasses},
    node_reads::NodeReads,
    port_view::{PortView, Verdict},
    service_view::ServiceView,
    view_work::{TooManyViews, ViewWork},
    viewed_cluster::{ViewedCluster, ViewedService},
};
use crate::model::{Family, Node, Service, Text, protocol_or_tcp};

/// The ports for which nodes use other endpoints after a change than before.
#[derive(Debug)]
pub struct ViewChanges<'a> {
    /// Those that lose their last endpoint first, then those that lose some.
    pub changes: Vec<ViewChange<'a>>,
    /// Nodes that only the objects before have; their views are not compared.
    pub nodes_gone: usize,
    /// Nodes that only the objects after have.
    pub nodes_new: usize,
    /// Nodes that are compared.
    pub nodes: usize,
    /// Services that are compared.
    pub services: usize,
}

/// A Service port of which nodes use other endpoints, and the nodes for which the change is the same.
#[derive(Debug)]
pub struct ViewChange<'a> {
    /// The Service.
    pub service: &'a Service,
    /// Its port.
    pub port: ViewedPort,
    /// The nodes, by name.
    pub nodes: Vec<&'a Node>,
    /// What they used; `None` if kube-proxy did not serve the port.
    pub before: Option<PortUse>,
    /// What they use afterwards.
    pub after: Option<PortUse>,
}

/// A port of a Service in one address family.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ViewedPort {
    /// Its name.
    pub name: Text,
    /// Its protocol.
    pub protocol: Text,
    /// The address family.
    pub family: Family,
}

/// What a node uses for a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortUse {
    /// What becomes of connections to the cluster IP.
    pub internal: Verdict,
    /// What becomes of connections from outside, if the port has any.
    pub external: Option<Verdict>,
    /// The endpoints that it uses, sorted.
    pub endpoints: Vec<UsedEndpoint>,
}

/// Address and port of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsedEndpoint {
    ip: IpAddr,
    port: i32,
}

/// As in a URL: an IPv6 address is in brackets.
impl fmt::Display for UsedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            IpAddr::V4(ip) => write!(f, "{ip}:{}", self.port),
            IpAddr::V6(ip) => write!(f, "[{ip}]:{}", self.port),
        }
    }
}

/// What nodes use of each port, sorted by it.
pub(super) type PortUses = Vec<(ViewedPort, PortUse)>;

impl PortUse {
    /// What a node uses of each port of a Service.
    pub(super) fn of_view(view: &ServiceView<'_>) -> PortUses {
        let of_port = |(family, port): (Family, &PortView<'_>)| {
            let used = port.endpoints.iter().filter(|e| e.uses.any()).map(|e| &e.endpoint);
            let uses = Self {
                internal: port.internal(),
                external: port.external(),
                endpoints: used.map(|e| UsedEndpoint { ip: e.ip, port: e.port }).collect(),
            };
            let protocol = Text::new(protocol_or_tcp(&port.port.protocol));
            (ViewedPort { name: port.port.name.clone(), protocol, family }, uses)
        };
        let mut all: PortUses = view.ports().map(of_port).collect();
        // Ports without a protocol are those of TCP. Of equal ones the last counts: the sort is stable.
        all.reverse();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all.dedup_by(|(a, _), (b, _)| a == b);
        all
    }
}

impl ViewChange<'_> {
    /// The endpoints that the nodes use only afterwards.
    pub fn gained(&self) -> Vec<UsedEndpoint> {
        only_first(self.after.as_ref(), self.before.as_ref())
    }

    /// The endpoints that the nodes used only before.
    pub fn lost(&self) -> Vec<UsedEndpoint> {
        only_first(self.before.as_ref(), self.after.as_ref())
    }

    /// Whether the nodes lose their last endpoint.
    pub fn becomes_empty(&self) -> bool {
        let is_empty = |uses: &Option<PortUse>| uses.as_ref().is_none_or(|uses| uses.endpoints.is_empty());
        is_empty(&self.after) && !is_empty(&self.before)
    }
}

fn only_first(of: Option<&PortUse>, other: Option<&PortUse>) -> Vec<UsedEndpoint> {
    let others = other.map_or(&[][..], |uses| &uses.endpoints);
    let endpoints = of.map_or(&[][..], |uses| &uses.endpoints);
    endpoints.iter().copied().filter(|endpoint| others.binary_search(endpoint).is_err()).collect()
}

impl<'a> ViewChanges<'a> {
    /// Compares the views of all Services from all nodes that both clusters have, if that is not too much work.
    pub fn between(before: &ViewedCluster<'a>, after: &ViewedCluster<'a>) -> Result<Self, TooManyViews> {
        let mut work = ViewWork::new();
        let (reads_before, reads_after) = (before.reads(), after.reads());
        let both =
            NodePairs::of(NodeGroups::of(before.nodes, &reads_before), NodeGroups::of(after.nodes, &reads_after));
        let (places_before, places_after) = (places(before), places(after));
        let services: BTreeSet<(&str, &str)> = places_before.keys().chain(places_after.keys()).copied().collect();
        let mut changes = Vec::new();
        for service in &services {
            let mut side = |cluster, place: Option<&usize>, reads: &[NodeReads<'a>], groups| {
                place.map(|place| ClassedService::of(cluster, *place, &reads[*place], groups, &mut work)).transpose()
            };
            let old = side(before, places_before.get(service), &reads_before, &both.before)?;
            let new = side(after, places_after.get(service), &reads_after, &both.after)?;
            if let Some(of) = new.as_ref().or(old.as_ref()) {
                work.take(of.service, both.groups.len())?;
            }
            both.compare(old.as_ref(), new.as_ref(), &mut changes);
        }
        changes.sort_by_key(|change| (!change.becomes_empty(), change.lost().is_empty(), Reverse(change.nodes.len())));
        Ok(Self {
            changes,
            nodes_gone: both.before.nodes.len() - both.new_place.len(),
            nodes_new: both.after.nodes.len() - both.new_place.len(),
            nodes: both.new_place.len(),
            services: services.len(),
        })
    }
}

/// The places of the Services of a cluster, by namespace and name.
fn places<'a>(cluster: &ViewedCluster<'a>) -> BTreeMap<(&'a str, &'a str), usize> {
    let names = cluster.services.iter().map(|of| (of.service.meta.namespace.as_str(), of.service.meta.name.as_str()));
    names.zip(0..).collect()
}

/// A Service, and what each class of nodes uses of it.
struct ClassedService<'a> {
    service: &'a Service,
    classes: ServiceClasses,
    uses: Vec<PortUses>,
}

impl<'a> ClassedService<'a> {
    fn of(
        cluster: &ViewedCluster<'a>,
        place: usize,
        reads: &NodeReads<'a>,
        groups: &NodeGroups<'a>,
        work: &mut ViewWork,
    ) -> Result<Self, TooManyViews> {
        let of: &ViewedService<'a> = &cluster.services[place];
        let classes = groups.classes(reads);
        let views = cluster.of_all_nodes(of);
        work.take(of.service, classes.told_apart())?;
        let mut uses = Vec::with_capacity(classes.examples.len());
        for node in classes.examples.iter().map(|place| groups.nodes[*place]) {
            work.take(of.service, views.looks(node))?;
            uses.push(views.view(node, PortUse::of_view));
        }
        Ok(Self { service: of.service, uses, classes })
    }
}

/// The nodes of both clusters.
struct NodePairs<'a> {
    before: NodeGroups<'a>,
    after: NodeGroups<'a>,
    /// Places before and after of the nodes that both have, by their groups before and after.
    groups: BTreeMap<(usize, usize), Vec<(usize, usize)>>,
    /// Places before by those after, and the reverse.
    old_place: BTreeMap<usize, usize>,
    new_place: BTreeMap<usize, usize>,
}

/// The nodes of a pair of classes: those of whole groups, but for exceptions, and some of the exceptions.
#[derive(Default)]
struct PairNodes {
    groups: Vec<(usize, usize)>,
    exceptions: Vec<usize>,
}

/// What a node uses of a port before and after.
type PortChange<'u> = (&'u ViewedPort, Option<&'u PortUse>, Option<&'u PortUse>);

/// The classes of a node before and after.
type ClassPair = (Option<usize>, Option<usize>);

impl<'a> NodePairs<'a> {
    fn of(before: NodeGroups<'a>, after: NodeGroups<'a>) -> Self {
        let mut groups: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
        let (mut old_place, mut new_place) = (BTreeMap::new(), BTreeMap::new());
        for (place, node) in before.nodes.iter().enumerate() {
            let Some(other) = after.place(&node.name) else { continue };
            groups.entry((before.group_of[place], after.group_of[other])).or_default().push((place, other));
            old_place.insert(other, place);
            new_place.insert(place, other);
        }
        Self { before, after, groups, old_place, new_place }
    }

    /// Appends what changes of a Service.
    fn compare(
        &self,
        old: Option<&ClassedService<'a>>,
        new: Option<&ClassedService<'a>>,
        changes: &mut Vec<ViewChange<'a>>,
    ) {
        let Some(service) = new.or(old).map(|of| of.service) else { return };
        let mut nodes_of: BTreeMap<PortChange<'_>, Vec<usize>> = BTreeMap::new();
        let exceptions = self.exceptions(old, new);
        for (classes, nodes) in self.class_pairs(old, new, &exceptions) {
            let (was, is) = (port_uses(old, classes.0), port_uses(new, classes.1));
            if was == is {
                continue;
            }
            let nodes = self.nodes(&nodes, &exceptions);
            if nodes.is_empty() {
                continue;
            }
            let mut ports: Vec<&ViewedPort> = was.into_iter().chain(is).flatten().map(|(port, _)| port).collect();
            ports.sort_unstable();
            ports.dedup();
            for port in ports {
                let (was, is) = (use_of(was, port), use_of(is, port));
                if was != is {
                    nodes_of.entry((port, was, is)).or_default().extend(&nodes);
                }
            }
        }
        for ((port, was, is), mut nodes) in nodes_of {
            nodes.sort_unstable();
            changes.push(ViewChange {
                service,
                port: port.clone(),
                nodes: nodes.into_iter().map(|place| self.before.nodes[place]).collect(),
                before: was.cloned(),
                after: is.cloned(),
            });
        }
    }

    /// The nodes that are exceptions in their group before or after.
    fn exceptions(&self, old: Option<&ClassedService<'a>>, new: Option<&ClassedService<'a>>) -> BTreeSet<usize> {
        let of = |of: Option<&ClassedService<'a>>| -> Vec<usize> {
            of.map(|of| of.classes.exceptions.keys().copied().collect()).unwrap_or_default()
        };
        let old = of(old).into_iter().filter(|place| self.new_place.contains_key(place));
        old.chain(of(new).iter().filter_map(|place| self.old_place.get(place).copied())).collect()
    }

    /// The nodes of each pair of classes.
    fn class_pairs(
        &self,
        old: Option<&ClassedService<'a>>,
        new: Option<&ClassedService<'a>>,
        exceptions: &BTreeSet<usize>,
    ) -> BTreeMap<ClassPair, PairNodes> {
        let mut pairs: BTreeMap<ClassPair, PairNodes> = BTreeMap::new();
        let of_group = |of: Option<&ClassedService<'a>>, group: usize| of.and_then(|of| of.classes.of_group(group));
        for (was, is) in self.groups.keys().copied() {
            pairs.entry((of_group(old, was), of_group(new, is))).or_default().groups.push((was, is));
        }
        for place in exceptions.iter().copied() {
            let other = self.new_place[&place];
            let was = old.and_then(|of| of.classes.class_of(place, self.before.group_of[place]));
            let is = new.and_then(|of| of.classes.class_of(other, self.after.group_of[other]));
            pairs.entry((was, is)).or_default().exceptions.push(place);
        }
        pairs
    }

    /// The places before of the nodes of a pair of classes.
    fn nodes(&self, of: &PairNodes, exceptions: &BTreeSet<usize>) -> Vec<usize> {
        let members = of.groups.iter().flat_map(|pair| &self.groups[pair]).map(|(place, _)| *place);
        members.filter(|place| !exceptions.contains(place)).chain(of.exceptions.iter().copied()).collect()
    }
}

fn use_of<'u>(uses: Option<&'u PortUses>, port: &ViewedPort) -> Option<&'u PortUse> {
    let uses = uses?;
    uses.binary_search_by(|(of, _)| of.cmp(port)).ok().map(|place| &uses[place].1)
}

fn port_uses<'u>(of: Option<&'u ClassedService<'_>>, class: Option<usize>) -> Option<&'u PortUses> {
    of.zip(class).map(|(of, class)| &of.uses[class])
}
