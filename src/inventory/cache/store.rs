//! The copy, and the answers.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    net::IpAddr,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use crate::{
    admission::{Knowledge, Known, Place, addresses_of},
    model::{EndpointSlice, Labels, Node, Pod, Service, Text},
};

/// An object of a kind that is kept.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the variants are the kinds")]
pub enum Object {
    Pod(Box<Pod>),
    Service(Box<Service>),
    Node(Box<Node>),
    Slice(Box<EndpointSlice>),
    /// Name and labels.
    Namespace(Text, Labels),
}

/// The kinds, as they are synced one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Pods.
    Pod,
    /// Services.
    Service,
    /// Nodes.
    Node,
    /// EndpointSlices.
    Slice,
    /// Namespaces.
    Namespace,
}

/// What a watch reports.
#[derive(Clone, Debug)]
pub enum Event {
    /// The object is there, as it is now.
    Apply(Object),
    /// The object is gone.
    Delete(Object),
    /// All objects of a kind: what else is kept of it is gone.
    Replace(Kind, Vec<Object>),
    /// The kind cannot be watched: what is kept of it is old, until it is replaced.
    Lost(Kind),
}

/// The copy. Written by the watches, read by every review at the same time.
#[derive(Debug, Default)]
pub struct Store {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    pods: Option<HashMap<Text, Pods>>,
    services: Option<HashMap<Text, BTreeMap<Text, Service>>>,
    zones: Option<Zones>,
    slices: Option<HashMap<Text, Slices>>,
    namespaces: Option<BTreeMap<Text, Labels>>,
    /// Kinds whose copy is old.
    lost: BTreeSet<Kind>,
}

/// The pods of a namespace.
#[derive(Debug, Default)]
struct Pods {
    by_name: BTreeMap<Text, Pod>,
    /// How many pods have an address: those of the host network share it.
    addresses: HashMap<IpAddr, u32>,
}

#[derive(Debug, Default)]
struct Zones {
    of_node: BTreeMap<Text, Option<Text>>,
    nodes: BTreeMap<Text, u32>,
}

/// The slices of a namespace.
#[derive(Debug, Default)]
struct Slices {
    by_name: BTreeMap<Text, Slice>,
    /// By Service and address, the slices that list it.
    by_address: HashMap<(Text, Text), Vec<Text>>,
}

/// What is kept of a slice.
#[derive(Debug)]
struct Slice {
    service: Text,
    ports: Vec<Text>,
    addresses: Vec<Text>,
}

pub(super) const NOT_SYNCED: &str = "the copy of the cluster is not complete yet";
pub(super) const OLD: &str = "the copy of the cluster is old: its API server does not answer";

impl Store {
    /// An empty copy, complete in nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether every kind has been listed once.
    pub fn synced(&self) -> bool {
        let inner = self.read();
        inner.pods.is_some()
            && inner.services.is_some()
            && inner.zones.is_some()
            && inner.slices.is_some()
            && inner.namespaces.is_some()
    }

    /// Labels of a namespace, if they are known. Old ones serve: without any, a policy that asks for labels of
    /// namespaces would hold for none.
    pub fn namespace_labels(&self, name: &str) -> Option<Labels> {
        self.read().namespaces.as_ref()?.get(name).cloned()
    }

    /// Takes an event.
    pub fn take(&self, event: Event) {
        // Built before the lock is taken: reviews go on meanwhile.
        match event {
            Event::Apply(object) => {
                let object = object.slim();
                self.write().apply(object);
            }
            Event::Delete(object) => self.write().delete(&object),
            Event::Replace(kind, objects) => {
                let mut fresh = Inner::default();
                fresh.begin(kind);
                for object in objects {
                    fresh.apply(object.slim());
                }
                self.write().swap(kind, &mut fresh);
            }
            Event::Lost(kind) => {
                self.write().lost.insert(kind);
            }
        }
    }

    // A panic elsewhere leaves the copy as whole as it was: every event is one insertion or removal.
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn begin(&mut self, kind: Kind) {
        match kind {
            Kind::Pod => self.pods = Some(HashMap::new()),
            Kind::Service => self.services = Some(HashMap::new()),
            Kind::Node => self.zones = Some(Zones::default()),
            Kind::Slice => self.slices = Some(HashMap::new()),
            Kind::Namespace => self.namespaces = Some(BTreeMap::new()),
        }
    }

