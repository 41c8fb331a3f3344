//! The fields of objects that leave the server: those that the engine reads.
//!
//! A test compares the answers about whole and about projected objects.

use bytes::Bytes;
use roster_engine::{
    model::{Resource, installed::SELECTOR, names},
    view::{SUPEREDGE_KEYS, YURT_DISCARD, YURT_LISTEN, YURT_TOPOLOGY},
};
use serde_json::{Map, Value};

/// What is kept of a value. Lists keep this of each of their items.
#[derive(Clone, Copy, Debug)]
enum Keep {
    /// Everything.
    All,
    /// Everything but this field.
    AllBut(&'static str),
    /// These fields.
    Fields(&'static [(&'static str, Keep)]),
}

use Keep::{All, AllBut, Fields};

/// The annotations of Services that decide something.
const OF_SERVICES: &[(&str, Keep)] = &[
    (SELECTOR, All),
    (SUPEREDGE_KEYS, All),
    (YURT_TOPOLOGY, All),
    (YURT_LISTEN, All),
    (YURT_DISCARD, All),
    (names::TOLERATE_UNREADY, All),
    (names::TOPOLOGY_HINTS, All),
    (names::TOPOLOGY_MODE, All),
];

const SERVICE: &[(&str, Keep)] = &[
    (
        "metadata",
        Fields(&[
            ("annotations", Fields(OF_SERVICES)),
            ("creationTimestamp", All),
            ("deletionTimestamp", All),
            ("finalizers", All),
            ("labels", All),
            ("name", All),
            ("namespace", All),
            ("resourceVersion", All),
            ("uid", All),
        ]),
    ),
    ("spec", All),
    ("status", Fields(&[("loadBalancer", All)])),
];

const CONTAINER: &[(&str, Keep)] = &[("name", All), ("ports", All), ("restartPolicy", All)];
const REASON: Keep = Fields(&[("reason", All)]);

const POD: &[(&str, Keep)] = &[
    (
        "metadata",
        Fields(&[
            ("deletionTimestamp", All),
            ("labels", All),
            ("name", All),
            ("namespace", All),
            ("ownerReferences", All),
            ("resourceVersion", All),
            ("uid", All),
        ]),
    ),
    (
        "spec",
        Fields(&[
            ("containers", Fields(CONTAINER)),
            ("hostNetwork", All),
            ("hostname", All),
            ("initContainers", Fields(CONTAINER)),
            ("nodeName", All),
            ("readinessGates", All),
            ("schedulingGates", All),
            ("subdomain", All),
        ]),
    ),
    (
        "status",
        Fields(&[
            ("conditions", Fields(&[("lastTransitionTime", All), ("reason", All), ("status", All), ("type", All)])),
            (
                "containerStatuses",
                Fields(&[
                    ("name", All),
                    ("ready", All),
                    ("state", Fields(&[("terminated", REASON), ("waiting", REASON)])),
                ]),
            ),
            ("phase", All),
            ("podIP", All),
            ("podIPs", All),
        ]),
    ),
];

/// Without the version, which every heartbeat of a kubelet changes.
const NODE: &[(&str, Keep)] = &[
    ("metadata", Fields(&[("labels", All), ("name", All), ("uid", All)])),
    ("spec", Fields(&[("taints", All), ("unschedulable", All)])),
    (
        "status",
        Fields(&[
            ("addresses", All),
            ("allocatable", Fields(&[("cpu", All)])),
            ("conditions", Fields(&[("status", All), ("type", All)])),
        ]),
    ),
];

/// The metadata of Endpoints and slices: the controllers compare all annotations of theirs, but for a copy of the whole object.
const OF_ENDPOINTS: Keep = Fields(&[
    ("annotations", AllBut(names::LAST_APPLIED)),
    ("creationTimestamp", All),
    ("deletionTimestamp", All),
    ("generateName", All),
    ("labels", All),
    ("name", All),
    ("namespace", All),
    ("ownerReferences", All),
    ("resourceVersion", All),
    ("uid", All),
]);
const ENDPOINTS: &[(&str, Keep)] = &[("metadata", OF_ENDPOINTS), ("subsets", All)];
const SLICE: &[(&str, Keep)] = &[("addressType", All), ("endpoints", All), ("metadata", OF_ENDPOINTS), ("ports", All)];

