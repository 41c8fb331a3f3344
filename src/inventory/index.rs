//! What belongs to which Service.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
    sync::Arc,
};

use super::{Inventory, Problems};
use crate::{
    engine::{
        reason::{Finding, Reason},
        state::State,
    },
    model::{EndpointSlice, Endpoints, Labels, Node, Nodes, ObjectKey, Pod, Service, Text},
};

/// Each Service (and each name that only Endpoints or slices have) with what belongs to it, sorted by
/// namespace and name; but for those of which something cannot be read. Borrows the [`Inventory`]; duplicates are gone.
#[derive(Debug)]
pub struct Index<'a> {
    entries: Vec<Entry<'a>>,
    nodes: Nodes,
    postings: Postings<'a>,
    slices: Vec<&'a EndpointSlice>,
    pods: usize,
    unreadable: &'a BTreeSet<(Text, Text)>,
    problems: Problems,
}

/// One Service, or what is left of one.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Namespace.
    pub namespace: &'a Text,
    /// Name.
    pub name: &'a Text,
    /// The Service; `None` if only its Endpoints or slices are there.
    pub service: Option<&'a Service>,
    /// The Endpoints of this name.
    pub endpoints: Option<&'a Endpoints>,
    slices: Range<usize>,
}

impl<'a> Index<'a> {
    pub(super) fn new(inventory: &'a Inventory) -> Self {
        let mut problems = inventory.problems.clone();
        problems.extend(inventory.ignored_problems());
        let mut all = Distinct { problems: &mut problems };
        let services = all.of("Service", &inventory.services, |s| (&s.meta.namespace, &s.meta.name));
        let pods = all.of("Pod", &inventory.pods, |p| (p.namespace(), p.name()));
        let endpoints = all.of("Endpoints", &inventory.endpoints, |e| (&e.meta.namespace, &e.meta.name));
        let mut slices = all.of("EndpointSlice", &inventory.slices, |s| (&s.meta.namespace, &s.meta.name));
        let nodes = all.of("Node", &inventory.nodes, |n: &Node| (&NO_NAMESPACE, &n.name));

        slices.retain(|s| s.service_name().is_some());
        // Stable: slices of one Service stay in order of their names.
        slices.sort_by_key(|s| (&s.meta.namespace, s.service_name()));
        let unreadable = &inventory.unreadable;
        let mut entries = entries(&services, &endpoints, &slices);
        entries.retain(|e| unreadable.is_empty() || !unreadable.contains(&(e.namespace.clone(), e.name.clone())));
        Self {
            entries,
            nodes: nodes.into_iter().cloned().collect(),
            postings: Postings::new(&services, &pods),
            slices,
            pods: pods.len(),
            unreadable,
            problems,
        }
    }

    /// The entries, sorted by namespace and name.
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// Forgets the entries for which `keep` does not hold; pods, nodes and slices stay known.
    pub fn retain(&mut self, keep: impl FnMut(&Entry<'a>) -> bool) {
        self.entries.retain(keep);
    }

    /// The entry of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Entry<'a>> {
        let place = self.entries.binary_search_by(|e| (e.namespace.as_str(), e.name.as_str()).cmp(&(namespace, name)));
        place.ok().map(|i| &self.entries[i])
    }

    /// Namespaces and names of Services of which something is there that cannot be read; they have no entry.
    pub fn unreadable(&self) -> impl Iterator<Item = (&Text, &Text)> {
        self.unreadable.iter().map(|(namespace, name)| (namespace, name))
    }

    /// What says of a Service in [`unreadable`](Self::unreadable) why it is there. Which slice is whose such a problem does
    /// not tell: those of the namespace are all among them.
    pub fn why_unreadable(&self, namespace: &str, name: &str) -> impl Iterator<Item = &Finding> {
        self.problems.iter().filter(move |p| {
            let is_named = p.object.name == name && ["Service", "Endpoints"].contains(&p.object.kind.as_str());
            p.code == Reason::InvalidObject
                && p.object.namespace == namespace
                && (is_named || p.object.kind == "EndpointSlice")
        })
    }

    /// What is known of `entry`. The pods are all that its Service selects, and some that share a label
    /// with those.
    pub fn state<'b>(&'b self, entry: &'b Entry<'a>) -> State<'b> {
        State {
            service: entry.service,
            pods: entry.service.map_or(&[], |s| self.postings.candidates(s)),
            nodes: &self.nodes,
            endpoints: entry.endpoints,
            slices: &self.slices[entry.slices.clone()],
        }
    }

    /// All nodes.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// How many pods there are.
    pub fn pods(&self) -> usize {
        self.pods
    }

    /// What is wrong with the input: what reading found, and duplicates.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }
}

static NO_NAMESPACE: Text = Text::new_static("");

/// Sorts objects by namespace and name, and drops all but the last of one name.
struct Distinct<'p> {
    problems: &'p mut Problems,
}