    /// What is kept of a kind, or why nothing is told from it.
    fn told<T>(&self, kind: Kind, kept: impl FnOnce(&Self) -> Option<&T>) -> Result<&T, &'static str> {
        let kept = kept(self).ok_or(NOT_SYNCED)?;
        if self.lost.contains(&kind) { Err(OLD) } else { Ok(kept) }
    }

    fn swap(&mut self, kind: Kind, fresh: &mut Self) {
        self.lost.remove(&kind);
        match kind {
            Kind::Pod => std::mem::swap(&mut self.pods, &mut fresh.pods),
            Kind::Service => std::mem::swap(&mut self.services, &mut fresh.services),
            Kind::Node => std::mem::swap(&mut self.zones, &mut fresh.zones),
            Kind::Slice => std::mem::swap(&mut self.slices, &mut fresh.slices),
            Kind::Namespace => std::mem::swap(&mut self.namespaces, &mut fresh.namespaces),
        }
    }

    /// An event before the first list of its kind is dropped: the list will have it.
    fn apply(&mut self, object: Object) {
        match object {
            Object::Pod(pod) => {
                if let Some(all) = &mut self.pods {
                    all.entry(pod.namespace().clone()).or_default().insert(*pod);
                }
            }
            Object::Service(service) => {
                if let Some(all) = &mut self.services {
                    let (namespace, name) = (service.meta.namespace.clone(), service.meta.name.clone());
                    all.entry(namespace).or_default().insert(name, *service);
                }
            }
            Object::Node(node) => {
                if let Some(zones) = &mut self.zones {
                    zones.remove(&node.name);
                    zones.insert(&node);
                }
            }
            Object::Slice(slice) => {
                if let Some(all) = &mut self.slices {
                    let slices = all.entry(slice.meta.namespace.clone()).or_default();
                    slices.remove(&slice.meta.name);
                    slices.insert(&slice);
                }
            }
            Object::Namespace(name, labels) => {
                if let Some(all) = &mut self.namespaces {
                    all.insert(name, labels);
                }
            }
        }
    }

    fn delete(&mut self, object: &Object) {
        match object {
            Object::Pod(pod) => {
                if let Some(Entry::Occupied(mut pods)) = self.pods.as_mut().map(|a| a.entry(pod.namespace().clone())) {
                    pods.get_mut().remove(pod.name());
                    if pods.get().by_name.is_empty() {
                        pods.remove();
                    }
                }
            }
            Object::Service(service) => {
                let namespace = service.meta.namespace.clone();
                if let Some(Entry::Occupied(mut all)) = self.services.as_mut().map(|a| a.entry(namespace)) {
                    all.get_mut().remove(&service.meta.name);
                    if all.get().is_empty() {
                        all.remove();
                    }
                }
            }
            Object::Node(node) => {
                if let Some(zones) = &mut self.zones {
                    zones.remove(&node.name);
                }
            }
            Object::Slice(slice) => {
                let namespace = slice.meta.namespace.clone();
                if let Some(Entry::Occupied(mut slices)) = self.slices.as_mut().map(|a| a.entry(namespace)) {
                    slices.get_mut().remove(&slice.meta.name);
                    if slices.get().by_name.is_empty() {
                        slices.remove();
                    }
                }
            }
            Object::Namespace(name, _) => {
                if let Some(all) = &mut self.namespaces {
                    all.remove(name);
                }
            }
        }
    }
}

impl Pods {
    fn insert(&mut self, pod: Pod) {
        self.remove(&pod.name().clone());
        for ip in addresses_of(&pod) {
            *self.addresses.entry(ip).or_default() += 1;
        }
        self.by_name.insert(pod.name().clone(), pod);
    }

    fn remove(&mut self, name: &Text) {
        let Some(pod) = self.by_name.remove(name) else { return };
        for ip in addresses_of(&pod) {
            if let Entry::Occupied(mut count) = self.addresses.entry(ip) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
    }
}

impl Zones {
    fn insert(&mut self, node: &Node) {
        let zone = node.zone().cloned();
        if let Some(zone) = &zone {
            *self.nodes.entry(zone.clone()).or_default() += 1;
        }
        self.of_node.insert(node.name.clone(), zone);
    }

    fn remove(&mut self, node: &Text) {
        if let Some(Some(zone)) = self.of_node.remove(node)
            && let Some(count) = self.nodes.get_mut(&zone)
        {
            *count -= 1;
            if *count == 0 {
                self.nodes.remove(&zone);
            }
        }
    }
}

impl Slices {
    fn insert(&mut self, slice: &EndpointSlice) {
        let Some(service) = slice.service_name() else { return };
        let addresses: Vec<Text> = slice.endpoints.iter().flat_map(|e| e.addresses.iter().cloned()).collect();
        for address in &addresses {
            let names = self.by_address.entry((service.clone(), address.clone())).or_default();
            names.push(slice.meta.name.clone());
        }
        let kept = Slice { service: service.clone(), ports: slice.port_names(), addresses };
        self.by_name.insert(slice.meta.name.clone(), kept);
    }

