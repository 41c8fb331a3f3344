//! The Ingresses and routes of the Gateway API that were read: what sends requests to which Service.

use std::borrow::Cow;

use roster_engine::model::{HeapSize, ObjectKey, Text, json::message::shortened, wire::nullable};
use serde::Deserialize;

use super::backends::{BackendPort, BackendReference, GATEWAY, Referrer, backends_of};

/// A route that names a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRoute {
    /// Namespace and name of the Service.
    pub service: (Text, Text),
    /// The route.
    pub route: ObjectKey,
    /// The requests that it sends there, such as `shop.example.com/cart`; empty for all.
    pub matches: String,
    /// The port that it names.
    pub port: Option<BackendPort>,
}

/// The kinds of routes, each with its group.
const KINDS: [(&str, &str); 6] = [
    ("Ingress", "networking.k8s.io"),
    ("HTTPRoute", GATEWAY),
    ("GRPCRoute", GATEWAY),
    ("TLSRoute", GATEWAY),
    ("TCPRoute", GATEWAY),
    ("UDPRoute", GATEWAY),
];
/// The most routes that are kept of an input: pictures show a few of each Service.
const MOST: usize = 1 << 16;
/// The most hosts and paths that are named.
const NAMED: usize = 2;

/// The routes of an input, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct ServiceRoutes(Vec<ServiceRoute>);

impl ServiceRoutes {
    /// Whether objects of a kind are routes.
    pub fn reads(group: &str, kind: &str) -> bool {
        KINDS.contains(&(kind, group))
    }

    /// Adds the references of an object, whose key is known. Returns the memory in bytes that they take.
    pub fn add(&mut self, object: Referrer<'_>, name: &Text) -> usize {
        let route = ObjectKey::new(object.kind, &object.namespace.into(), name);
        let mut size = 0;
        let parts: RouteParts = serde_json::from_str(object.text).unwrap_or_default();
        let references = backends_of(object);
        for reference in references.into_iter().take(MOST.saturating_sub(self.0.len())) {
            let matches = parts.matches_of(&reference);
            let BackendReference { namespace, name, port, .. } = reference;
            let names = [&namespace, &name, &route.kind, &route.namespace, &route.name];
            size += size_of::<ServiceRoute>() + matches.len() + names.map(HeapSize::heap_size).iter().sum::<usize>();
            self.0.push(ServiceRoute { service: (namespace, name), route: route.clone(), matches, port });
        }
        size
    }

    /// Appends those of `other`.
    pub fn merge(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
        self.0.truncate(MOST);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &ServiceRoute> {
        self.0.iter()
    }
}

/// The parts of a route that say which requests it sends where.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RouteParts {
    #[serde(deserialize_with = "nullable")]
    spec: RouteSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RouteSpec {
    #[serde(deserialize_with = "nullable")]
    hostnames: Vec<Text>,
    #[serde(deserialize_with = "nullable")]
    rules: Vec<RouteRule>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RouteRule {
    /// Of an Ingress.
    #[serde(deserialize_with = "nullable")]
    host: Text,
    #[serde(deserialize_with = "nullable")]
    http: IngressPaths,
    /// Of a route of the Gateway API.
    #[serde(deserialize_with = "nullable")]
    matches: Vec<RouteMatch>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct IngressPaths {
    #[serde(deserialize_with = "nullable")]
    paths: Vec<IngressPath>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct IngressPath {
    #[serde(deserialize_with = "nullable")]
    path: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RouteMatch {
    #[serde(deserialize_with = "nullable")]
    path: PathMatch,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PathMatch {
    #[serde(deserialize_with = "nullable")]
    value: Text,
}

impl RouteParts {
    /// The hosts and paths of the rule that has a reference.
    fn matches_of(&self, reference: &BackendReference) -> String {
        let mut steps = reference.pointer.split('/').skip_while(|step| *step != "rules").skip(1);
        let rule = steps.next().and_then(|place| self.spec.rules.get(place.parse::<usize>().ok()?));
        let Some(rule) = rule else { return String::new() };
        let path = reference.pointer.split('/').skip_while(|step| *step != "paths").nth(1);
        let path = path.and_then(|place| rule.http.paths.get(place.parse::<usize>().ok()?));
        let paths = match path {
            Some(path) => named([path.path.as_str()].into_iter()),
            None => named(rule.matches.iter().map(|of| of.path.value.as_str())),
        };
        let hosts = match rule.host.as_str() {
            "" => named(self.spec.hostnames.iter().map(Text::as_str)),
            host => named([host].into_iter()),
        };
        format!("{hosts}{paths}")
    }
}

/// The first of some hosts or paths. Each reference of a rule has them, so that no more than these are looked at.
fn named<'t>(mut all: impl Iterator<Item = &'t str>) -> String {
    let shown: Vec<Cow<'_, str>> = all.by_ref().take(NAMED).map(shortened).collect();
    let more = if all.next().is_some() { ", …" } else { "" };
    format!("{}{more}", shortened(&shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(kind: &str, group: &str, spec: &Value) -> Vec<String> {
        let text = json!({ "metadata": { "name": "r" }, "spec": spec }).to_string();
        let mut routes = ServiceRoutes::default();
        routes.add(Referrer { kind, group, namespace: "shop", text: &text }, &"r".into());
        let port = |route: &ServiceRoute| route.port.as_ref().map(|port| format!("{:?}", port.port));
        let line =
            |r: &ServiceRoute| format!("{}/{} {} {}", r.service.0, r.service.1, r.matches, port(r).unwrap_or_default());
        routes.iter().map(line).collect()
    }

    #[test]
    fn routes_say_which_requests_they_send_where() {
        let service = |port: &Value| json!({ "service": { "name": "web", "port": port } });
        let path = |path: &str, port: &Value| json!({ "path": path, "backend": service(port) });
        for (kind, spec, want) in [
            ("Ingress", json!({ "defaultBackend": service(&json!({ "number": 80 })) }), &["shop/web  Number(80)"][..]),
            (
                "Ingress",
                json!({ "rules": [
                    { "host": "a.example", "http": { "paths": [path("/", &json!({ "name": "http" })), path("/x", &json!({ "number": 81 }))] } },
                    { "http": { "paths": [path("/y", &json!({ "number": 82 }))] } },
                ] }),
                &["shop/web a.example/ Name(\"http\")", "shop/web a.example/x Number(81)", "shop/web /y Number(82)"],
            ),
            ("Ingress", json!({ "rules": [{ "http": { "paths": 7 } }] }), &[]),
        ] {
            assert_eq!(read(kind, "networking.k8s.io", &spec), want, "{spec}");
        }
        let spec = json!({ "hostnames": ["a", "b", "c"], "rules": [{
            "matches": [{ "path": { "value": "/cart" } }, {}],
            "backendRefs": [{ "name": "web", "namespace": "other", "port": 80 }, { "name": "x", "kind": "Bucket" }],
        }] });
        assert_eq!(read("HTTPRoute", GATEWAY, &spec), ["other/web a, b, …/cart,  Number(80)"]);
    }
}
