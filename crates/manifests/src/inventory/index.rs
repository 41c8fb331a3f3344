//! The index of an inventory: which pods, Endpoints and slices belong to each Service.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use roster_engine::{
    model::{EndpointSlice, Endpoints, Nodes, ObjectKey, Pod, Resource, Service, Text},
    phrase::counted,
    plan::selected_pods,
    reason::{Finding, Reason, Severity},
    stale::{KnownTargets, PodNames},
    state::State,
    unknown_kinds::UnknownKinds,
};

use super::{
    findings::Findings,
    label_postings::LabelPostings,
    objects::Inventory,
    table::{Row, Table},
    unknown_kinds::{UnknownByNamespace, assumed_nodes},
    workloads::{UnassumedWorkloads, UnreadIndex, UnreadMatch},
};

/// All Services with what belongs to them, and the names that only Endpoints or slices have, sorted by namespace and name;
/// without Services of which an object cannot be read. Borrows the [`Inventory`], without duplicates.
#[derive(Debug)]
pub struct Index<'a> {
    entries: Vec<Entry<'a>>,
    nodes: Nodes,
    postings: LabelPostings<'a, &'a Pod>,
    slices: Vec<&'a EndpointSlice>,
    pods: usize,
    inventory: &'a Inventory,
    unreadable: &'a BTreeSet<(Text, Text)>,
    /// Objects that cannot be read, and that may have pods of Services.
    unread: UnreadIndex<'a>,
    /// What is unknown, if the objects may be a part of a cluster.
    unknown: Option<UnknownByNamespace<'a>>,
    problems: Findings,
}

/// A Service, or the Endpoints and slices of a Service that does not exist.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Namespace.
    pub namespace: &'a Text,
    /// Name.
    pub name: &'a Text,
    /// The Service; `None` if only its Endpoints or slices exist.
    pub service: Option<&'a Service>,
    /// The Endpoints of this name.
    pub endpoints: Option<&'a Endpoints>,
    slices: Range<usize>,
}

impl Inventory {
    /// Sorts the objects, drops duplicates, and finds what belongs to which Service. What is not among the objects does
    /// not exist.
    pub fn index(&self) -> Index<'_> {
        Index::new(self, None)
    }

    /// The index of objects that may be a part of a cluster: nothing is known about the kinds of which a namespace has no
    /// object, nor about Nodes if there are none.
    pub fn index_of_part(&self) -> Index<'_> {
        Index::new(self, Some(UnknownByNamespace::new(self)))
    }
}

impl<'a> Index<'a> {
    /// `unknown`: what is unknown, if the objects may be a part of a cluster.
    fn new(inventory: &'a Inventory, unknown: Option<UnknownByNamespace<'a>>) -> Self {
        let mut problems = inventory.problems.clone();
        problems.extend(inventory.ignored_problems());
        problems.extend(inventory.assumptions());
        let services = distinct("Service", &inventory.services, &mut problems);
        let pods = distinct("Pod", &inventory.pods, &mut problems);
        let endpoints = distinct("Endpoints", &inventory.endpoints, &mut problems);
        let mut slices = distinct("EndpointSlice", &inventory.slices, &mut problems);
        let nodes = distinct("Node", &inventory.nodes, &mut problems);

        slices.retain(|s| s.service_name().is_some());
        // Stable: slices of one Service stay in order of their names.
        slices.sort_by_key(|s| (&s.meta.namespace, s.service_name()));
        let unreadable = &inventory.unreadable;
        let mut entries = entries(&services, &endpoints, &slices);
        entries.retain(|e| unreadable.is_empty() || !unreadable.contains(&(e.namespace.clone(), e.name.clone())));
        let knows_nodes = unknown.as_ref().is_none_or(|unknown| !unknown.nodes());
        let assumed = if knows_nodes { Vec::new() } else { assumed_nodes(inventory) };
        let selectors =
            services.iter().copied().filter_map(|s| Some((s.meta.namespace.as_str(), s.selector.as_ref()?)));
        let mut index = Self {
            entries,
            nodes: nodes.into_iter().cloned().chain(assumed).collect(),
            postings: LabelPostings::new(
                selectors,
                pods.iter().copied().map(|pod| (pod.namespace().as_str(), &*pod.labels, pod)),
            ),
            slices,
            pods: pods.len(),
            inventory,
            unreadable,
            unread: UnreadIndex::new(&inventory.unread),
            unknown,
            problems,
        };
        index.problems.extend(index.not_checked());
        index
    }

