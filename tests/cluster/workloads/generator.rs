//! Random workloads, each named by seed and index alone.

use serde_json::{Map, Value, json};

use crate::parity::rng::Rng;

const APPS: [&str; 3] = ["web", "db", "cache"];

/// Taints and labels of the nodes: plain, soft, dedicated, cordoned, windows, not ready.
pub(super) fn nodes() -> Vec<(Value, Value)> {
    let node = |name: &str, zone: &str, more: Value| {
        let mut labels = json!({"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name});
        labels.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
    };
    let taint = |key: &str, value: &str, effect: &str| json!({"key": key, "value": value, "effect": effect});
    let not_ready = "node.kubernetes.io/not-ready";
    vec![
        (node("plain", "a", json!({"disk": "ssd", "size": "4"})), json!({"taints": []})),
        (
            node("soft", "b", json!({"disk": "hdd", "size": "16"})),
            json!({"taints": [taint("busy", "", "PreferNoSchedule")]}),
        ),
        (node("dedicated", "a", json!({"disk": "ssd"})), json!({"taints": [taint("dedicated", "db", "NoSchedule")]})),
        (
            node("cordoned", "b", json!({"size": "8"})),
            json!({"unschedulable": true, "taints": [taint("node.kubernetes.io/unschedulable", "", "NoSchedule")]}),
        ),
        (node("windows", "c", json!({"kubernetes.io/os": "windows"})), json!({"taints": []})),
        (
            node("new", "c", json!({"disk": "hdd"})),
            json!({"taints": [taint(not_ready, "", "NoSchedule"), taint(not_ready, "", "NoExecute")]}),
        ),
    ]
}

/// The workload of this index.
pub(crate) fn workload(seed: u64, index: u64) -> Value {
    let mut rng = Rng::new(seed, index);
    let kind = rng.weighted(&[
        (5, "Deployment"),
        (2, "ReplicaSet"),
        (2, "ReplicationController"),
        (5, "StatefulSet"),
        (5, "DaemonSet"),
        (5, "Job"),
        (1, "CronJob"),
    ]);
    let mut template = template(&mut rng, kind);
    let mut spec = Map::new();
    let labels = template["metadata"]["labels"].clone();
    match kind {
        "Job" => job(&mut rng, &mut spec, &mut template),
        "CronJob" => {
            let mut job_spec = Map::new();
            job(&mut rng, &mut job_spec, &mut template);
            // Selectors of CronJobs are generated.
            job_spec.remove("manualSelector");
            job_spec.remove("selector");
            job_spec.insert("template".to_owned(), template.take());
            spec.insert("schedule".to_owned(), json!("0 0 1 1 *"));
            spec.insert("jobTemplate".to_owned(), json!({"spec": job_spec}));
        }
        _ => replicated(&mut rng, kind, &mut spec, &labels),
    }
    if kind != "CronJob" {
        spec.insert("template".to_owned(), template);
    }
    let api_version = match kind {
        "Job" | "CronJob" => "batch/v1",
        "ReplicationController" => "v1",
        _ => "apps/v1",
    };
    // The name of a pod is no longer than a DNS label.
    let is_long = ["ReplicaSet", "DaemonSet"].contains(&kind) && rng.percent(15);
    let long = if is_long { "-with-a-name-that-has-more-letters-than-the-name-of-a-pod-may" } else { "" };
    let name = format!("w{index}{long}");
    let metadata = json!({"namespace": "default", "name": name, "labels": {"of": "workload"}});
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})
}

fn replicated(rng: &mut Rng, kind: &str, spec: &mut Map<String, Value>, labels: &Value) {
    if kind != "DaemonSet" && rng.percent(70) {
        spec.insert("replicas".to_owned(), rng.pick(&[None, Some(0), Some(1), Some(2), Some(3)]).into());
    }
    let app = json!({"app": labels["app"]});
    match kind {
        "ReplicationController" => {
            if rng.percent(60) {
                spec.insert("selector".to_owned(), app);
            }
        }
        _ if rng.percent(25) => {
            let expression = json!({"key": "app", "operator": "In", "values": [labels["app"], "other"]});
            spec.insert("selector".to_owned(), json!({"matchExpressions": [expression]}));
        }
        _ => {
            spec.insert("selector".to_owned(), json!({"matchLabels": app}));
        }
    }
    if kind == "Deployment" && rng.percent(10) {
        spec.insert("paused".to_owned(), json!(true));
    }
    if kind == "StatefulSet" {
        if rng.percent(80) {
            spec.insert("serviceName".to_owned(), json!(rng.pick(&APPS)));
        }
        if rng.percent(30) {
            spec.insert("ordinals".to_owned(), json!({"start": rng.below(5)}));
        }
        if rng.percent(40) {
            spec.insert("podManagementPolicy".to_owned(), json!("Parallel"));
        }
    }
}

