//! Files for the command line. A body is several files, each after a line `#### PATH`.

mod alike;
mod cases;

use serde_json::{Value, json};

use crate::{
    objects::{
        NAMESPACE, container_ports, entries_and, list, meta, node, pod, policy, range, service, slice, slice_endpoints,
    },
    plans::{cluster_objects, yaml},
    sizes::{Family, Input, Sizes, pairs},
};
use alike::{MISTYPED, ONE_STRING, REPEATED, lint_mistyped, lint_repeated, lint_string, repeated_files};
use cases::{CASES, OF_CASES, test_files};

const LINTED: &[(&str, usize)] = &[
    ("documents", 0),
    ("tiny documents", 0),
    ("files", 0),
    ("Services", 1),
    ("ports", 1),
    ("workloads", 1),
    ("equal workloads", 0),
    ("labels", 0),
    ("container ports", 1),
    ("near misses", 0),
    ("autoscalers", 0),
    ("equal objects", 0),
    ("findings", 0),
    ("unreadable Services", 0),
    ("waivers", 0),
    ("comments", 0),
    ("policies", 0),
];

const POSTED: &[(&str, usize)] = &[
    ("documents", 0),
    ("tiny documents", 0),
    ("Services", 1),
    ("ports", 1),
    ("workloads", 1),
    ("equal workloads", 0),
    ("labels", 0),
    ("container ports", 1),
    ("near misses", 0),
    ("autoscalers", 0),
    ("equal objects", 0),
    ("findings", 0),
    ("unreadable Services", 0),
    ("policies", 0),
];

const CLUSTER: &[(&str, usize)] = &[
    ("Services", 1),
    ("ports", 1),
    ("pods", 1),
    ("selectors", 1),
    ("labels of a pod", 0),
    ("nodes", 1),
    ("slices", 0),
    ("Endpoints", 0),
    ("workloads", 0),
];

pub(crate) const FAMILIES: &[Family] = &[
    Family { name: "lint files", base: LINTED, without: &[], make: linted },
    Family { name: "lint a body", base: POSTED, without: &[], make: posted },
    Family {
        name: "lint kustomizations",
        base: &[
            ("kustomizations", 1),
            ("resources", 1),
            ("patches", 0),
            ("operations", 0),
            ("overlays", 0),
            ("common labels", 0),
            ("depth", 0),
        ],
        without: &[],
        make: kustomized,
    },
    Family { name: "lint references", base: REFERENCES, without: &[], make: referring },
    Family { name: "plan files", base: CLUSTER, without: &[], make: |s| of_cluster(s, "plan -A -f DIR") },
    Family {
        name: "plan files against a release",
        base: CLUSTER,
        without: &[],
        make: |s| of_cluster(s, "plan -A --against 1.22 -f DIR"),
    },
    Family { name: "explain files", base: CLUSTER, without: &[], make: |s| of_cluster(s, "explain -A -f DIR") },
    Family {
        name: "view of all nodes",
        base: CLUSTER,
        without: &[],
        make: |s| of_cluster(s, "view -A --all-nodes -f DIR"),
    },
    Family { name: "review files", base: CLUSTER, without: &[], make: |s| of_cluster(s, "review DIR") },
    Family {
        name: "lint mistyped files",
        base: MISTYPED,
        without: pairs! {
            "mistyped selectors": "mistyped targets of autoscalers", "alike keys of a workload", "mistyped keys of a selector",
                "ports of a workload", "mistyped target ports";
            "mistyped targets of autoscalers": "alike keys of a workload", "mistyped keys of a selector", "ports of a workload",
                "mistyped target ports";
            "long workloads": "alike keys of a workload", "ports of a workload", "mistyped target ports";
            "alike keys of a workload": "ports of a workload", "mistyped target ports";
            "mistyped keys of a selector": "ports of a workload", "mistyped target ports";
            "mistyped fields": "long workloads", "mistyped selectors", "mistyped targets of autoscalers", "alike keys of a workload",
                "mistyped keys of a selector", "ports of a workload", "mistyped target ports";
        },
        make: lint_mistyped,
    },
    Family {
        name: "lint one string",
        base: ONE_STRING,
        without: pairs! {
            "$(": "{{", "}}", "quotes", "lines";
            "quotes": "${", "lines";
            "lines": "}}";
        },
        make: lint_string,
    },
    Family { name: "lint repeated files", base: REPEATED, without: &[], make: lint_repeated },
    Family {
        name: "plan repeated files",
        base: REPEATED_OBJECTS,
        without: &[],
        make: |s| repeated_files(s, "plan -A -f DIR"),
    },
    Family { name: "test files", base: CASES, without: OF_CASES, make: test_files },
];

/// Objects that refer to others.
const REFERENCES: &[(&str, usize)] = &[
    ("Services", 1),
    ("workloads", 1),
    ("Ingresses", 0),
    ("misspelt Ingresses", 0),
    ("routes without a grant", 0),
    ("monitors", 0),
    ("misspelt monitors", 0),
    ("misspelt budgets", 0),
];

