//! Look-ups of what belongs to a Service: the slices that name it, and the Services that select a pod.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use roster_engine::model::{EndpointSlice, HashSeed, Labels, Service, Text};

use super::table::{Lookup, Row};

/// A slice that may belong to a Service.
pub trait ServiceSlice: Row {
    /// The namespace, and the name of the Service by the slice's label.
    fn service(&self) -> Option<(&Text, &Text)>;

    /// The number of its endpoints.
    fn endpoint_count(&self) -> usize;

    /// Namespace and name of the Service. A label may be empty: then there is none.
    fn service_key(&self) -> Option<(Text, Text)> {
        let (namespace, service) = self.service().filter(|(_, service)| !service.is_empty())?;
        Some((namespace.clone(), service.clone()))
    }
}

impl<T: ServiceSlice> ServiceSlice for Arc<T> {
    fn service(&self) -> Option<(&Text, &Text)> {
        (**self).service()
    }

    fn endpoint_count(&self) -> usize {
        (**self).endpoint_count()
    }
}

/// The slices of each Service.
#[derive(Debug)]
pub struct SlicesByService<R>(BTreeMap<(Text, Text), SlicesOfService<R>>);

/// The slices of a Service.
#[derive(Debug)]
struct SlicesOfService<R> {
    /// Sorted by name.
    slices: Vec<R>,
    /// How many endpoints all of them have.
    endpoints: usize,
}

impl<R> Default for SlicesByService<R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<R> SlicesByService<R> {
    /// The slices of a Service, sorted by name.
    pub fn of(&self, namespace: &Text, service: &Text) -> &[R] {
        self.entry(namespace, service).map_or(&[], |of_service| &of_service.slices)
    }

    /// Namespaces and names of the Services that have slices.
    pub fn services(&self) -> impl Iterator<Item = (&Text, &Text)> {
        self.0.keys().map(|(namespace, name)| (namespace, name))
    }

    /// How many slices a Service has, and endpoints in them.
    pub fn weight(&self, namespace: &Text, service: &Text) -> usize {
        self.entry(namespace, service).map_or(0, |of_service| of_service.slices.len() + of_service.endpoints)
    }

    fn entry(&self, namespace: &Text, service: &Text) -> Option<&SlicesOfService<R>> {
        self.0.get(&(namespace.clone(), service.clone()))
    }
}

impl<R: ServiceSlice + Clone> Lookup<R> for SlicesByService<R> {
    fn add(&mut self, slice: &R) {
        let Some(key) = slice.service_key() else { return };
        let empty = || SlicesOfService { slices: Vec::new(), endpoints: 0 };
        let of_service = self.0.entry(key).or_insert_with(empty);
        of_service.endpoints += slice.endpoint_count();
        let at = of_service.slices.partition_point(|other| other.name() < slice.name());
        of_service.slices.insert(at, slice.clone());
    }

    fn remove(&mut self, slice: &R) {
        let Some(key) = slice.service_key() else { return };
        let Some(of_service) = self.0.get_mut(&key) else { return };
        if let Ok(at) = of_service.slices.binary_search_by(|other| other.name().cmp(slice.name())) {
            of_service.slices.remove(at);
            of_service.endpoints -= slice.endpoint_count();
        }
        if of_service.slices.is_empty() {
            self.0.remove(&key);
        }
    }
}

/// A Service that may select pods.
pub trait SelectingService: Row {
    /// Namespace and name.
    fn key(&self) -> (&Text, &Text);

    /// The selector; `None`: it selects none.
    fn selector(&self) -> Option<&Labels>;
}

impl<T: SelectingService> SelectingService for Arc<T> {
    fn key(&self) -> (&Text, &Text) {
        (**self).key()
    }

    fn selector(&self) -> Option<&Labels> {
        (**self).selector()
    }
}

/// The Services that select a pod, by their namespace and the rarest label of their selector.
#[derive(Debug)]
pub struct ServicesBySelector<R>(HashMap<Text, SelectorsOfNamespace<R>>);

