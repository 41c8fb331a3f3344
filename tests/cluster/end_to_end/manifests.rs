//! Random manifests as people write them: a workload and the Services in front of it, each named by seed and index alone.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{parity::rng::Rng, workloads::generator::workload};

/// Where the manifests are applied.
pub(super) const NAMESPACES: [&str; 10] =
    ["cart", "catalog", "checkout", "media", "orders", "payments", "search", "shop", "stock", "users"];

/// The names that the subdomain of a pod may have: a Service of that name publishes host names.
const SUBDOMAINS: [&str; 3] = ["web", "db", "cache"];

/// The objects of the file of this index.
pub(super) fn manifests(seed: u64, index: u64) -> Vec<Value> {
    let mut rng = Rng::new(seed ^ 1, index);
    let place = usize::try_from(index).unwrap();
    let namespace = NAMESPACES[place % NAMESPACES.len()];
    let mut workload = workload(seed, index);
    workload["metadata"]["namespace"] = json!(namespace);
    let template = match workload["kind"].as_str() {
        Some("CronJob") => &workload["spec"]["jobTemplate"]["spec"]["template"],
        _ => &workload["spec"]["template"],
    };
    let mut objects = Vec::new();
    for number in 0..rng.between(1, 2) {
        let name = match SUBDOMAINS.get(place / NAMESPACES.len()) {
            // Each once in a namespace.
            Some(subdomain) if number == 0 => (*subdomain).to_owned(),
            _ => format!("s{index}-{number}"),
        };
        let service = service(&mut rng, namespace, &name, template);
        if service["spec"]["selector"].is_null() && rng.percent(80) {
            objects.push(endpoints(&mut rng, namespace, &name));
        }
        objects.push(service);
    }
    objects.push(workload);
    if rng.percent(50) {
        objects.reverse();
    }
    objects
}

/// A Service in front of pods with this template.
fn service(rng: &mut Rng, namespace: &str, name: &str, template: &Value) -> Value {
    let mut metadata = json!({"name": name, "namespace": namespace});
    if rng.percent(30) {
        metadata["labels"] = json!({"app": name, "team": "shop"});
    }
    let mut spec = json!({});
    if !rng.percent(6) {
        spec["selector"] = selector(rng, &template["metadata"]["labels"]);
    }
    let ports = ports(rng, template);
    if !ports.is_empty() {
        spec["ports"] = json!(ports);
    }
    match rng.below(20) {
        0..=3 => spec["clusterIP"] = json!("None"),
        4 => spec["type"] = json!("NodePort"),
        5 => spec["type"] = json!("LoadBalancer"),
        6 if rng.percent(50) => {
            (spec["type"], spec["externalName"]) = (json!("ExternalName"), json!("example.com"));
        }
        _ => {}
    }
    if spec["type"] != "ExternalName" {
        families(rng, &mut spec);
    }
    if rng.percent(10) {
        spec["publishNotReadyAddresses"] = json!(true);
    }
    if rng.percent(20) {
        spec["trafficDistribution"] = json!(rng.pick(&["PreferClose", "PreferSameZone", "PreferSameNode"]));
    }
    json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
}

fn families(rng: &mut Rng, spec: &mut Value) {
    match rng.below(10) {
        0 => spec["ipFamilyPolicy"] = json!("PreferDualStack"),
        1 => spec["ipFamilyPolicy"] = json!("RequireDualStack"),
        2 => spec["ipFamilies"] = json!(["IPv6"]),
        3 => {
            spec["ipFamilyPolicy"] = json!("PreferDualStack");
            spec["ipFamilies"] = json!(["IPv6", "IPv4"]);
        }
        _ => {}
    }
}

/// The labels of the template, some of them, those of several workloads, or a mistake of typing.
fn selector(rng: &mut Rng, labels: &Value) -> Value {
    let app = labels["app"].as_str().unwrap();
    match rng.below(20) {
        0 => json!({"app": format!("{app}x")}),
        1 => json!({"app": app, "tier": "front"}),
        2 => json!({"tier": "back"}),
        3 => json!({"app": app, "topology.kubernetes.io/zone": "a"}),
        _ => json!({"app": app}),
    }
}

/// Ports, as people write them: mostly with nothing but a number.
fn ports(rng: &mut Rng, template: &Value) -> Vec<Value> {
    let containers = ["containers", "initContainers"].map(|field| template["spec"][field].as_array());
    let declared: Vec<&Value> =
        containers.into_iter().flatten().flatten().filter_map(|c| c["ports"].as_array()).flatten().collect();
    let count = rng.weighted(&[(1, 0), (12, 1), (6, 2), (2, 3)]);
    let mut seen = BTreeSet::new();
    let mut ports = Vec::new();
    for i in 0..count {
        let number = rng.pick(&[80, 443, 8080, 9090]) + i;
        if !seen.insert(number) {
            continue;
        }
        let mut port = json!({"port": number});
        if count > 1 || rng.percent(40) {
            port["name"] = json!(format!("p{i}"));
        }
        if !declared.is_empty() && rng.percent(60) {
            let declared = declared[rng.below(declared.len())];
            let target = if declared["name"].is_null() { &declared["containerPort"] } else { &declared["name"] };
            port["targetPort"] = target.clone();
            if !declared["protocol"].is_null() && rng.percent(80) {
                port["protocol"] = declared["protocol"].clone();
            }
        } else if rng.percent(40) {
            port["targetPort"] = if rng.percent(30) { json!("http") } else { json!(8000 + rng.below(5)) };
        }
        if rng.percent(10) {
            port["appProtocol"] = json!("kubernetes.io/h2c");
        }
        ports.push(port);
    }
    ports
}

/// Endpoints of a Service without selector.
fn endpoints(rng: &mut Rng, namespace: &str, name: &str) -> Value {
    let address = |rng: &mut Rng| {
        let host = rng.between(1, 250);
        let ip = if rng.percent(20) { format!("fd00:20::{host:x}") } else { format!("10.20.0.{host}") };
        json!({ "ip": ip })
    };
    let subset = |i: usize, rng: &mut Rng| {
        let addresses: Vec<Value> = (0..rng.between(1, 3)).map(|_| address(rng)).collect();
        let list = if rng.percent(20) { "notReadyAddresses" } else { "addresses" };
        json!({list: addresses, "ports": [{"name": format!("p{i}"), "port": 8000 + i}]})
    };
    let subsets: Vec<Value> = (0..rng.between(1, 2)).map(|i| subset(i, rng)).collect();
    let metadata = json!({"name": name, "namespace": namespace, "annotations": {"of": "hand"}});
    json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets})
}
