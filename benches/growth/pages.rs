//! The tabs of the page, with the objects of a file.

use serde_json::{Value, json};

use crate::{
    objects::{NAMESPACE, list, meta, node, pod, service, slice, slice_endpoints, workload},
    sizes::{Family, Input, Sizes},
};

/// The dimensions of a file with one Service that is looked at.
const FILE: &[(&str, usize)] = &[
    ("pods", 1),
    ("pods not ready", 0),
    ("ports", 1),
    ("ports of a pod", 1),
    ("nodes", 1),
    ("slices", 0),
    ("endpoints of a slice", 1),
    ("other Services", 0),
    ("Ingresses", 0),
    ("paths of an Ingress", 1),
    ("workloads", 0),
    ("webhooks", 0),
];

pub(crate) const FAMILIES: &[Family] = &[
    Family { name: "page: the picture", base: FILE, without: &[], make: |s| page(s, &json!({ "tab": "picture" })) },
    Family { name: "page: what if", base: FILE, without: &[], make: |s| page(s, &what_if()) },
    Family { name: "page: a review", base: FILE, without: &[], make: |s| page(s, &json!({ "tab": "review" })) },
    Family {
        name: "page: a node",
        base: FILE,
        without: &[],
        make: |s| page(s, &json!({ "tab": "node", "node": "node-0" })),
    },
];

fn what_if() -> Value {
    json!({ "tab": "what-if", "changes": [
        { "change": "target-port", "service": format!("{NAMESPACE}/web"), "port": "p0", "target": "8080" },
        { "change": "drain-node", "node": "node-0" },
    ] })
}

fn page(s: &Sizes, more: &Value) -> Input {
    let mut body = json!({ "service": format!("{NAMESPACE}/web"), "text": text(s) });
    for (key, value) in more.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    Input { way: "post /v1/page".to_owned(), body: body.to_string(), ..Input::default() }
}

fn text(s: &Sizes) -> String {
    let mut all = vec![service("web", s.get("ports"))];
    let ready = s.get("pods");
    all.extend(list(ready + s.get("pods not ready"), |i| {
        let mut pod = pod(i, s.get("ports of a pod"));
        if i >= ready {
            pod["status"]["conditions"][0]["status"] = "False".into();
        }
        pod
    }));
    all.extend(list(s.get("nodes"), node));
    let each = s.get("endpoints of a slice");
    all.extend(list(s.get("slices"), |i| {
        let mut slice = slice(&format!("web-{i}"), slice_endpoints(each, i * each), 1);
        slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] =
            "endpointslice-controller.k8s.io".into();
        slice
    }));
    all.extend(list(s.get("other Services"), |i| {
        let mut other = service(&format!("other-{i}"), 1);
        other["spec"]["selector"]["app"] = format!("other-{i}").into();
        other
    }));
    all.extend(list(s.get("Ingresses"), |i| ingress(i, s.get("paths of an Ingress"))));
    all.extend(list(s.get("workloads"), workload));
    all.extend(list(s.get("webhooks"), webhook));
    json!({ "apiVersion": "v1", "kind": "List", "items": all }).to_string()
}

/// An Ingress whose paths lead to the Service that is looked at.
fn ingress(i: usize, paths: usize) -> Value {
    let backend = json!({ "service": { "name": "web", "port": { "name": "p0" } } });
    let path = |k: usize| json!({ "path": format!("/{i}/{k}"), "pathType": "Prefix", "backend": backend });
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta(&format!("web-{i}")),
        "spec": { "rules": [{ "host": format!("h{i}.example.com"), "http": { "paths": list(paths, path) } }] },
    })
}

/// A webhook that the Service that is looked at answers.
fn webhook(i: usize) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": format!("web-{i}") },
        "webhooks": [{ "name": format!("w{i}.example.com"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail", "clientConfig": { "service": { "namespace": NAMESPACE, "name": "web", "port": 1 } },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"] }] }],
    })
}
