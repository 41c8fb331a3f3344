//! The Services that Ingresses, routes of the Gateway API, webhooks and API services send requests to.

use std::collections::BTreeSet;

use roster_engine::model::{
    Service, ServicePort, ServiceType, TargetPort, Text,
    json::{message::shortened, raw::value_at},
    wire::nullable,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

/// An object whose fields may refer to Services.
#[derive(Clone, Copy, Debug)]
pub struct Referrer<'i> {
    /// Its kind.
    pub kind: &'i str,
    /// The API group of the kind.
    pub group: &'i str,
    /// Its namespace.
    pub namespace: &'i str,
    /// Its text, as JSON.
    pub text: &'i str,
}

/// A reference to a Service and its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendReference {
    /// The namespace of the Service.
    pub namespace: Text,
    /// The name of the Service.
    pub name: Text,
    /// JSON pointer to what has the name and the port.
    pub pointer: String,
    /// The port; `None` if it has none.
    pub port: Option<BackendPort>,
    /// The namespace of the object, if it needs a grant to refer to another one.
    pub granted_to: Option<Text>,
}

/// A port of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendPort {
    /// Its number, or its name.
    pub port: TargetPort,
    /// Where it is written, from the reference; empty if it is not.
    pub field: &'static str,
}

/// The group of the Gateway API.
pub const GATEWAY: &str = "gateway.networking.k8s.io";

/// The port of an API server's requests if none is written.
pub const HTTPS: i32 = 443;

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
pub fn backends_of(object: Referrer<'_>) -> Vec<BackendReference> {
    let Ok(whole) = serde_json::from_str::<&RawValue>(object.text) else { return Vec::new() };
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

fn backend(object: Referrer<'_>, pointer: String, value: &RawValue) -> Option<BackendReference> {
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
    Some(BackendReference { namespace: namespace.into(), name, pointer, port, granted_to })
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
    fn read(self, object: Referrer<'_>) -> Option<BackendPort> {
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

/// How many ports of a Service are named.
const SHOWN: usize = 5;

/// The ports of a Service as references name them. Many references may name one Service, so that its ports are sorted once.
#[derive(Debug)]
pub struct ServicePorts<'s> {
    service: &'s Service,
    numbers: BTreeSet<i32>,
    names: BTreeSet<&'s str>,
    targets: BTreeSet<&'s TargetPort>,
}

impl<'s> ServicePorts<'s> {
    /// The ports of a Service.
    pub fn of(service: &'s Service) -> Self {
        let ports = || service.ports.iter();
        Self {
            service,
            numbers: ports().map(|port| port.port).collect(),
            names: ports().map(|port| port.name.as_str()).collect(),
            targets: ports().map(|port| &port.target_port).collect(),
        }
    }

    /// Whether the Service has the port, as far as its ports are known.
    pub fn have(&self, wanted: &BackendPort) -> bool {
        // An ExternalName is another server; and what lacks its ports has a finding of its own.
        self.service.kind == ServiceType::ExternalName
            || (self.service.ports.is_empty() && !self.service.declared_headless())
            || match &wanted.port {
                TargetPort::Number(number) => self.numbers.contains(number),
                TargetPort::Name(name) => self.names.contains(name.as_str()),
            }
    }

    /// What the Service has instead of a port that it does not have.
    pub fn miss(&self, wanted: &BackendPort) -> String {
        let port = match &wanted.port {
            TargetPort::Number(number) if wanted.field.is_empty() => {
                format!("port {number}, which is used if none is written")
            }
            TargetPort::Number(number) => format!("port {number}"),
            TargetPort::Name(name) => format!("port named {}", shortened(name)),
        };
        let name = &self.service.meta.name;
        // What was probably meant.
        let meant = self.targets.get(&wanted.port);
        let hint = meant.map_or_else(String::new, |of| format!(", whose targetPort is {}", target_text(of)));
        format!("the Service {name} has no {port}; {}{hint}", ports_of(self.service))
    }
}

/// The ports of a Service, in words.
fn ports_of(service: &Service) -> String {
    let text = |port: &ServicePort| match port.name.as_str() {
        "" => port.port.to_string(),
        name => format!("{} ({})", port.port, shortened(name)),
    };
    let shown: Vec<String> = service.ports.iter().take(SHOWN).map(text).collect();
    match service.ports.len() {
        0 => "it has no ports".to_owned(),
        1 => format!("its port is {}", shown.join("")),
        all if all > SHOWN => format!("its ports are {} and {} more", shown.join(", "), all - SHOWN),
        _ => format!("its ports are {}", shown.join(", ")),
    }
}

fn target_text(port: &TargetPort) -> String {
    match port {
        TargetPort::Number(number) => number.to_string(),
        TargetPort::Name(name) => shortened(name).into_owned(),
    }
}
