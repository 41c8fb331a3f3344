//! `roster edge` to clients that accept nothing but protobuf: Go reads the same objects as from JSON, and as without the proxy.

use std::process::Command;

use serde_json::{Value, json};

use super::{Edge, NODE, slice};
use crate::{api::ApiServer, assets, control_plane::ControlPlane, parity::rng::Rng, start_without_controllers};

/// How many random objects there are.
const OBJECTS: usize = 300;

/// Runs the Go program that compares, and returns how many objects are the same. It fails unless all are.
fn compare(edge: &Edge, plane: &ControlPlane) -> usize {
    let output = Command::new(assets().join("protobuf"))
        .arg("compare")
        .args([edge.kubeconfig(plane), plane.kubeconfig()])
        .arg(NODE)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn random_object(random: &mut Rng, number: usize) -> Value {
    let name = format!("o{number}");
    let mut meta = json!({ "name": name, "namespace": "default", "generateName": "o" });
    if random.percent(50) {
        meta["labels"] = json!({ "b": "2", "a": "", "example.com/c": "x" });
        meta["annotations"] = json!({ "z": "ä\u{2028}\"\\\n\t<&>😀", "y": "x".repeat(random.below(300)) });
    }
    if random.percent(30) {
        let uid = "8c2b6f6e-3d7c-4a41-9a76-1b6a8b1f2c11";
        let owner =
            json!({ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": random.percent(50) });
        (meta["ownerReferences"], meta["finalizers"]) = (json!([owner]), json!(["example.com/wait"]));
    }
    match number % 4 {
        0 => random_service(random, &meta),
        1 => random_slice(random, &meta),
        2 => random_endpoints(random, &meta),
        _ => {
            let mut meta = meta;
            meta.as_object_mut().unwrap().remove("namespace");
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": meta })
        }
    }
}

fn random_service(random: &mut Rng, meta: &Value) -> Value {
    let mut ports: Vec<Value> = Vec::new();
    for number in 0..random.between(1, 3) {
        let target = if random.percent(50) { json!(random.between(1, 65_535)) } else { json!("http") };
        let protocol = random.pick(&["TCP", "UDP", "SCTP"]);
        let mut port =
            json!({ "name": format!("p{number}"), "port": 80 + number, "protocol": protocol, "targetPort": target });
        if random.percent(30) {
            port["appProtocol"] = "kubernetes.io/h2c".into();
        }
        ports.push(port);
    }
    let mut spec = json!({ "ports": ports });
    if random.percent(50) {
        spec["selector"] = json!({ "z": "1", "app": "web" });
    }
    match random.below(6) {
        0 => {
            (spec["sessionAffinity"], spec["sessionAffinityConfig"]) =
                ("ClientIP".into(), json!({ "clientIP": { "timeoutSeconds": random.between(1, 86_400) } }));
        }
        1 => (spec["type"], spec["externalTrafficPolicy"]) = ("NodePort".into(), "Local".into()),
        2 => {
            spec["type"] = "LoadBalancer".into();
            spec["loadBalancerSourceRanges"] = json!(["10.0.0.0/8"]);
            spec["allocateLoadBalancerNodePorts"] = random.percent(50).into();
        }
        3 => (spec["clusterIP"], spec["publishNotReadyAddresses"]) = ("None".into(), true.into()),
        4 => (spec["trafficDistribution"], spec["internalTrafficPolicy"]) = ("PreferSameZone".into(), "Local".into()),
        _ => (spec["type"], spec["externalName"]) = ("ExternalName".into(), "example.com".into()),
    }
    if random.percent(20) {
        spec["externalIPs"] = json!(["192.0.2.7", "192.0.2.8"]);
    }
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec })
}

fn random_slice(random: &mut Rng, meta: &Value) -> Value {
    let mut object = slice("none", &[]);
    object["metadata"] = meta.clone();
    object["endpoints"] = (0..random.below(5))
        .map(|number| {
            let mut endpoint =
                json!({ "addresses": [format!("10.{}.{number}.1", random.below(200))], "conditions": {} });
            if random.percent(70) {
                endpoint["conditions"] = json!({ "ready": random.percent(50), "serving": random.percent(50) });
                endpoint["nodeName"] = "node-1".into();
                endpoint["zone"] = "a".into();
            }
            if random.percent(30) {
                endpoint["hints"] =
                    json!({ "forZones": [{ "name": "a" }, { "name": "b" }], "forNodes": [{ "name": "n" }] });
                endpoint["targetRef"] = json!({ "kind": "Pod", "namespace": "default", "name": "p" });
                endpoint["hostname"] = "p".into();
                endpoint["deprecatedTopology"] = json!({ "rack": "7", "a": "1" });
            }
            endpoint
        })
        .collect();
    if random.percent(30) {
        object["ports"] = json!([{ "name": "a" }, { "name": "b", "port": random.below(65_536), "appProtocol": "x" }]);
    }
    object
}

fn random_endpoints(random: &mut Rng, meta: &Value) -> Value {
    let addresses = |random: &mut Rng| -> Value {
        let address = |n| json!({ "ip": format!("10.1.{}.{n}", n + 1), "hostname": "h", "nodeName": "node-1" });
        (0..random.between(1, 3)).map(address).collect()
    };
    let subsets: Value = (0..random.below(3))
        .map(|n| {
            let ready = json!({ "addresses": addresses(random), "ports": [{ "name": "a", "port": 80 + n }] });
            let unready =
                json!({ "notReadyAddresses": addresses(random), "ports": [{ "port": 90, "protocol": "UDP" }] });
            if random.percent(50) { ready } else { unready }
        })
        .collect();
    json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": subsets })
}

fn node() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": NODE, "labels": { "kubernetes.io/hostname": NODE } },
        "spec": { "podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24"], "unschedulable": true,
            "taints": [{ "key": "a", "effect": "NoExecute", "timeAdded": "1969-12-31T23:00:00Z" }] },
    })
}

fn node_status() -> Value {
    json!({ "status": {
        "capacity": { "cpu": "1500m", "memory": "8Gi", "ephemeral-storage": "1e3", "example.com/gpu": "0" },
        "allocatable": { "memory": "7.5Gi", "cpu": "1" },
        "addresses": [{ "type": "InternalIP", "address": "192.0.2.1" }],
        "conditions": [{ "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-02T03:04:05Z", "reason": "r" }],
        "daemonEndpoints": { "kubeletEndpoint": { "Port": 10250 } },
        "nodeInfo": { "kubeletVersion": "v1.37.0", "machineID": "m" },
        "images": [{ "names": ["a", "b"], "sizeBytes": 5_000_000_000_i64 }],
        "runtimeHandlers": [{ "name": "", "features": { "recursiveReadOnlyMounts": true } }],
    } })
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn go_reads_the_same_from_protobuf() {
    let dir = tempfile::tempdir().unwrap();
    let plane = start_without_controllers(&assets(), dir.path());
    let direct = ApiServer::of(&plane);
    assert_eq!(direct.create(&node(), "", false).status, 201);
    let told = direct.patch_status(&node(), &node_status());
    assert_eq!(told.status, 200, "{told:?}");
    let mut random = Rng::new(14, 0);
    for number in 0..OBJECTS {
        let object = random_object(&mut random, number);
        let told = direct.create(&object, "", false);
        assert_eq!(told.status, 201, "{object}\n{told:?}");
    }
    // All these objects and those of the API server were listed when the proxy is ready.
    let edge = Edge::start(&plane, dir.path());
    let count = compare(&edge, &plane);
    assert!(count >= OBJECTS, "{count} objects");
}
