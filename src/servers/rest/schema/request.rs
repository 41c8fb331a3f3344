//! Bodies.
//!
//! What is accepted is wider than what Kubernetes prints, and the document says so: next to the full
//! schema of each kind stands that of what is read of it. A list takes anything as an element, since one
//! that cannot be read becomes a problem in the response.

use std::borrow::Cow;

use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, schema::Schema},
};

use super::k8s::{EndpointSliceSchema, EndpointsSchema, NodeSchema, PodSchema, ServiceSchema, reference};

/// The body of the calls about one Service.
pub(crate) struct PlanBody;

impl PlanBody {
    fn json() -> Value {
        json!({
            "type": "object",
            "description": "The state of one Service. Also accepted: a Kubernetes object, or a `kind: List` of objects.",
            "properties": {
                "service": either::<ServiceSchema>("ServiceAsRead", "The Service; missing or null if it was deleted."),
                "pods": list::<PodSchema>("Pods; those that the Service does not select are ignored."),
                "nodes": list::<NodeSchema>("All nodes of the cluster."),
                "endpoints": either::<EndpointsSchema>("EndpointsAsRead", "The Endpoints that the cluster contains now."),
                "endpointSlices": list::<EndpointSliceSchema>("The slices that the cluster contains now."),
                "controllers": {
                    "description": "The controllers to plan; default: all three.",
                    "type": ["array", "null"],
                    "items": { "$ref": "#/components/schemas/Controller" },
                },
                "options": { "anyOf": [{ "$ref": "#/components/schemas/Options" }, { "type": "null" }] },
            },
        })
    }
}

impl PartialSchema for PlanBody {
    fn schema() -> RefOr<Schema> {
        from_json(Self::json())
    }
}

impl ToSchema for PlanBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("PlanRequest")
    }

    fn schemas(out: &mut Vec<(String, RefOr<Schema>)>) {
        ServiceSchema::schemas(out);
        PodSchema::schemas(out);
        NodeSchema::schemas(out);
        EndpointsSchema::schemas(out);
        EndpointSliceSchema::schemas(out);
        out.extend(parts().map(|(name, schema)| (name.to_owned(), from_json(schema))));
    }
}

/// The body of `POST /v1/cluster`.
pub(crate) struct ClusterBody;

impl ClusterBody {
    fn json() -> Value {
        let kinds = [
            reference::<ServiceSchema>(),
            reference::<PodSchema>(),
            reference::<NodeSchema>(),
            reference::<EndpointsSchema>(),
            reference::<EndpointSliceSchema>(),
            anything("Is counted, and reported in the summary."),
        ];
        json!({
            "type": ["object", "array"],
            "description": "A list of objects; or one object, which more objects may follow.",
            "properties": {
                "apiVersion": anything("Such as `v1`."),
                "kind": anything("Such as `List`."),
                "items": {
                    "anyOf": [
                        { "type": "array", "items": { "anyOf": kinds } },
                        anything("Is reported in the summary."),
                    ],
                },
            },
        })
    }
}

impl PartialSchema for ClusterBody {
    fn schema() -> RefOr<Schema> {
        from_json(Self::json())
    }
}

impl ToSchema for ClusterBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("ObjectList")
    }

    fn schemas(out: &mut Vec<(String, RefOr<Schema>)>) {
        PlanBody::schemas(out);
    }
}

/// What [`PlanBody`] refers to, besides Kubernetes' own schemas.
fn parts() -> impl Iterator<Item = (&'static str, Value)> {
    let controller = json!({ "type": "string", "enum": ["endpoints", "endpointslices", "mirroring"] });
    let family = json!({ "type": "string", "enum": ["IPv4", "IPv6"] });
    [
        ("Controller", controller),
        ("IpFamily", family),
        ("Options", options()),
        ("ServiceAsRead", service()),
        ("EndpointsAsRead", endpoints()),
    ]
    .into_iter()
}

/// utoipa leaves out what it does not know, a schema without a type for one: a test compares.
pub(super) fn from_json(schema: Value) -> RefOr<Schema> {
    serde_json::from_value(schema).unwrap_or_else(|_| RefOr::T(Schema::default()))
}

pub(super) fn anything(description: &str) -> Value {
    json!({ "type": ["object", "array", "string", "number", "boolean", "null"], "description": description })
}

fn either<T: ToSchema>(as_read: &str, description: &str) -> Value {
    json!({
        "description": description,
        "anyOf": [reference::<T>(), { "$ref": format!("#/components/schemas/{as_read}") }, { "type": "null" }],
    })
}

pub(super) fn list<T: ToSchema>(description: &str) -> Value {
    let element = json!({ "anyOf": [reference::<T>(), anything("Becomes a finding in the response.")] });
    json!({ "description": description, "type": ["array", "null"], "items": element })
}

fn options() -> Value {
    let limit = |description: &str| json!({ "type": ["integer", "null"], "minimum": 1, "maximum": 1000, "description": description });
    json!({
        "type": "object",
        "description": "The options of the plan.",
        "properties": {
            "compat": {
                "type": "string",
                "pattern": crate::engine::profile::PATTERN,
                "description": "The Kubernetes release to follow; default: the newest.",
                "example": "1.37",
            },
            "maxEndpointsPerSlice": limit("`--max-endpoints-per-slice` of kube-controller-manager; default 100."),
            "maxEndpointsPerSubset": limit(
                "`--mirroring-max-endpoints-per-subset` of kube-controller-manager; default: as \
                 maxEndpointsPerSlice where that is given, else 1000."),
            "defaults": {
                "type": ["string", "null"],
                "enum": ["auto", "always", "never", null],
                "description": "Which objects get the defaults that an API server fills in: those with neither `uid` nor \
                    `resourceVersion` (`auto`, the default), all, or none. What was filled in is reported as `assumed`.",
            },
            "ipFamilies": {
                "type": ["array", "null"],
                "items": { "$ref": "#/components/schemas/IpFamily" },
                "minItems": 1, "maxItems": 2, "uniqueItems": true,
                "description": "The address families of the cluster, the first one first; default: IPv4 alone.",
            },
        },
    })
}