    /// What is not checked of the entries, because objects cannot be read or may be a part of a cluster.
    fn not_checked(&self) -> Vec<Finding> {
        // One reason is enough.
        let others = || self.entries.iter().filter(|entry| self.unread_pods_of(entry).is_none());
        let states = || others().map(|entry| (entry.namespace.as_str(), self.state(entry)));
        let of_kinds = self.unknown.iter().flat_map(|unknown| unknown.findings(states()));
        self.pods_not_read().into_iter().chain(of_kinds).collect()
    }

    /// Says which Services may have pods that cannot be read.
    fn pods_not_read(&self) -> Option<Finding> {
        let mut entries = self.entries.iter().filter_map(|entry| Some((entry, self.unread_pods_of(entry)?)));
        let (first, unread) = entries.next()?;
        let others = entries.count();
        let have =
            if others == 0 { "it has".to_owned() } else { format!("it and {} have", counted(others, "other Service")) };
        let message = format!("{}/{} {unread}: not checked which endpoints {have}", first.namespace, first.name);
        let key = ObjectKey { kind: Text::new_static("Pod"), ..ObjectKey::default() };
        Some(Finding::new(Reason::NotChecked, key, message))
    }

    /// What cannot be read and may have the pods of an entry; `None` if the entry selects pods that can be read.
    pub fn unread_pods_of(&self, entry: &Entry<'_>) -> Option<UnreadMatch> {
        let is_unrendered = entry.service.is_some_and(|service| self.inventory.is_unrendered(service));
        if is_unrendered && selected_pods(&self.state(entry)).is_empty() {
            return Some(UnreadMatch::Unrendered);
        }
        if self.unread.is_empty() {
            return None;
        }
        let unread = self.unread.of(entry.namespace).selected_by(entry.service?.selector.as_ref()?, None)?;
        selected_pods(&self.state(entry)).is_empty().then_some(unread)
    }

    /// The entries, sorted by namespace and name.
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// Removes the entries for which `keep` returns `false`, and the findings that something of them is not checked. Pods,
    /// nodes and slices stay.
    pub fn retain(&mut self, keep: impl FnMut(&Entry<'a>) -> bool) {
        self.entries.retain(keep);
        if self.is_part() || !self.unread.is_empty() || self.inventory.has_unrendered() {
            self.problems.retain(|p| p.code != Reason::NotChecked || !p.object.name.is_empty());
            self.problems.extend(self.not_checked());
        }
    }

    /// Removes the Endpoints and slices without a Service of which nobody knows whether they are left over.
    pub fn retain_known(&mut self) {
        let Some(unknown) = &self.unknown else { return };
        // The finding that they are not checked stays.
        self.entries.retain(|entry| entry.service.is_some() || !unknown.of(entry.namespace).services);
    }

    /// The entry of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Entry<'a>> {
        let place = self.entries.binary_search_by(|e| (e.namespace.as_str(), e.name.as_str()).cmp(&(namespace, name)));
        place.ok().map(|i| &self.entries[i])
    }

    /// Namespaces and names of Services of which an object cannot be read; they have no entry.
    pub fn unreadable(&self) -> impl Iterator<Item = (&Text, &Text)> {
        self.unreadable.iter().map(|(namespace, name)| (namespace, name))
    }

    /// The findings that explain why a Service is [`unreadable`](Self::unreadable). A finding about a slice does not contain
    /// its Service: those about all slices of the namespace are included.
    pub fn why_unreadable(&self, namespace: &str, name: &str) -> impl Iterator<Item = &Finding> {
        self.problems.iter().filter(move |p| {
            let is_named = p.object.name == name && ["Service", "Endpoints"].contains(&p.object.kind.as_str());
            p.code == Reason::InvalidObject
                && p.object.namespace == namespace
                && (is_named || p.object.kind == "EndpointSlice")
        })
    }