/// The Services of a namespace that have a selector, each by its name in one of the maps.
#[derive(Debug)]
struct SelectorsOfNamespace<R> {
    by_label: HashMap<(Text, Text), BTreeMap<Text, R>, HashSeed>,
    /// Those whose selector is empty: they select every pod.
    of_all: BTreeMap<Text, R>,
}

impl<R> Default for ServicesBySelector<R> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<R> SelectorsOfNamespace<R> {
    fn is_empty(&self) -> bool {
        self.by_label.is_empty() && self.of_all.is_empty()
    }
}

impl<R: SelectingService> ServicesBySelector<R> {
    /// The Services that select a pod with these labels, each once. It costs as much as the labels and the Services that share
    /// one of them.
    pub fn selecting<'a>(&'a self, namespace: &str, labels: &'a Labels) -> impl Iterator<Item = &'a R> {
        let of_namespace = self.0.get(namespace);
        let of_label = move |(key, value): (&Text, &Text)| of_namespace?.by_label.get(&(key.clone(), value.clone()));
        let by_label = labels.iter().filter_map(of_label);
        let selects = move |service: &&R| service.selector().is_some_and(|selector| selector.selects(labels));
        let of_all = of_namespace.map(|of_namespace| &of_namespace.of_all);
        by_label.chain(of_all).flat_map(BTreeMap::values).filter(selects)
    }
}

impl<R: SelectingService + Clone> Lookup<R> for ServicesBySelector<R> {
    fn add(&mut self, service: &R) {
        let (Some(selector), (namespace, name)) = (service.selector(), service.key()) else { return };
        let empty = || SelectorsOfNamespace { by_label: HashMap::default(), of_all: BTreeMap::new() };
        let SelectorsOfNamespace { by_label, of_all } = self.0.entry(namespace.clone()).or_insert_with(empty);
        let owned = |(key, value): (&Text, &Text)| (key.clone(), value.clone());
        // A label that every Service of a chart has would make every pod ask all of them.
        let rarest = selector.iter().map(owned).min_by_key(|label| by_label.get(label).map_or(0, BTreeMap::len));
        let services = match rarest {
            Some(label) => by_label.entry(label).or_default(),
            None => of_all,
        };
        services.insert(name.clone(), service.clone());
    }

    fn remove(&mut self, service: &R) {
        let Some(selector) = service.selector() else { return };
        let Some(of_namespace) = self.0.get_mut(service.namespace()) else { return };
        of_namespace.of_all.remove(service.name());
        // Which of its labels was the rarest is long past.
        for (key, value) in selector.iter() {
            let label = (key.clone(), value.clone());
            if let Some(services) = of_namespace.by_label.get_mut(&label)
                && services.remove(service.name()).is_some()
                && services.is_empty()
            {
                of_namespace.by_label.remove(&label);
            }
        }
        if of_namespace.is_empty() {
            self.0.remove(service.namespace());
        }
    }
}

impl SelectingService for Service {
    fn key(&self) -> (&Text, &Text) {
        (&self.meta.namespace, &self.meta.name)
    }

    fn selector(&self) -> Option<&Labels> {
        self.selector.as_ref()
    }
}

impl ServiceSlice for EndpointSlice {
    fn service(&self) -> Option<(&Text, &Text)> {
        Some((&self.meta.namespace, self.service_name()?))
    }

    fn endpoint_count(&self) -> usize {
        self.endpoints.len()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::table::Table, *};

    type Services = Table<Arc<Service>, ServicesBySelector<Arc<Service>>>;

    fn labels(text: &str) -> Labels {
        text.split_whitespace().filter_map(|pair| pair.split_once('=')).collect()
    }

    fn service(namespace: &str, name: &str, selector: Option<&str>) -> Arc<Service> {
        let selector = selector.map(labels);
        let mut service: Service =
            serde_json::from_value(json!({ "metadata": { "name": name, "namespace": namespace } })).unwrap();
        service.selector = selector;
        Arc::new(service)
    }