fn text() -> Value {
    json!({ "type": ["string", "null"] })
}

fn int32() -> Value {
    json!({ "type": ["integer", "null"], "minimum": i32::MIN, "maximum": i32::MAX })
}

fn int64() -> Value {
    json!({ "type": ["integer", "null"], "minimum": i64::MIN, "maximum": i64::MAX })
}

fn flag() -> Value {
    json!({ "type": ["boolean", "null"] })
}

fn time() -> Value {
    json!({ "anyOf": [{ "type": "string", "format": "date-time" }, { "type": "null" }] })
}

fn map() -> Value {
    json!({ "type": ["object", "null"], "additionalProperties": text() })
}

fn object(properties: &Value) -> Value {
    json!({ "type": ["object", "null"], "properties": properties })
}

fn array(properties: &Value) -> Value {
    json!({ "type": ["array", "null"], "items": { "type": "object", "properties": properties } })
}

fn metadata() -> Value {
    object(&json!({
        "name": text(), "generateName": text(), "namespace": text(), "selfLink": text(), "uid": text(),
        "resourceVersion": text(), "generation": int64(), "creationTimestamp": time(), "deletionTimestamp": time(),
        "deletionGracePeriodSeconds": int64(), "labels": map(), "annotations": map(),
        "ownerReferences": array(&json!({
            "apiVersion": text(), "kind": text(), "name": text(), "uid": text(), "controller": flag(),
            "blockOwnerDeletion": flag(),
        })),
        "finalizers": { "type": ["array", "null"], "items": { "type": "string" } },
    }))
}

/// What is read of a Service; other fields may contain anything.
fn service() -> Value {
    let port = json!({
        "name": text(), "protocol": text(), "port": int32(), "appProtocol": text(),
        "targetPort": { "type": ["integer", "string", "null"], "minimum": i32::MIN, "maximum": i32::MAX },
    });
    json!({
        "type": "object",
        "description": "What Roster reads of a Service. Other fields may contain anything.",
        "properties": {
            "metadata": metadata(),
            "spec": object(&json!({
                "type": text(), "selector": map(), "ports": array(&port), "clusterIP": text(),
                "ipFamilies": { "type": ["array", "null"], "items": { "type": "string" } }, "ipFamilyPolicy": text(),
                "publishNotReadyAddresses": flag(), "trafficDistribution": text(),
            })),
        },
    })
}

/// What is read of an Endpoints object.
fn endpoints() -> Value {
    let reference = object(&json!({
        "kind": text(), "namespace": text(), "name": text(), "uid": text(), "apiVersion": text(),
        "resourceVersion": text(), "fieldPath": text(),
    }));
    let addresses = array(&json!({ "ip": text(), "hostname": text(), "nodeName": text(), "targetRef": reference }));
    let ports = array(&json!({ "name": text(), "port": int32(), "protocol": text(), "appProtocol": text() }));
    json!({
        "type": "object",
        "description": "What Roster reads of an Endpoints object. Other fields may contain anything.",
        "properties": {
            "metadata": metadata(),
            "subsets": array(&json!({ "addresses": addresses, "notReadyAddresses": addresses, "ports": ports })),
        },
    })
}

/// A Service with a ready pod, one that is not ready, and one without a port of the name.
pub(crate) fn example() -> Value {
    let pod = |name: &str, ip: &str, node: &str, ready: &str, port_name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "labels": { "app": "web" } },
            "spec": {
                "nodeName": node,
                "containers": [{ "name": "web", "image": "web:1", "ports": [{ "name": port_name, "containerPort": 8080, "protocol": "TCP" }] }],
            },
            "status": {
                "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
                "conditions": [{ "type": "Ready", "status": ready }],
            },
        })
    };
    json!({
        "service": service_example(),
        "pods": [
            pod("web-1", "10.0.1.5", "node-1", "True", "http"),
            pod("web-2", "10.0.2.7", "node-2", "False", "http"),
            pod("web-3", "10.0.2.8", "node-2", "True", "web"),
        ],
        "nodes": [node_example("node-1", "zone-a"), node_example("node-2", "zone-b")],
        "endpoints": null,
        "endpointSlices": [],
        "options": { "compat": "1.37" },
    })
}

/// The same as a `kind: List`.
pub(crate) fn list_example() -> Value {
    let example = example();
    let items: Vec<&Value> = [&example["service"]]
        .into_iter()
        .chain(["pods", "nodes"].into_iter().filter_map(|f| example[f].as_array()).flatten())
        .collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

/// A small cluster: the same list.
pub(crate) fn cluster_example() -> Value {
    list_example()
}

pub(super) fn service_example() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "uid-web", "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "selector": { "app": "web" }, "clusterIP": "10.96.0.10", "ipFamilies": ["IPv4"],
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": "http" }],
        },
    })
}

fn node_example(name: &str, zone: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": { "topology.kubernetes.io/zone": zone } },
        "status": { "allocatable": { "cpu": "4" }, "conditions": [{ "type": "Ready", "status": "True" }] },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utoipa_leaves_nothing_out() {
        let all = parts().chain([("PlanRequest", PlanBody::json()), ("ObjectList", ClusterBody::json())]);
        for (name, schema) in all {
            assert_eq!(serde_json::to_value(from_json(schema.clone())).unwrap(), schema, "{name}");
        }
    }
}