/// What routes of any kind have in their metadata.
const OF_ROUTES: Keep = Fields(&[("name", All), ("namespace", All)]);
/// Without the certificates and the status, of which the engine reads nothing.
const INGRESS: &[(&str, Keep)] =
    &[("metadata", OF_ROUTES), ("spec", Fields(&[("defaultBackend", All), ("rules", All)]))];
const BACKEND: &[(&str, Keep)] =
    &[("group", All), ("kind", All), ("name", All), ("namespace", All), ("port", All), ("filters", Fields(FILTER))];
/// Of filters, those that send requests to a Service. Others may have secrets in the values of headers.
const FILTER: &[(&str, Keep)] = &[(
    "requestMirror",
    Fields(&[(
        "backendRef",
        Fields(&[("group", All), ("kind", All), ("name", All), ("namespace", All), ("port", All)]),
    )]),
)];
const HTTP_ROUTE: &[(&str, Keep)] = &[
    ("metadata", OF_ROUTES),
    (
        "spec",
        Fields(&[
            ("hostnames", All),
            (
                "rules",
                Fields(&[
                    ("backendRefs", Fields(BACKEND)),
                    ("filters", Fields(FILTER)),
                    ("matches", Fields(&[("path", All)])),
                ]),
            ),
        ]),
    ),
];
const NAMESPACE: &[(&str, Keep)] = &[("metadata", Fields(&[("name", All)]))];

/// An object as it leaves the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProjectedObject {
    /// Empty for objects of the cluster.
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) json: Bytes,
}

/// The resources that leave the server, in the order in which they are listed.
pub(super) const RESOURCES: [Resource; 8] = [
    Resource::Namespace,
    Resource::Service,
    Resource::Pod,
    Resource::Node,
    Resource::Endpoints,
    Resource::EndpointSlice,
    Resource::Ingress,
    Resource::HTTPRoute,
];

/// What is kept of the objects of a resource.
fn fields(resource: Resource) -> &'static [(&'static str, Keep)] {
    match resource {
        Resource::Namespace => NAMESPACE,
        Resource::Ingress => INGRESS,
        Resource::HTTPRoute => HTTP_ROUTE,
        Resource::Service => SERVICE,
        Resource::Pod => POD,
        Resource::Node => NODE,
        Resource::Endpoints => ENDPOINTS,
        Resource::EndpointSlice => SLICE,
        _ => &[],
    }
}

/// The object with this JSON as it leaves the server. Objects of a list do not name their kind: it is added.
pub(super) fn project(resource: Resource, object: &str) -> serde_json::Result<ProjectedObject> {
    let mut whole: Map<String, Value> = serde_json::from_str(object)?;
    let mut kept = kept_fields(&mut whole, fields(resource));
    let meta = kept.get("metadata");
    let text = |name| meta.and_then(|meta| meta.get(name)?.as_str()).unwrap_or_default().to_owned();
    let (namespace, name) = (text("namespace"), text("name"));
    kept.insert("apiVersion".to_owned(), resource.api_version().into());
    kept.insert("kind".to_owned(), resource.kind().into());
    Ok(ProjectedObject { namespace, name, json: serde_json::to_vec(&kept)?.into() })
}

fn kept_fields(whole: &mut Map<String, Value>, fields: &[(&str, Keep)]) -> Map<String, Value> {
    let kept = |(name, keep): &(&str, Keep)| Some(((*name).to_owned(), kept(whole.remove(*name)?, *keep)));
    fields.iter().filter_map(kept).collect()
}

fn kept(value: Value, keep: Keep) -> Value {
    match (value, keep) {
        (value, All) => value,
        (Value::Array(items), keep) => items.into_iter().map(|item| kept(item, keep)).collect(),
        (Value::Object(mut fields), AllBut(name)) => {
            fields.remove(name);
            Value::Object(fields)
        }
        (Value::Object(mut whole), Fields(fields)) => Value::Object(kept_fields(&mut whole, fields)),
        // It has the wrong type: the engine reports that.
        (value, AllBut(_) | Fields(_)) => value,
    }
}
