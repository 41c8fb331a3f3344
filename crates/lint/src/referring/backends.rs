//! The Services that Ingresses, routes of the Gateway API, webhooks and API services send requests to.

use roster_engine::model::{TargetPort, Text, json::raw::value_at, wire::nullable};
use roster_manifests::inventory::workloads::ServiceReference;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

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

/// The fields that refer to Services, by the group of the object; `*` stands for each element of a list.
const FIELDS: [(&str, &[&str]); 8] = [
    ("networking.k8s.io", &["spec", "defaultBackend", "service"]),
    ("networking.k8s.io", &["spec", "rules", "*", "http", "paths", "*", "backend", "service"]),
    (GATEWAY, &["spec", "rules", "*", "filters", "*", "requestMirror", "backendRef"]),
    (GATEWAY, &["spec", "rules", "*", "backendRefs", "*", "filters", "*", "requestMirror", "backendRef"]),
    (GATEWAY, &["spec", "rules", "*", "backendRefs", "*"]),
    ("admissionregistration.k8s.io", &["webhooks", "*", "clientConfig", "service"]),
    ("apiregistration.k8s.io", &["spec", "service"]),
    ("apiextensions.k8s.io", &["spec", "conversion", "webhook", "clientConfig", "service"]),
];

/// The groups whose objects are in namespaces. An API server sends the requests of the others.
const IN_NAMESPACES: [&str; 2] = ["networking.k8s.io", GATEWAY];

/// The backends of an object.
pub(super) fn of(object: ReferringObject<'_>) -> Vec<Backend> {
    let Some(whole) = object.read::<&RawValue>() else { return Vec::new() };
    let mut backends = Vec::new();
    for (_, path) in FIELDS.iter().filter(|(group, _)| *group == object.group) {
        each_at(whole, path, "", &mut |pointer, value| backends.extend(backend(object, pointer, value)));
    }
    backends
}

/// Calls `see` with the pointer and the text of each value at a path. What has another form is reported elsewhere.
fn each_at<'v>(value: &'v RawValue, path: &[&str], pointer: &str, see: &mut impl FnMut(String, &'v RawValue)) {
    match path {
        [] => see(pointer.to_owned(), value),
        ["*", rest @ ..] => {
            let elements: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
            for (place, element) in elements.into_iter().enumerate() {
                each_at(element, rest, &format!("{pointer}/{place}"), see);
            }
        }
        [field, rest @ ..] => {
            if let Some(member) = value_at(value, &[field]) {
                each_at(member, rest, &format!("{pointer}/{field}"), see);
            }
        }
    }
}

fn backend(object: ReferringObject<'_>, pointer: String, value: &RawValue) -> Option<Backend> {
    let ServiceField { group, kind, namespace, name, port } = serde_json::from_str(value.get()).ok()?;
    let is_route = object.group == GATEWAY;
    let is_service = !is_route || group.is_empty() && kind.is_none_or(|kind| kind == "Service");
    if name.is_empty() || !is_service {
        return None;
    }
    let port = match port {
        PortField::Of(IngressPort { name, .. }) if name == USE_ANNOTATION => return None,
        port => port.read(object),
    };
    // What has no namespace itself names that of the Service.
    let own = if IN_NAMESPACES.contains(&object.group) { object.namespace } else { "" };
    let namespace = namespace.as_deref().unwrap_or(own);
    let granted_to = (is_route && namespace != object.namespace).then(|| object.namespace.into());
    Some(Backend { service: reference(object, namespace, &name), pointer, port, kind: object.kind.into(), granted_to })
}

/// A reference to a Service, in any of the kinds.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ServiceField {
    #[serde(deserialize_with = "nullable")]
    group: Text,
    kind: Option<Text>,
    namespace: Option<Text>,
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    port: PortField,
}

/// The port of a reference: that of an Ingress has a name or a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum PortField {
    Number(i32),
    Of(IngressPort),
    /// Of another type.
    Other(IgnoredAny),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IngressPort {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    number: i32,
}

impl Default for PortField {
    fn default() -> Self {
        Self::Of(IngressPort::default())
    }
}

/// The name of the port if an annotation of the Ingress has the action, as the controller of AWS reads it: there is no Service.
const USE_ANNOTATION: &str = "use-annotation";

impl PortField {
    fn read(self, object: ReferringObject<'_>) -> Option<BackendPort> {
        let number = |number, field| Some(BackendPort { port: TargetPort::Number(number), field });
        match self {
            Self::Number(port) => number(port, "/port"),
            Self::Of(IngressPort { number: port, .. }) if port != 0 => number(port, "/port/number"),
            Self::Of(IngressPort { name, .. }) if !name.is_empty() => {
                Some(BackendPort { port: TargetPort::Name(name), field: "/port/name" })
            }
            Self::Of(_) | Self::Other(_) if IN_NAMESPACES.contains(&object.group) => None,
            Self::Of(_) | Self::Other(_) => number(HTTPS, ""),
        }
    }
}