    /// The state of `entry`. Its pods are all that the Service selects, and some that share a label with those.
    pub fn state<'b>(&'b self, entry: &'b Entry<'a>) -> State<'b> {
        State {
            service: entry.service,
            pods: entry.service.and_then(|service| self.candidates_of(service)).unwrap_or_default(),
            nodes: &self.nodes,
            endpoints: entry.endpoints,
            slices: &self.slices[entry.slices.clone()],
        }
    }

    fn candidates_of(&self, service: &Service) -> Option<&[&'a Pod]> {
        self.postings.candidates(&service.meta.namespace, service.selector.as_ref()?)
    }

    /// The kinds about which nothing is known that concerns an entry: no object of its namespace is in the input, or what
    /// may have its pods cannot be read.
    pub fn unknown_of(&self, entry: &Entry<'_>) -> UnknownKinds {
        let unknown = self.unknown_in(entry.namespace);
        match self.unread_pods_of(entry) {
            Some(_) => UnknownKinds { pods: true, assumes_pods: false, ..unknown },
            None => unknown,
        }
    }

    /// The kinds about which nothing is known in a namespace.
    fn unknown_in(&self, namespace: &str) -> UnknownKinds {
        self.unknown.as_ref().map(|unknown| unknown.of(namespace)).unwrap_or_default()
    }

    /// What is not checked of an entry, because objects cannot be read or may be a part of a cluster; `None` if everything
    /// is.
    pub fn not_checked_of(&self, entry: &Entry<'_>) -> Option<String> {
        if let Some(unread) = self.unread_pods_of(entry) {
            return Some(format!("it {unread}"));
        }
        self.unknown.as_ref()?.of_state(entry.namespace, &self.state(entry))
    }

    /// Whether a node that is not among the [`nodes`](Self::nodes) does not exist.
    pub fn knows_nodes(&self) -> bool {
        self.unknown.as_ref().is_none_or(|unknown| !unknown.nodes())
    }

    /// Whether the objects may be a part of a cluster.
    pub fn is_part(&self) -> bool {
        self.unknown.is_some()
    }

    /// The namespaces of the pods that were read.
    pub(super) fn namespaces_with_pods(&self) -> BTreeSet<&'a str> {
        // Pods mostly come namespace by namespace.
        let runs = self.inventory.pods_of_input().chunk_by(|a, b| a.namespace() == b.namespace());
        runs.filter_map(|run| run.first()).map(|pod| pod.namespace().as_str()).collect()
    }

    /// The workloads whose pods are not assumed because there are too many.
    pub(super) fn unassumed_workloads(&self) -> UnassumedWorkloads<'a> {
        self.inventory.unassumed.iter().map(|place| &self.inventory.workloads[*place]).collect()
    }

    /// Counts values that an API server refuses as errors.
    pub fn refuse_values(&mut self) {
        for problem in self.problems.iter_mut().filter(|p| matches!(p.code, Reason::InvalidName | Reason::InvalidPort))
        {
            problem.severity = Severity::Error;
        }
    }

    /// Leaves out the findings about other objects than those of the entries: Services that have no entry, and objects of
    /// namespaces without one. What cannot be read stays.
    pub fn retain_problems_of_entries(&mut self) {
        let entries: BTreeSet<(&str, &str)> =
            self.entries.iter().map(|e| (e.namespace.as_str(), e.name.as_str())).collect();
        let namespaces: BTreeSet<&str> = entries.iter().map(|(namespace, _)| *namespace).collect();
        self.problems.retain(|p| match p.object.kind.as_str() {
            _ if matches!(p.code, Reason::InvalidObject | Reason::MissingSeparator)
                || p.object.name.is_empty()
                || p.object.namespace.is_empty() =>
            {
                true
            }
            "Service" | "Endpoints" => entries.contains(&(p.object.namespace.as_str(), p.object.name.as_str())),
            _ => namespaces.contains(p.object.namespace.as_str()),
        });
    }

    /// The pods of the input, without assumed ones.
    pub fn pod_names(&self) -> PodNames<'a> {
        let pods: PodNames<'_> = self.inventory.pods_of_input().iter().collect();
        pods.with_unread(self.inventory.unread.of_kind(Resource::Pod.kind()))
    }

    /// What the stored addresses of `entry` are compared with; `pods` are those of [`pod_names`](Self::pod_names).
    pub fn targets<'b>(&'b self, entry: &Entry<'_>, pods: &'b PodNames<'b>) -> KnownTargets<'b> {
        let unknown = self.unknown_in(entry.namespace);
        KnownTargets {
            pods,
            nodes: &self.nodes,
            complete: !self.is_part(),
            knows_nodes: self.knows_nodes(),
            services: !unknown.services,
            endpoints: !unknown.endpoints,
        }
    }

    /// All nodes. If nothing is known about them, those that pods name.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// How many pods there are.
    pub fn pods(&self) -> usize {
        self.pods
    }

    /// How many pods the Services have to choose from, together: a pod counts for each Service.
    pub fn candidates(&self) -> usize {
        self.entries.iter().map(|entry| self.state(entry).pods.len()).sum()
    }

    /// The findings about the input: those of reading it, and duplicates.
    pub fn problems(&self) -> &Findings {
        &self.problems
    }
}