/// The objects of a cluster that files repeat.
const REPEATED_OBJECTS: &[(&str, usize)] = &[("equal Services", 1), ("equal pods", 1), ("equal slices", 0)];

/// Files, each with its path.
fn files(files: &[(String, String)]) -> String {
    files.iter().flat_map(|(path, text)| ["#### ", path, "\n", text]).collect()
}

fn documents(objects: &[Value]) -> String {
    objects.iter().fold(String::new(), |text, object| text + "---\n" + &yaml(object, 0))
}

fn workload(name: &str, app: &str, ports: usize) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(name),
        "spec": { "replicas": 1, "selector": { "matchLabels": { "app": app } },
            "template": { "metadata": { "labels": { "app": app } },
                "spec": { "containers": [{ "name": "c", "image": "c:1", "ports": container_ports(ports) }] } } },
    })
}

fn posted(s: &Sizes) -> Input {
    let text = documents(&manifests(s)) + &"--- 1\n".repeat(s.get("tiny documents"));
    Input { way: "post/yaml /v1/lint".to_owned(), body: text, ..Input::default() }
}

fn manifests(s: &Sizes) -> Vec<Value> {
    let mut all = list(s.get("Services"), |i| {
        let mut service = service(&format!("web-{i}"), s.get("ports"));
        service["spec"]["clusterIP"] = Value::Null;
        service["spec"]["clusterIPs"] = Value::Null;
        service["spec"]["selector"] = entries_and(s.get("labels"), "l", &[("app", &format!("web-{i}"))]);
        service
    });
    all.extend(list(s.get("workloads"), |i| {
        let mut workload = workload(&format!("web-{i}"), &format!("web-{i}"), s.get("container ports"));
        let labels = entries_and(s.get("labels"), "l", &[("app", &format!("web-{i}"))]);
        workload["spec"]["selector"]["matchLabels"] = labels.clone();
        workload["spec"]["template"]["metadata"]["labels"] = labels;
        workload
    }));
    all.extend(list(s.get("equal workloads"), |i| workload(&format!("same-{i}"), "web-0", 1)));
    all.extend(list(s.get("near misses"), |i| {
        let mut service = service(&format!("near-{i}"), 1);
        service["spec"]["clusterIP"] = Value::Null;
        service["spec"]["clusterIPs"] = Value::Null;
        service["spec"]["selector"]["app"] = format!("wbe-{i}").into();
        service
    }));
    all.extend(list(s.get("autoscalers"), |i| {
        json!({ "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta(&format!("h-{i}")),
            "spec": { "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web-0" }, "maxReplicas": 3 } })
    }));
    all.extend(list(
        s.get("equal objects"),
        |_| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("same") }),
    ));
    all.extend(list(s.get("findings"), |i| {
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta(&format!("bad-{i}")), "spec": { "unknown": 1, "ports": [{ "port": 99999 }] } })
    }));
    all.extend(list(s.get("unreadable Services"), |i| {
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta(&format!("broken-{i}")), "spec": { "selector": { "app": true } } })
    }));
    all.extend(list(s.get("policies"), |i| {
        policy(i, &json!({ "defaultMode": "warn", "addresses": { "allow": [range(i)] } }))
    }));
    all.extend(list(
        s.get("documents"),
        |i| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(&format!("c-{i}")) }),
    ));
    all
}

fn linted(s: &Sizes) -> Input {
    let mut text = documents(&manifests(s));
    text.push_str(&"--- 1\n".repeat(s.get("tiny documents")));
    text.push_str(&"# a comment\n".repeat(s.get("comments")));
    let mut parts = vec![("a.yaml".to_owned(), text)];
    parts.extend((0..s.get("files")).map(|i| {
        (
            format!("d{}/f{i}.yaml", i % 16),
            documents(&[json!({ "apiVersion": "v1", "kind": "Secret", "metadata": meta(&format!("s-{i}")) })]),
        )
    }));
    let waivers =
        list(s.get("waivers"), |i| json!({ "code": "external-ip", "file": format!("legacy-{i}/*"), "reason": "none" }));
    parts.push((
        "../waivers.yaml".to_owned(),
        yaml(&json!({ "apiVersion": "roster.dev/v1alpha1", "kind": "LintWaivers", "waivers": waivers }), 0),
    ));
    Input { way: "cli lint DIR --waivers DIR/../waivers.yaml".to_owned(), body: files(&parts), ..Input::default() }
}

