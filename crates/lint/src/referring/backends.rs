//! The Services that Ingresses, routes of the Gateway API, webhooks and API services send requests to.

use roster_engine::model::{TargetPort, Text, wire::nullable};
use roster_manifests::inventory::workloads::ServiceReference;
use serde::Deserialize;

use super::{GATEWAY, ReferringObject, reference};

/// A reference to a Service and its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backend {
    /// The Service.
    pub(crate) service: ServiceReference,
    /// JSON pointer to what has the name and the port.
    pub(crate) pointer: String,
    /// The port; `None` if it has none.
    pub(crate) port: Option<BackendPort>,
    /// The kind of the object.
    pub(crate) kind: Text,
    /// The namespace of the object, if it needs a grant to refer to another one.
    pub(crate) granted_to: Option<Text>,
}

/// A port of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BackendPort {
    /// Its number, or its name.
    pub(crate) port: TargetPort,
    /// Where it is written, from the reference; empty if it is not.
    pub(crate) field: &'static str,
}

/// The port of an API server's requests if none is written.
const HTTPS: i32 = 443;

/// The backends of an object.
pub(super) fn of(object: ReferringObject<'_>) -> Vec<Backend> {
    match (object.group, object.kind) {
        ("networking.k8s.io", "Ingress") => of_ingress(object),
        (GATEWAY, _) => of_route(object),
        ("admissionregistration.k8s.io", _) => of_webhooks(object),
        ("apiregistration.k8s.io", _) => of_api_service(object).into_iter().collect(),
        ("apiextensions.k8s.io", _) => of_conversion(object).into_iter().collect(),
        _ => Vec::new(),
    }
}

