//! The bodies that the clients post.

use std::fmt::Write;

use serde_json::{Value, json};

/// A review of a small slice.
pub(crate) fn good_review() -> String {
    slice_review(&[json!({ "addresses": ["10.1.2.3"], "conditions": { "ready": true } })])
}

/// The same with an address that a rule refuses.
pub(crate) fn bad_review() -> String {
    slice_review(&[json!({ "addresses": ["127.0.0.1"], "conditions": { "ready": true } })])
}

/// A review of a slice that has a thousand endpoints with many addresses, 1.2 MB in all; the last address is refused.
pub(crate) fn large_bad_review() -> String {
    let address = |i: usize, k: usize| format!("10.{}.{}.{}", 1 + i / 250, i % 250, k);
    let mut endpoints: Vec<Value> = (0..1000)
        .map(|i| {
            json!({
                "addresses": (1..=80).map(|k| address(i, k)).collect::<Vec<_>>(),
                "conditions": { "ready": true, "serving": true, "terminating": false },
                "nodeName": format!("node-{}", i % 50),
            })
        })
        .collect();
    endpoints.push(json!({ "addresses": ["127.0.0.1"] }));
    slice_review(&endpoints)
}

fn slice_review(endpoints: &[Value]) -> String {
    let slice = json!({
        "addressType": "IPv4",
        "metadata": { "name": "web-1", "namespace": "shop", "labels": { "kubernetes.io/service-name": "web" } },
        "endpoints": endpoints,
        "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }],
    });
    object_review("EndpointSlice", &slice)
}

/// A dry-run review of a new object.
pub(crate) fn object_review(kind: &str, object: &Value) -> String {
    let group = if kind == "EndpointSlice" { "discovery.k8s.io" } else { "" };
    let plural = match kind {
        "Service" => "services",
        "Endpoints" => "endpoints",
        _ => "endpointslices",
    };
    let mut object = object.clone();
    object["kind"] = json!(kind);
    object["apiVersion"] = json!(if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") });
    let meta = &object["metadata"];
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "5f1c1d0e-0000-4000-8000-000000000001", "operation": "CREATE", "dryRun": true,
            "kind": { "group": group, "version": "v1", "kind": kind },
            "resource": { "group": group, "version": "v1", "resource": plural },
            "namespace": meta["namespace"], "name": meta["name"],
            "userInfo": { "username": "jane", "groups": ["system:authenticated"] },
            "object": object, "oldObject": null,
        },
    })
    .to_string()
}

/// A review of a conversion of policies, of about `bytes`. The answer is as large.
pub(crate) fn conversion(bytes: usize) -> String {
    let policies = policies(bytes);
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"u","desiredAPIVersion":"roster.dev/v1","objects":[{policies}]}}}}"#
    )
}

/// The same policies as a list for the REST API.
pub(crate) fn policy_list(bytes: usize) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"List","items":[{}]}}"#, policies(bytes))
}

fn policies(bytes: usize) -> String {
    let namespaces: Vec<String> = (0..40).map(|i| format!("namespace-{i:04}")).collect();
    let mut text = String::new();
    for i in 0.. {
        let policy = json!({
            "apiVersion": "roster.dev/v1alpha1", "kind": "EndpointPolicy", "metadata": { "name": format!("policy-{i}") },
            "spec": { "namespaces": namespaces, "capacityAction": "Deny" },
        });
        // Writing to a string cannot fail.
        let _ = write!(text, "{policy}");
        if text.len() > bytes {
            break;
        }
        text.push(',');
    }
    text
}

/// The state of one Service with so many pods.
pub(crate) fn state(pods: usize) -> String {
    let pods: Vec<Value> = (0..pods).map(pod).collect();
    json!({
        "service": {
            "metadata": { "name": "web", "namespace": "shop", "uid": "u" },
            "spec": {
                "selector": { "app": "web" }, "clusterIP": "10.96.0.10", "ipFamilies": ["IPv4"],
                "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080 }],
            },
        },
        "pods": pods,
        "nodes": [{ "metadata": { "name": "node-1" } }],
    })
    .to_string()
}

/// A Service, and objects of a few bytes that take hundreds in memory, compressed: each kind of them fills a body.
pub(crate) fn expanding() -> std::io::Result<Vec<Vec<u8>>> {
    const SERVICE: &str =
        r#"{"kind":"Service","apiVersion":"v1","metadata":{"name":"s"},"spec":{"selector":{"a":"b"}}}"#;
    let many = |count: usize, object: &dyn Fn(usize) -> String| {
        let objects: String = (0..count).map(object).collect();
        gzip(&format!(r#"{{"kind":"List","apiVersion":"v1","items":[{objects}{SERVICE}]}}"#))
    };
    let pod = |i| format!(r#"{{"kind":"Pod","metadata":{{"name":"p{i}"}}}},"#);
    let subsets = r#"{"addresses":[{"ip":"1.1.1.1"}]},"#.repeat(200);
    let endpoints = |i| format!(r#"{{"kind":"Endpoints","metadata":{{"name":"e{i}"}},"subsets":[{subsets}{{}}]}},"#);
    let targets = r#"{"targetRef":{},"hints":{}},"#.repeat(1000);
    let slice = |i| {
        let meta = format!(r#""metadata":{{"name":"e{i}","labels":{{"kubernetes.io/service-name":"s"}}}}"#);
        format!(r#"{{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1",{meta},"endpoints":[{targets}{{}}]}},"#)
    };
    Ok(vec![many(450_000, &pod)?, many(8_000, &endpoints)?, many(1_800, &slice)?])
}

pub(crate) fn gzip(text: &str) -> std::io::Result<Vec<u8>> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut out, text.as_bytes())?;
    out.finish()
}

/// A ready pod of the namespace `shop`.
pub(crate) fn pod(i: usize) -> Value {
    let (name, ip) = (format!("web-7d4b9c6f5d-{i:05}"), format!("10.1.{}.{}", i / 250, i % 250 + 1));
    json!({
        "metadata": { "name": name, "namespace": "shop", "uid": name, "labels": { "app": "web" } },
        "spec": { "nodeName": "node-1" },
        "status": {
            "podIP": ip, "podIPs": [{ "ip": ip }], "conditions": [{ "type": "Ready", "status": "True" }],
        },
    })
}