fn kustomized(s: &Sizes) -> Input {
    let mut parts = Vec::new();
    for base in 0..s.get("kustomizations") {
        let objects = list(s.get("resources"), |i| workload(&format!("w-{base}-{i}"), &format!("w-{base}-{i}"), 1));
        parts.push((format!("b{base}/all.yaml"), documents(&objects)));
        let patches = list(s.get("patches"), |i| {
            let object = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(&format!("w-{base}-{}", i % s.get("resources"))),
                "spec": { "replicas": 2 } });
            json!({ "patch": object.to_string() })
        });
        let mut kustomization = json!({ "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": ["all.yaml"],
            "commonLabels": entries_and(s.get("common labels"), "c", &[]), "patches": patches });
        if s.get("operations") > 0 {
            let operations = list(
                s.get("operations"),
                |i| json!({ "op": "add", "path": format!("/metadata/labels/o{i}"), "value": "v" }),
            );
            if let Some(patches) = kustomization["patches"].as_array_mut() {
                patches
                    .push(json!({ "target": { "kind": "Deployment" }, "patch": Value::from(operations).to_string() }));
            }
        }
        parts.push((format!("b{base}/kustomization.yaml"), yaml(&kustomization, 0)));
        let overlay = |of: &str| {
            yaml(&json!({ "resources": [of], "labels": [{ "pairs": { "env": "x" }, "includeSelectors": true }] }), 0)
        };
        for i in 0..s.get("overlays") {
            parts.push((format!("o{base}-{i}/kustomization.yaml"), overlay(&format!("../b{base}"))));
        }
        for i in 0..s.get("depth") {
            let of = if i == 0 { format!("../b{base}") } else { format!("../d{base}-{}", i - 1) };
            parts.push((format!("d{base}-{i}/kustomization.yaml"), overlay(&of)));
        }
    }
    Input { way: "cli lint DIR".to_owned(), body: files(&parts), ..Input::default() }
}

/// Objects that name and select Services and pods, and some that do so in vain.
fn referring(s: &Sizes) -> Input {
    let mut all = list(s.get("Services"), |i| {
        let mut service = service(&format!("web-{i}"), 1);
        service["spec"]["clusterIP"] = Value::Null;
        service["spec"]["clusterIPs"] = Value::Null;
        service["metadata"]["labels"] = json!({ "app": "web", "name": format!("web-{i}") });
        service
    });
    all.extend(list(s.get("workloads"), |i| workload(&format!("web-{i}"), &format!("web-{i}"), 1)));
    let ingress = |name: &str, of: &str| {
        let backend = json!({ "service": { "name": of, "port": { "number": 80 } } });
        json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta(name), "spec": { "defaultBackend": backend } })
    };
    all.extend(list(s.get("Ingresses"), |i| ingress(&format!("i-{i}"), &format!("web-{i}"))));
    all.extend(list(s.get("misspelt Ingresses"), |i| ingress(&format!("m-{i}"), &format!("wbe-{i}"))));
    all.extend(list(s.get("routes without a grant"), |i| {
        let backend = json!({ "name": format!("web-{i}"), "namespace": NAMESPACE, "port": 80 });
        json!({ "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": { "name": format!("r-{i}"), "namespace": "edge" },
            "spec": { "rules": [{ "backendRefs": [backend] }] } })
    }));
    let selecting = |api_version: &str, kind: &str, name: &str, labels: Value| {
        json!({ "apiVersion": api_version, "kind": kind, "metadata": meta(name),
            "spec": { "selector": { "matchLabels": labels }, "endpoints": [{ "port": "metrics" }] } })
    };
    let monitoring = "monitoring.coreos.com/v1";
    // Each selects every Service.
    all.extend(list(s.get("monitors"), |i| {
        selecting(monitoring, "ServiceMonitor", &format!("a-{i}"), json!({ "app": "web" }))
    }));
    all.extend(list(s.get("misspelt monitors"), |i| {
        selecting(monitoring, "ServiceMonitor", &format!("b-{i}"), json!({ "name": format!("wbe-{i}") }))
    }));
    all.extend(list(s.get("misspelt budgets"), |i| {
        selecting("policy/v1", "PodDisruptionBudget", &format!("c-{i}"), json!({ "app": format!("wbe-{i}") }))
    }));
    Input {
        way: "cli lint DIR".to_owned(),
        body: files(&[("all.yaml".to_owned(), documents(&all))]),
        ..Input::default()
    }
}

fn of_cluster(s: &Sizes, command: &str) -> Input {
    let mut all = cluster_objects(s);
    for object in all.iter_mut().filter(|object| object["kind"] == "Service") {
        object["spec"]["ports"] = crate::objects::service_ports(s.get("ports")).into();
    }
    if s.get("slices") == 0 && command.starts_with("view") {
        all.push(slice("web-0-a", slice_endpoints(1, 0), 1));
    }
    all.push(node(0));
    all.push(pod(0, 1));
    for object in &mut all {
        if object["kind"] != "Node" {
            object["metadata"]["namespace"] = NAMESPACE.into();
        }
    }
    Input {
        way: format!("cli {command}"),
        body: files(&[("all.yaml".to_owned(), documents(&all))]),
        ..Input::default()
    }
}