    fn remove(&mut self, name: &Text) {
        let Some(Slice { service, addresses, .. }) = self.by_name.remove(name) else { return };
        for address in addresses {
            if let Entry::Occupied(mut names) = self.by_address.entry((service.clone(), address)) {
                names.get_mut().retain(|n| n != name);
                if names.get().is_empty() {
                    names.remove();
                }
            }
        }
    }
}

impl Knowledge for Store {
    fn service(&self, namespace: &str, name: &str) -> Known<Option<Service>> {
        match self.read().told(Kind::Service, |i| i.services.as_ref()) {
            Err(why) => Known::No(why),
            Ok(all) => Known::Yes(all.get(namespace).and_then(|n| n.get(name)).cloned()),
        }
    }

    fn pods(&self, namespace: &str, selector: &Labels, see: &mut dyn FnMut(&Pod) -> bool) -> Known<()> {
        let inner = self.read();
        let all = match inner.told(Kind::Pod, |i| i.pods.as_ref()) {
            Err(why) => return Known::No(why),
            Ok(all) => all,
        };
        let pods = all.get(namespace).into_iter().flat_map(|p| p.by_name.values());
        for pod in pods.filter(|p| selector.selects(&p.labels)) {
            if !see(pod) {
                break;
            }
        }
        Known::Yes(())
    }

    fn is_pod_address(&self, namespace: &str, ip: IpAddr) -> Known<bool> {
        match self.read().told(Kind::Pod, |i| i.pods.as_ref()) {
            Err(why) => Known::No(why),
            Ok(all) => Known::Yes(all.get(namespace).is_some_and(|p| p.addresses.contains_key(&ip.to_canonical()))),
        }
    }

    fn is_zone(&self, zone: &str) -> Known<bool> {
        match self.read().told(Kind::Node, |i| i.zones.as_ref()) {
            Err(why) => Known::No(why),
            Ok(zones) => Known::Yes(zones.nodes.contains_key(zone)),
        }
    }