    fn selecting(services: &Services, namespace: &str, pod: &str) -> String {
        let pod = labels(pod);
        let mut names: Vec<&str> = services.lookup().selecting(namespace, &pod).map(Row::name).collect();
        names.sort_unstable();
        names.join(" ")
    }

    #[test]
    fn services_are_found_by_the_labels_of_a_pod() {
        let mut services = Services::default();
        for (namespace, name, selector) in [
            ("shop", "web", Some("app=web")),
            ("shop", "web-blue", Some("app=web color=blue")),
            ("shop", "all", Some("")),
            ("shop", "by-hand", None),
            ("other", "web", Some("app=web")),
        ] {
            services.insert(service(namespace, name, selector));
        }
        for (namespace, pod, found) in [
            ("shop", "app=web color=blue tier=x", "all web web-blue"),
            ("shop", "app=web color=red", "all web"),
            ("shop", "color=blue", "all"),
            ("shop", "", "all"),
            ("other", "app=web color=blue", "web"),
            ("none", "app=web", ""),
        ] {
            assert_eq!(selecting(&services, namespace, pod), found, "{namespace} {pod}");
        }
        services.insert(service("shop", "web", Some("app=api")));
        services.insert(service("shop", "all", None));
        services.remove("shop", "web-blue");
        assert_eq!(selecting(&services, "shop", "app=web color=blue"), "");
        assert_eq!(selecting(&services, "shop", "app=api"), "web");
        services.remove("shop", "web");
        services.remove("other", "web");
        assert!(services.lookup().0.is_empty(), "nothing is left of what is gone");
    }

    #[test]
    fn a_service_is_found_by_the_rarest_label_of_its_selector() {
        let mut services = Services::default();
        for i in 0..100 {
            services.insert(service("shop", &format!("s{i}"), Some(&format!("a-chart=x app=a{i}"))));
        }
        let of_namespace = &services.lookup().0["shop"];
        let longest = of_namespace.by_label.values().map(BTreeMap::len).max();
        assert_eq!(longest, Some(1));
    }

    #[test]
    fn slices_follow_the_label_that_names_their_service() {
        let slice = |name: &str, service: &str, endpoints: usize| {
            let endpoints = vec![json!({ "addresses": ["10.0.0.1"] }); endpoints];
            let labels = json!({ "kubernetes.io/service-name": service });
            let meta = json!({ "name": name, "namespace": "shop", "labels": labels });
            let slice = json!({ "metadata": meta, "addressType": "IPv4", "endpoints": endpoints });
            Arc::new(serde_json::from_value::<EndpointSlice>(slice).unwrap())
        };
        let mut slices: Table<_, SlicesByService<_>> = Table::default();
        for (name, service, endpoints) in [("b", "web", 2), ("a", "web", 1), ("c", "api", 1), ("d", "", 9)] {
            slices.insert(slice(name, service, endpoints));
        }
        let (shop, web, api) = ("shop".into(), "web".into(), "api".into());
        let names = |slices: &Table<_, SlicesByService<Arc<EndpointSlice>>>, service| -> Vec<String> {
            slices.lookup().of(&shop, service).iter().map(|slice| slice.name().to_owned()).collect()
        };
        assert_eq!((names(&slices, &web), slices.lookup().weight(&shop, &web)), (vec!["a".into(), "b".into()], 5));
        slices.insert(slice("b", "api", 3));
        assert_eq!((names(&slices, &web), slices.lookup().weight(&shop, &web)), (vec!["a".into()], 2));
        assert_eq!((names(&slices, &api), slices.lookup().weight(&shop, &api)), (vec!["b".into(), "c".into()], 6));
        slices.remove("shop", "a");
        assert_eq!(slices.lookup().services().collect::<Vec<_>>(), [(&shop, &api)]);
    }
}