impl Distinct<'_> {
    fn of<'a, T>(&mut self, kind: &str, all: &'a [T], name: impl Fn(&'a T) -> (&'a Text, &'a Text)) -> Vec<&'a T> {
        let mut sorted: Vec<&T> = all.iter().collect();
        // What kubectl prints is sorted already.
        if !sorted.is_sorted_by(|a, b| name(a) < name(b)) {
            sorted.sort_by(|a, b| name(a).cmp(&name(b)));
            sorted.dedup_by(|later, kept| {
                // Of objects without a name nobody can tell.
                let same = name(later) == name(kept) && !name(later).1.is_empty();
                if same {
                    *kept = later;
                    let (namespace, name) = name(later);
                    self.problems.add(|| Finding::duplicate(ObjectKey::new(kind, namespace, name)));
                }
                same
            });
        }
        sorted
    }
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

type Fast = foldhash::fast::FixedState;

/// For each label pair that some selector of a namespace asks for, the pods that have it: an inverted
/// index. A Service's candidates are the shortest list among the pairs of its selector, so that one
/// label that all pods share costs nothing.
#[derive(Debug, Default)]
struct Postings<'a> {
    namespaces: HashMap<&'a str, usize, Fast>,
    /// Position in `lists`, by namespace, key and value.
    pairs: HashMap<(usize, &'a str, &'a str), usize, Fast>,
    /// By namespace: the list of all its pods, if an empty selector asks for it.
    everything: Vec<Option<usize>>,
    lists: Vec<Vec<&'a Pod>>,
}

impl<'a> Postings<'a> {
    fn new(services: &[&'a Service], pods: &[&'a Pod]) -> Self {
        let mut this = Self::default();
        for service in services {
            if let Some(selector) = &service.selector {
                this.want(&service.meta.namespace, selector);
            }
        }
        this.fill(pods);
        this
    }

    /// Makes the lists that this selector may need.
    fn want(&mut self, namespace: &'a str, selector: &'a Labels) {
        let namespace = *self.namespaces.entry(namespace).or_insert_with(|| {
            self.everything.push(None);
            self.everything.len() - 1
        });
        let lists = &mut self.lists;
        let mut new_list = || {
            lists.push(Vec::new());
            lists.len() - 1
        };
        if selector.is_empty() {
            self.everything[namespace].get_or_insert_with(new_list);
            return;
        }
        for (key, value) in selector.iter() {
            self.pairs.entry((namespace, key, value)).or_insert_with(&mut new_list);
        }
    }

    fn fill(&mut self, pods: &[&'a Pod]) {
        let mut wanted: Vec<usize> = Vec::new();
        let mut before: Option<&Pod> = None;
        for pod in pods {
            // Neighbours are mostly replicas: they share namespace and labels.
            let alike = before.is_some_and(|b| Arc::ptr_eq(&b.labels, &pod.labels) && b.namespace() == pod.namespace());
            if !alike {
                wanted.clear();
                if let Some(&namespace) = self.namespaces.get(pod.namespace().as_str()) {
                    wanted.extend(self.everything[namespace]);
                    wanted.extend(pod.labels.iter().filter_map(|(k, v)| self.pairs.get(&(namespace, k, v))));
                }
                before = Some(pod);
            }
            for &list in &wanted {
                self.lists[list].push(pod);
            }
        }
    }

    fn candidates(&self, service: &Service) -> &[&'a Pod] {
        let Some(selector) = &service.selector else { return &[] };
        let Some(&namespace) = self.namespaces.get(service.meta.namespace.as_str()) else { return &[] };
        let list = |i: &usize| self.lists[*i].as_slice();
        if selector.is_empty() {
            return self.everything[namespace].as_ref().map_or(&[], list);
        }
        let lists = selector.iter().filter_map(|(k, v)| self.pairs.get(&(namespace, k.as_str(), v.as_str()))).map(list);
        lists.min_by_key(|l| l.len()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Object;

    fn inventory(objects: &str) -> Inventory {
        let mut inventory = Inventory::default();
        for line in objects.lines().map(str::trim) {
            let Some((kind, json)) = line.split_once(' ') else { continue };
            inventory.add(match kind {
                "Service" => Object::Service(serde_json::from_str(json).unwrap()),
                "Pod" => Object::Pod(serde_json::from_str(json).unwrap()),
                "Endpoints" => Object::Endpoints(serde_json::from_str(json).unwrap()),
                _ => Object::EndpointSlice(serde_json::from_str(json).unwrap()),
            });
        }
        inventory
    }

    /// `namespace/name service? pods | endpoints? slices` of every entry.
    fn told(index: &Index<'_>) -> Vec<String> {
        let line = |e: &Entry<'_>| {
            let state = index.state(e);
            let pods: Vec<_> = state.pods.iter().map(|p| p.name().as_str()).collect();
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
            told(&index),
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
        assert_eq!(told(&index), ["n/s + p,q | - "]);
        let problems: Vec<_> = index.problems().into_iter().map(|p| p.object.to_string()).collect();
        assert_eq!(problems, ["Service n/s", "Service n/s", "Pod n/p"]);
    }
}