    fn other_slice(&self, place: &Place<'_>) -> Known<Option<String>> {
        let inner = self.read();
        let all = match inner.told(Kind::Slice, |i| i.slices.as_ref()) {
            Err(why) => return Known::No(why),
            Ok(all) => all,
        };
        let Some(slices) = all.get(place.namespace) else { return Known::Yes(None) };
        let key = (Text::from(place.service), Text::from(place.address));
        let shares = |name: &Text| slices.by_name.get(name).is_some_and(|s| place.shares_port(&s.ports));
        let mut names = slices.by_address.get(&key).into_iter().flatten();
        Known::Yes(names.find(|n| n.as_str() != place.slice && shares(n)).map(ToString::to_string))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(namespace: &str, name: &str, ip: &str) -> Object {
        let text = json!({
            "metadata": { "namespace": namespace, "name": name, "labels": { "app": name } },
            "status": { "podIP": ip, "podIPs": [{ "ip": ip }] },
        });
        Object::Pod(Box::new(serde_json::from_value(text).unwrap()))
    }

    fn node(name: &str, zone: &str) -> Object {
        let text = json!({ "metadata": { "name": name, "labels": { "topology.kubernetes.io/zone": zone } } });
        Object::Node(Box::new(serde_json::from_value(text).unwrap()))
    }

    fn slice(name: &str, addresses: &[&str]) -> Object {
        let text = json!({
            "metadata": { "namespace": "shop", "name": name, "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "IPv4",
            "endpoints": addresses.iter().map(|a| json!({ "addresses": [a] })).collect::<Vec<_>>(),
        });
        Object::Slice(Box::new(serde_json::from_value(text).unwrap()))
    }

    fn knows(store: &Store, namespace: &str, ip: &str) -> Known<bool> {
        store.is_pod_address(namespace, ip.parse().unwrap())
    }

    #[test]
    fn nothing_is_known_before_the_first_list() {
        let store = Store::new();
        store.take(Event::Apply(pod("shop", "a", "10.0.0.1")));
        assert_eq!(knows(&store, "shop", "10.0.0.1"), Known::No(NOT_SYNCED));
        for kind in [Kind::Pod, Kind::Service, Kind::Node, Kind::Slice, Kind::Namespace] {
            assert!(!store.synced());
            store.take(Event::Replace(kind, Vec::new()));
        }
        assert!(store.synced());
        assert_eq!(knows(&store, "shop", "10.0.0.1"), Known::Yes(false));
    }

    #[test]
    fn addresses_belong_to_pods_of_their_namespace_until_the_last_one_goes() {
        let store = Store::new();
        store.take(Event::Replace(Kind::Pod, vec![pod("shop", "a", "10.0.0.1"), pod("shop", "b", "010.0.0.1")]));
        assert_eq!(knows(&store, "shop", "10.0.0.1"), Known::Yes(true));
        assert_eq!(knows(&store, "shop", "::ffff:10.0.0.1"), Known::Yes(true));
        assert_eq!(knows(&store, "other", "10.0.0.1"), Known::Yes(false));
        // The pod has another address now.
        store.take(Event::Apply(pod("shop", "a", "10.0.0.2")));
        assert_eq!(knows(&store, "shop", "10.0.0.1"), Known::Yes(true));
        store.take(Event::Delete(pod("shop", "b", "")));
        assert_eq!(knows(&store, "shop", "10.0.0.1"), Known::Yes(false));
        assert_eq!(knows(&store, "shop", "10.0.0.2"), Known::Yes(true));
        store.take(Event::Replace(Kind::Pod, vec![pod("shop", "c", "10.0.0.3")]));
        assert_eq!(knows(&store, "shop", "10.0.0.2"), Known::Yes(false));
        let mut seen = Vec::new();
        let selector: Labels = serde_json::from_value(json!({ "app": "c" })).unwrap();
        store.pods("shop", &selector, &mut |p| {
            seen.push(p.name().to_string());
            true
        });
        assert_eq!(seen, ["c"]);
    }

    #[test]
    fn zones_and_slices_follow_their_objects() {
        let store = Store::new();
        store.take(Event::Replace(Kind::Node, vec![node("n1", "a"), node("n2", "a")]));
        store.take(Event::Delete(node("n1", "")));
        assert_eq!(store.is_zone("a"), Known::Yes(true));
        store.take(Event::Apply(node("n2", "b")));
        assert_eq!((store.is_zone("a"), store.is_zone("b")), (Known::Yes(false), Known::Yes(true)));

        let other = |slice: &str, address: &str| {
            store.other_slice(&Place { namespace: "shop", service: "web", slice, ports: &[], address })
        };
        store.take(Event::Replace(
            Kind::Slice,
            vec![slice("one", &["10.0.0.1"]), slice("two", &["10.0.0.1", "10.0.0.2"])],
        ));
        assert_eq!(other("one", "10.0.0.1"), Known::Yes(Some("two".to_owned())));
        assert_eq!(other("two", "10.0.0.2"), Known::Yes(None));
        store.take(Event::Apply(slice("two", &["10.0.0.2"])));
        assert_eq!(other("one", "10.0.0.1"), Known::Yes(None));
    }

    #[test]
    fn nothing_is_kept_of_a_namespace_without_objects() {
        let service = |name: &str| {
            let text = json!({ "metadata": { "namespace": "shop", "name": name } });
            Object::Service(Box::new(serde_json::from_value(text).unwrap()))
        };
        let store = Store::new();
        for kind in [Kind::Pod, Kind::Service, Kind::Slice] {
            store.take(Event::Replace(kind, Vec::new()));
        }
        for object in [pod("shop", "a", "10.0.0.1"), service("a"), slice("a", &["10.0.0.1"])] {
            store.take(Event::Apply(object.clone()));
            store.take(Event::Delete(object));
        }
        let inner = store.read();
        let left = (inner.pods.as_ref(), inner.services.as_ref(), inner.slices.as_ref());
        assert_eq!(
            (left.0.map(HashMap::len), left.1.map(HashMap::len), left.2.map(HashMap::len)),
            (Some(0), Some(0), Some(0))
        );
    }

    #[test]
    fn what_is_stored_is_slim() {
        let text = json!({
            "metadata": { "namespace": "shop", "name": "a", "annotations": { "note": "x".repeat(200_000) } },
            "spec": { "clusterIP": "None" },
        });
        let object = || Object::Service(Box::new(serde_json::from_value(text.clone()).unwrap()));
        let store = Store::new();
        for event in [Event::Replace(Kind::Service, vec![object()]), Event::Apply(object())] {
            store.take(event);
            assert!(format!("{store:?}").len() < 2_000);
            let Known::Yes(Some(service)) = store.service("shop", "a") else { unreachable!() };
            assert!(service.declared_headless());
        }
    }

    #[test]
    fn a_pod_that_has_ended_has_no_address() {
        let store = Store::new();
        let mut ended = pod("shop", "a", "10.0.0.1");
        store.take(Event::Replace(Kind::Pod, vec![ended.clone()]));
        assert_eq!(knows(&store, "shop", "10.0.0.1"), Known::Yes(true));
        if let Object::Pod(pod) = &mut ended {
            pod.phase = crate::model::Phase::Succeeded;
        }
        store.take(Event::Apply(ended));
        assert_eq!(knows(&store, "shop", "10.0.0.1"), Known::Yes(false));
    }
}
