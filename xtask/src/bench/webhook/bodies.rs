//! The measured reviews.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// A review, and its goals.
pub(super) struct Body {
    pub(super) name: &'static str,
    pub(super) file: PathBuf,
    pub(super) size: usize,
    /// How many times as many reviews a second as the other program.
    pub(super) faster: f64,
    /// The largest allowed share of the other program's p99.
    pub(super) p99: Option<f64>,
}

/// The reviews for the mutating webhooks, which change both objects.
pub(super) fn all(folder: &Path) -> Result<Vec<Body>> {
    Ok(vec![
        write(folder, "a Service", &review("", "Service", "services", &service()), 4.0, Some(0.25))?,
        write(folder, "Endpoints", &review("", "Endpoints", "endpoints", &endpoints()), 18.0, None)?,
    ])
}

/// A review of a slice of 100 endpoints.
pub(super) fn slice(folder: &Path) -> Result<PathBuf> {
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": meta("web-by-hand", &json!({ "kubernetes.io/service-name": "web" }), &Value::Null),
        "addressType": "IPv4",
        "endpoints": (0..100).map(|i| json!({
            "addresses": [ip(i)],
            "conditions": { "ready": true, "serving": true, "terminating": false },
            "nodeName": format!("node-{}", i % 10), "zone": "zone-a",
            "hints": { "forZones": [{ "name": "zone-a" }] },
            "targetRef": { "kind": "Pod", "namespace": "shop", "name": format!("web-{i}"), "uid": uid(i) },
        })).collect::<Vec<_>>(),
        "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }],
    });
    let review = review("discovery.k8s.io", "EndpointSlice", "endpointslices", &slice);
    Ok(write(folder, "a slice", &review, 0.0, None)?.file)
}

fn write(folder: &Path, name: &'static str, review: &Value, faster: f64, p99: Option<f64>) -> Result<Body> {
    let file = folder.join(format!("{}.json", name.replace(' ', "-")));
    let text = review.to_string();
    fs::write(&file, &text).with_context(|| format!("writing {}", file.display()))?;
    Ok(Body { name, file, size: text.len(), faster, p99 })
}

fn review(group: &str, kind: &str, resource: &str, object: &Value) -> Value {
    let resource = json!({ "group": group, "version": "v1", "resource": resource });
    let kind = json!({ "group": group, "version": "v1", "kind": kind });
    json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": uid(0), "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": object["metadata"]["name"], "namespace": "shop", "operation": "CREATE",
            "userInfo": { "username": "jane", "groups": ["system:authenticated"] },
            "object": object, "oldObject": null, "dryRun": false,
            "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" },
        },
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": meta(
            "web",
            &json!({ "app": "web" }),
            &json!({ "service.alpha.kubernetes.io/tolerate-unready-endpoints": "true" }),
        ),
        "spec": {
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": "http" }],
            "selector": { "app": "web" }, "type": "ClusterIP", "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
        },
        "status": { "loadBalancer": {} },
    })
}

/// Endpoints with more addresses than the limit.
fn endpoints() -> Value {
    let addresses: Vec<Value> = (0..1050)
        .map(|i| {
            json!({
                "ip": ip(i), "nodeName": format!("node-{}", i % 100),
                "targetRef": { "kind": "Pod", "namespace": "shop", "name": format!("web-{i}"), "uid": uid(i) },
            })
        })
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": meta("by-hand", &json!({}), &Value::Null),
        "subsets": [{ "addresses": addresses, "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }] }],
    })
}

fn meta(name: &str, labels: &Value, annotations: &Value) -> Value {
    json!({
        "name": name, "namespace": "shop", "uid": uid(1), "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": labels, "annotations": annotations,
        "managedFields": [{
            "manager": "kubectl-create", "operation": "Update", "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
            "fieldsV1": { "f:metadata": { "f:labels": { ".": {}, "f:app": {} } }, "f:spec": { "f:ports": {} } },
        }],
    })
}

fn ip(i: usize) -> String {
    format!("10.1.{}.{}", i / 250, i % 250 + 1)
}

fn uid(i: usize) -> String {
    format!("5f1c1d0e-0000-4000-8000-{i:012}")
}