#[derive(Deserialize)]
struct Ingress {
    spec: IngressSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct IngressSpec {
    #[serde(deserialize_with = "nullable")]
    default_backend: IngressBackend,
    #[serde(deserialize_with = "nullable")]
    rules: Vec<IngressRule>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IngressRule {
    #[serde(deserialize_with = "nullable")]
    http: IngressPaths,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IngressPaths {
    #[serde(deserialize_with = "nullable")]
    paths: Vec<IngressPath>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IngressPath {
    #[serde(deserialize_with = "nullable")]
    backend: IngressBackend,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IngressBackend {
    service: Option<IngressService>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IngressService {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    port: IngressPort,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IngressPort {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    number: i32,
}

impl IngressPort {
    fn read(self) -> Option<BackendPort> {
        match self {
            Self { number, .. } if number != 0 => {
                Some(BackendPort { port: TargetPort::Number(number), field: "/port/number" })
            }
            Self { name, .. } if !name.is_empty() => {
                Some(BackendPort { port: TargetPort::Name(name), field: "/port/name" })
            }
            Self { .. } => None,
        }
    }
}

/// The name of the port if an annotation of the Ingress has the action, as the controller of AWS reads it: there is no Service.
const USE_ANNOTATION: &str = "use-annotation";

fn of_ingress(object: ReferringObject<'_>) -> Vec<Backend> {
    let Some(Ingress { spec }) = object.read() else { return Vec::new() };
    let rules = spec.rules.into_iter().enumerate();
    let paths = rules.flat_map(|(rule, of)| {
        let paths = of.http.paths.into_iter().enumerate();
        paths.map(move |(path, of)| (format!("/spec/rules/{rule}/http/paths/{path}/backend"), of.backend))
    });
    let all = std::iter::once(("/spec/defaultBackend".to_owned(), spec.default_backend)).chain(paths);
    let backend = |(pointer, of): (String, IngressBackend)| {
        let IngressService { name, port } = of.service?;
        if port.name == USE_ANNOTATION {
            return None;
        }
        Some(Backend {
            service: reference(object, object.namespace, &name),
            pointer: format!("{pointer}/service"),
            port: port.read(),
            kind: object.kind.into(),
            granted_to: None,
        })
    };
    all.filter_map(backend).filter(is_named).collect()
}

fn is_named(backend: &Backend) -> bool {
    !backend.service.name.is_empty()
}

#[derive(Deserialize)]
struct Route {
    spec: RouteSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RouteSpec {
    #[serde(deserialize_with = "nullable")]
    rules: Vec<RouteRule>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RouteRule {
    #[serde(deserialize_with = "nullable")]
    backend_refs: Vec<RouteBackend>,
    #[serde(deserialize_with = "nullable")]
    filters: Vec<RouteFilter>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RouteFilter {
    #[serde(deserialize_with = "nullable")]
    request_mirror: RouteMirror,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RouteMirror {
    #[serde(deserialize_with = "nullable")]
    backend_ref: RouteBackend,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RouteBackend {
    #[serde(deserialize_with = "nullable")]
    group: Text,
    kind: Option<Text>,
    namespace: Option<Text>,
    #[serde(deserialize_with = "nullable")]
    name: Text,
    port: Option<i32>,
    #[serde(deserialize_with = "nullable")]
    filters: Vec<RouteFilter>,
}

fn of_route(object: ReferringObject<'_>) -> Vec<Backend> {
    let Some(Route { spec }) = object.read() else { return Vec::new() };
    let mut backends = Vec::new();
    let mut add = |pointer: String, of: &RouteBackend| backends.extend(route_backend(object, pointer, of));
    for (rule, RouteRule { backend_refs, filters }) in spec.rules.iter().enumerate() {
        let rule = format!("/spec/rules/{rule}");
        let mut add_mirrors = |pointer: &str, filters: &[RouteFilter]| {
            for (place, filter) in filters.iter().enumerate() {
                add(format!("{pointer}/filters/{place}/requestMirror/backendRef"), &filter.request_mirror.backend_ref);
            }
        };
        add_mirrors(&rule, filters);
        for (place, of) in backend_refs.iter().enumerate() {
            add_mirrors(&format!("{rule}/backendRefs/{place}"), &of.filters);
        }
        for (place, of) in backend_refs.iter().enumerate() {
            add(format!("{rule}/backendRefs/{place}"), of);
        }
    }
    backends
}

fn route_backend(object: ReferringObject<'_>, pointer: String, of: &RouteBackend) -> Option<Backend> {
    let is_service = of.group.is_empty() && of.kind.as_ref().is_none_or(|kind| kind == "Service");
    let namespace = of.namespace.as_deref().unwrap_or(object.namespace);
    let backend = Backend {
        service: reference(object, namespace, &of.name),
        pointer,
        port: of.port.map(|port| BackendPort { port: TargetPort::Number(port), field: "/port" }),
        kind: object.kind.into(),
        granted_to: (namespace != object.namespace).then(|| object.namespace.into()),
    };
    (is_service && is_named(&backend)).then_some(backend)
}

#[derive(Deserialize)]
struct Webhooks {
    webhooks: Vec<Webhook>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Webhook {
    client_config: ClientConfig,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClientConfig {
    service: Option<CalledService>,
}

/// A Service that an API server calls.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CalledService {
    #[serde(deserialize_with = "nullable")]
    namespace: Text,
    #[serde(deserialize_with = "nullable")]
    name: Text,
    port: Option<i32>,
}

impl CalledService {
    fn backend(self, object: ReferringObject<'_>, pointer: String) -> Option<Backend> {
        let Self { namespace, name, port } = self;
        let field = if port.is_some() { "/port" } else { "" };
        let backend = Backend {
            service: reference(object, &namespace, &name),
            pointer,
            port: Some(BackendPort { port: TargetPort::Number(port.unwrap_or(HTTPS)), field }),
            kind: object.kind.into(),
            granted_to: None,
        };
        Some(backend).filter(is_named)
    }
}

fn of_webhooks(object: ReferringObject<'_>) -> Vec<Backend> {
    let webhooks = object.read().map_or_else(Vec::new, |Webhooks { webhooks }| webhooks);
    let backend = |(place, webhook): (usize, Webhook)| {
        webhook.client_config.service?.backend(object, format!("/webhooks/{place}/clientConfig/service"))
    };
    webhooks.into_iter().enumerate().filter_map(backend).collect()
}

#[derive(Deserialize)]
struct ApiService {
    spec: ClientConfig,
}

fn of_api_service(object: ReferringObject<'_>) -> Option<Backend> {
    let ApiService { spec } = object.read()?;
    spec.service?.backend(object, "/spec/service".to_owned())
}

#[derive(Deserialize)]
struct CustomResourceDefinition {
    spec: Converted,
}

#[derive(Deserialize)]
struct Converted {
    conversion: Conversion,
}

#[derive(Deserialize)]
struct Conversion {
    webhook: ConversionWebhook,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConversionWebhook {
    client_config: ClientConfig,
}

fn of_conversion(object: ReferringObject<'_>) -> Option<Backend> {
    let CustomResourceDefinition { spec } = object.read()?;
    let service = spec.conversion.webhook.client_config.service?;
    service.backend(object, "/spec/conversion/webhook/clientConfig/service".to_owned())
}