fn job(rng: &mut Rng, spec: &mut Map<String, Value>, template: &mut Value) {
    template["spec"]["restartPolicy"] = json!(rng.pick(&["Never", "OnFailure"]));
    if rng.percent(50) {
        spec.insert("parallelism".to_owned(), json!(rng.below(4)));
    }
    if rng.percent(40) {
        spec.insert("completionMode".to_owned(), json!("Indexed"));
        spec.insert("completions".to_owned(), json!(rng.between(1, 4)));
        if rng.percent(40) {
            template["spec"]["restartPolicy"] = json!("Never");
            spec.insert("backoffLimitPerIndex".to_owned(), json!(1));
        }
    } else if rng.percent(50) {
        spec.insert("completions".to_owned(), json!(rng.between(1, 4)));
    }
    if rng.percent(10) {
        spec.insert("suspend".to_owned(), json!(true));
    }
    if rng.percent(10) {
        spec.insert("managedBy".to_owned(), json!("example.com/queue"));
    }
    if rng.percent(15) {
        spec.insert("manualSelector".to_owned(), json!(true));
        spec.insert("selector".to_owned(), json!({"matchLabels": {"app": template["metadata"]["labels"]["app"]}}));
    }
}

fn template(rng: &mut Rng, kind: &str) -> Value {
    // A selector of its own for each workload: controllers of one namespace adopt each other's pods otherwise.
    let mut labels = json!({"app": format!("{}-{}", rng.pick(&APPS), rng.next() % 1_000_000_007)});
    if rng.percent(40) {
        labels["tier"] = json!(rng.pick(&["front", "back"]));
    }
    if rng.percent(10) {
        labels["pod-template-hash"] = json!("written");
    }
    // A ReplicationController takes the labels as its selector, and would disown a pod as soon as it gets another zone.
    if kind != "ReplicationController" && rng.percent(10) {
        labels["topology.kubernetes.io/zone"] = json!("written");
    }
    let mut metadata = json!({"labels": labels});
    if rng.percent(20) {
        metadata["annotations"] = json!({"of": "template"});
    }
    if rng.percent(10) {
        metadata["name"] = json!("ignored");
    }
    let mut spec = json!({"containers": containers(rng)});
    if rng.percent(20) {
        spec["hostname"] = json!("host");
    }
    if rng.percent(30) {
        spec["subdomain"] = json!(rng.pick(&APPS));
    }
    if rng.percent(15) {
        spec["hostNetwork"] = json!(true);
    }
    if rng.percent(30) {
        let port = json!([{"name": "side", "containerPort": 9000}]);
        let restart = if rng.percent(60) { json!("Always") } else { json!(null) };
        spec["initContainers"] = json!([{"name": "side", "image": "i", "restartPolicy": restart, "ports": port}]);
    }
    scheduling(rng, kind, &mut spec);
    json!({"metadata": metadata, "spec": spec})
}

fn containers(rng: &mut Rng) -> Vec<Value> {
    let container = |i: usize, rng: &mut Rng| {
        let ports: Vec<Value> = (0..rng.below(3))
            .map(|p| {
                let mut port = json!({"containerPort": 8000 + 2 * rng.below(3) + p % 2});
                if rng.percent(70) {
                    port["name"] = json!(format!("p{i}{p}"));
                }
                if rng.percent(50) {
                    port["protocol"] = json!(rng.pick(&["TCP", "UDP", "SCTP"]));
                }
                port
            })
            .collect();
        json!({"name": format!("c{i}"), "image": "i", "ports": ports})
    };
    (0..rng.between(1, 3)).map(|i| container(i, rng)).collect()
}

fn scheduling(rng: &mut Rng, kind: &str, spec: &mut Value) {
    if rng.percent(5) {
        spec["nodeName"] = json!("plain");
        return;
    }
    if kind != "DaemonSet" {
        return;
    }
    if rng.percent(25) {
        spec["nodeSelector"] = json!({"disk": rng.pick(&["ssd", "hdd", "tape"])});
    }
    if rng.percent(50) {
        let terms: Vec<Value> = (0..rng.between(1, 2)).map(|_| term(rng)).collect();
        let required = json!({"nodeSelectorTerms": terms});
        let preferred = json!([{"weight": 1, "preference": expression("disk", "In", &["ssd"])}]);
        spec["affinity"] = json!({"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        }});
    }
    if rng.percent(40) {
        let tolerations = [
            json!({"operator": "Exists"}),
            json!({"key": "dedicated", "value": "db"}),
            json!({"key": "dedicated", "value": "web", "effect": "NoSchedule"}),
            json!({"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}),
            json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}),
        ];
        spec["tolerations"] = json!([tolerations[rng.below(tolerations.len())]]);
    }
}

fn term(rng: &mut Rng) -> Value {
    match rng.below(8) {
        0 => expression("disk", "In", &["ssd", "tape"]),
        1 => expression("disk", "NotIn", &["ssd"]),
        2 => expression("disk", "Exists", &[]),
        3 => expression("disk", "DoesNotExist", &[]),
        4 => expression("size", "Gt", &["7"]),
        5 => expression("size", "Lt", &["9"]),
        6 => json!({}),
        _ => json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["soft"]}]}),
    }
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    let mut requirement = json!({"key": key, "operator": operator});
    if !values.is_empty() {
        requirement["values"] = json!(values);
    }
    json!({"matchExpressions": [requirement]})
}