impl Index<'_> {
    /// Adds the places of the objects to the findings about duplicates: of each object, the first ones and the last one.
    pub fn place_duplicates(&mut self, places: &BTreeMap<ObjectKey, Vec<String>>) {
        /// Each finding about an object names its places.
        const NAMED: usize = 3;
        for problem in self.problems.iter_mut().filter(|p| p.code == Reason::DuplicateObject) {
            if let Some([others @ .., last]) = places.get(&problem.object).map(Vec::as_slice)
                && !others.is_empty()
            {
                let named = others.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
                let more = match others.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!(", {more} more places"),
                };
                problem.message = format!("{} is in {named}{more}, and in {last}, which counts", problem.object);
            }
        }
    }
}

/// The objects sorted by namespace and name; of equal names only the last, and a finding for each of the others.
fn distinct<'a, T: Row>(kind: &str, objects: &'a [T], findings: &mut Findings) -> Vec<&'a T> {
    let duplicate = |object: &&T| {
        findings.add(Reason::DuplicateObject.severity(), || {
            let key = ObjectKey::new(kind, &object.namespace().into(), &object.name().into());
            Finding::duplicate(key)
        });
    };
    <Table<&T>>::new(objects.iter().collect(), duplicate).into_rows()
}

/// Joins the three sorted lists by namespace and name.
fn entries<'a>(services: &[&'a Service], endpoints: &[&'a Endpoints], slices: &[&'a EndpointSlice]) -> Vec<Entry<'a>> {
    let slice_key = |s: &'a EndpointSlice| s.service_name().map(|name| (&s.meta.namespace, name));
    let mut keys: Vec<(&'a Text, &'a Text)> = services.iter().map(|s| (&s.meta.namespace, &s.meta.name)).collect();
    keys.extend(endpoints.iter().map(|e| (&e.meta.namespace, &e.meta.name)));
    keys.extend(slices.iter().filter_map(|s| slice_key(s)));
    keys.sort_unstable();
    keys.dedup();

    let (mut services, mut endpoints) = (services.iter().peekable(), endpoints.iter().peekable());
    let mut slice = 0;
    keys.into_iter()
        .map(|key| {
            let first = slice;
            slice += slices[first..].iter().take_while(|s| slice_key(s) == Some(key)).count();
            Entry {
                namespace: key.0,
                name: key.1,
                service: services.next_if(|s| (&s.meta.namespace, &s.meta.name) == key).copied(),
                endpoints: endpoints.next_if(|e| (&e.meta.namespace, &e.meta.name) == key).copied(),
                slices: first..slice,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::AnyObject;

    fn inventory(objects: &str) -> Inventory {
        let mut inventory = Inventory::default();
        for line in objects.lines().map(str::trim) {
            let Some((kind, json)) = line.split_once(' ') else { continue };
            inventory.add(match kind {
                "Service" => AnyObject::Service(serde_json::from_str(json).unwrap()),
                "Pod" => AnyObject::Pod(serde_json::from_str(json).unwrap()),
                "Endpoints" => AnyObject::Endpoints(serde_json::from_str(json).unwrap()),
                _ => AnyObject::EndpointSlice(serde_json::from_str(json).unwrap()),
            });
        }
        inventory
    }

    /// `namespace/name service? pods | endpoints? slices` of every entry.
    fn lines(index: &Index<'_>) -> Vec<String> {
        let line = |e: &Entry<'_>| {
            let state = index.state(e);
            let pods: Vec<_> = state.pods.iter().map(Row::name).collect();
            let slices: Vec<_> = state.slices.iter().map(|s| s.meta.name.as_str()).collect();
            let there = |b: bool| if b { "+" } else { "-" };
            let (service, endpoints) = (there(state.service.is_some()), there(state.endpoints.is_some()));
            format!("{}/{} {service} {} | {endpoints} {}", e.namespace, e.name, pods.join(","), slices.join(","))
        };
        index.entries().iter().map(line).collect()
    }

    #[test]
    fn each_service_finds_what_belongs_to_it() {
        let inventory = inventory(
            r#"
            Service {"metadata":{"namespace":"n","name":"web"},"spec":{"selector":{"all":"1","app":"web"}}}
            Service {"metadata":{"namespace":"n","name":"none"},"spec":{"selector":{"all":"1","app":"none"}}}
            Service {"metadata":{"namespace":"n","name":"every"},"spec":{"selector":{}}}
            Service {"metadata":{"namespace":"n","name":"hand"},"spec":{}}
            Service {"metadata":{"namespace":"m","name":"web"},"spec":{"selector":{"app":"web"}}}
            Pod {"metadata":{"namespace":"n","name":"b","labels":{"all":"1","app":"web"}}}
            Pod {"metadata":{"namespace":"n","name":"a","labels":{"all":"1","app":"web"}}}
            Pod {"metadata":{"namespace":"n","name":"c","labels":{"all":"1","app":"x"}}}
            Pod {"metadata":{"namespace":"m","name":"a","labels":{"app":"x"}}}
            Pod {"metadata":{"namespace":"o","name":"a","labels":{"app":"web"}}}
            Endpoints {"metadata":{"namespace":"n","name":"hand"}}
            Endpoints {"metadata":{"namespace":"n","name":"gone"}}
            EndpointSlice {"metadata":{"namespace":"n","name":"web-2","labels":{"kubernetes.io/service-name":"web"}}}
            EndpointSlice {"metadata":{"namespace":"n","name":"web-1","labels":{"kubernetes.io/service-name":"web"}}}
            EndpointSlice {"metadata":{"namespace":"n","name":"old-1","labels":{"kubernetes.io/service-name":"old"}}}
            EndpointSlice {"metadata":{"namespace":"n","name":"nobody"}}"#,
        );
        let index = inventory.index();
        assert_eq!(
            lines(&index),
            [
                "m/web +  | - ",
                "n/every + a,b,c | - ",
                "n/gone -  | + ",
                "n/hand +  | + ",
                "n/none +  | - ",
                "n/old -  | - old-1",
                // Candidates by the rarer label.
                "n/web + a,b | - web-1,web-2",
            ]
        );
        assert!(index.problems().is_empty());
        assert_eq!(index.get("n", "web").map(|e| e.service.is_some()), Some(true));
        assert!(index.get("m", "every").is_none());
    }

    #[test]
    fn of_equal_names_the_last_one_counts() {
        let inventory = inventory(
            r#"
            Service {"metadata":{"namespace":"n","name":"s"},"spec":{"selector":{"a":"1"}}}
            Service {"metadata":{"namespace":"n","name":"s"},"spec":{"selector":{"a":"2"}}}
            Service {"metadata":{"namespace":"n","name":"s"},"spec":{"selector":{"a":"3"}}}
            Pod {"metadata":{"namespace":"n","name":"p","labels":{"a":"1"}}}
            Pod {"metadata":{"namespace":"n","name":"q","labels":{"a":"3"}}}
            Pod {"metadata":{"namespace":"n","name":"p","labels":{"a":"3"}}}"#,
        );
        let index = inventory.index();
        assert_eq!(lines(&index), ["n/s + p,q | - "]);
        let problems: Vec<_> = index.problems().into_iter().map(|p| p.object.to_string()).collect();
        assert_eq!(problems, ["Service n/s", "Service n/s", "Pod n/p"]);
    }
}
