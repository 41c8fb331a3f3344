//! Writes a whole cluster at rest, for which the controllers have nothing to do: the List that
//! `kubectl get services,pods,endpoints,endpointslices,nodes -A -o json --show-managed-fields` prints, without
//! indentation. A third argument, `pretty`, adds the indentation, which nearly doubles the size.
//!
//! `cluster_file SERVICES FILE [pretty]`; every Service has fifteen pods. `cargo xtask bench` runs it.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program for benches: it may fail loudly")]

use std::fs::File;
use std::io::{BufWriter, Write};

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

const PODS: usize = 15;
const NODES: usize = 500;

fn main() {
    let mut words = std::env::args().skip(1);
    let services: usize = words.next().and_then(|w| w.parse().ok()).expect("cluster_file SERVICES FILE");
    let path = words.next().expect("cluster_file SERVICES FILE");
    let pretty = words.next().is_some_and(|w| w == "pretty");
    let mut out = List { out: BufWriter::with_capacity(1 << 20, File::create(&path).unwrap()), first: true, pretty };
    out.out.write_all(b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [").unwrap();
    (0..services).for_each(|s| out.item(&service(s)));
    (0..services * PODS).for_each(|p| out.item(&pod(p)));
    (0..services).for_each(|s| out.item(&endpoints(s)));
    (0..services).for_each(|s| out.item(&slice(s)));
    (0..NODES).for_each(|n| out.item(&node(n)));
    let end = "\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n";
    out.out.write_all(end.as_bytes()).unwrap();
    out.out.flush().unwrap();
    println!("{} MB", std::fs::metadata(&path).unwrap().len() / 1_000_000);
}

/// Writes a List to a file, item by item.
struct List {
    out: BufWriter<File>,
    first: bool,
    pretty: bool,
}

impl List {
    fn item(&mut self, object: &Value) {
        self.out.write_all(if self.first { b"\n" } else { b",\n" }).unwrap();
        self.first = false;
        if !self.pretty {
            serde_json::to_writer(&mut self.out, object).unwrap();
            return;
        }
        let mut text = Vec::with_capacity(8 << 10);
        object.serialize(&mut Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b"    "))).unwrap();
        let indented = String::from_utf8(text).unwrap().replace('\n', "\n        ");
        self.out.write_all(b"        ").unwrap();
        self.out.write_all(indented.as_bytes()).unwrap();
    }
}

fn namespace(s: usize) -> String {
    format!("team-{:03}", s % 200)
}

fn name(s: usize) -> String {
    format!("service-{s:05}")
}

fn uid(kind: u32, i: usize) -> String {
    format!("{kind:08x}-1c2d-4e3f-8a9b-{i:012x}")
}

/// The name, namespace and fields that every object has.
fn meta(kind: u32, i: usize, name: &str, service: usize) -> Value {
    json!({
        "creationTimestamp": "2026-05-15T15:55:35Z",
        "managedFields": [{
            "apiVersion": "v1", "fieldsType": "FieldsV1", "manager": "kube-controller-manager", "operation": "Update",
            "time": "2026-05-15T15:55:35Z",
            "fieldsV1": { "f:metadata": { "f:labels": { ".": {}, "f:app": {}, "f:team": {} } }, "f:spec": { "f:ports": {} } },
        }],
        "name": name, "namespace": namespace(service), "resourceVersion": (100_000 + i).to_string(), "uid": uid(kind, i),
    })
}

fn service(s: usize) -> Value {
    let mut meta = meta(1, s, &name(s), s);
    meta["labels"] = json!({ "app": name(s), "team": namespace(s) });
    let ip = format!("10.{}.{}.{}", 96 + s / 62_500, s / 250 % 250, s % 250 + 1);
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": meta,
        "spec": {
            "clusterIP": ip, "clusterIPs": [ip], "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [
                { "name": "http", "port": 80, "protocol": "TCP", "targetPort": "http" },
                { "name": "metrics", "port": 9090, "protocol": "TCP", "targetPort": 9090 },
            ],
            "selector": { "app": name(s) }, "sessionAffinity": "None", "type": "ClusterIP",
        },
        "status": { "loadBalancer": {} },
    })
}

/// One pod in thirty is not ready.
fn ready(p: usize) -> bool {
    p % 30 != 7
}

fn pod_name(p: usize) -> String {
    format!("{}-6d4cf56db6-{:05x}", name(p / PODS), p)
}

fn pod_ip(p: usize) -> String {
    format!("10.{}.{}.{}", p / 62_500, p / 250 % 250, p % 250 + 1)
}

fn node_name(p: usize) -> String {
    format!("node-{:03}", p * 7 % NODES)
}

fn zone(node: usize) -> String {
    format!("zone-{}", ["a", "b", "c"][node % 3])
}

/// The fields that the kubelet writes: the longest part of a pod, which the decoder skips.
fn kubelet_fields() -> Value {
    let condition = json!({ ".": {}, "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {} });
    let key = |kind: &str| format!("k:{{\"type\":\"{kind}\"}}");
    json!({
        "apiVersion": "v1", "fieldsType": "FieldsV1", "manager": "kubelet", "operation": "Update", "subresource": "status",
        "time": "2026-05-15T15:55:40Z",
        "fieldsV1": { "f:status": {
            "f:conditions": { key("ContainersReady"): condition, key("Initialized"): condition, key("Ready"): condition },
            "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {}, "f:startTime": {},
            "f:podIPs": { ".": {}, "k:{\"ip\":\"10.0.0.1\"}": { ".": {}, "f:ip": {} } },
        } },
    })
}

fn pod(p: usize) -> Value {
    let s = p / PODS;
    let mut meta = meta(2, p, &pod_name(p), s);
    meta["managedFields"].as_array_mut().unwrap().push(kubelet_fields());
    meta["generateName"] = format!("{}-6d4cf56db6-", name(s)).into();
    meta["labels"] = json!({ "app": name(s), "pod-template-hash": "6d4cf56db6", "team": namespace(s) });
    meta["annotations"] = json!({ "prometheus.io/scrape": "true", "prometheus.io/port": "9090" });
    meta["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "blockOwnerDeletion": true, "controller": true, "kind": "ReplicaSet",
        "name": format!("{}-6d4cf56db6", name(s)), "uid": uid(9, s),
    }]);
    let status = if ready(p) { "True" } else { "False" };
    let condition = |kind: &str, status: &str| json!({ "lastProbeTime": null, "lastTransitionTime": "2026-05-15T15:55:40Z", "status": status, "type": kind });
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": meta,
        "spec": {
            "containers": [{
                "env": [
                    { "name": "POD_IP", "valueFrom": { "fieldRef": { "apiVersion": "v1", "fieldPath": "status.podIP" } } },
                    { "name": "DATABASE", "value": "postgres://db.internal.example.org:5432/orders" },
                    { "name": "JAVA_TOOL_OPTIONS", "value": "-XX:MaxRAMPercentage=75 -XX:+ExitOnOutOfMemoryError" },
                    { "name": "TOKEN", "valueFrom": { "secretKeyRef": { "key": "token", "name": "web-token" } } },
                ],
                "image": "registry.example.org/team/web:2026.5.1", "imagePullPolicy": "IfNotPresent", "name": "web",
                "livenessProbe": { "httpGet": { "path": "/live", "port": "http", "scheme": "HTTP" }, "periodSeconds": 20, "timeoutSeconds": 1 },
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "ports": [{ "containerPort": 8080, "name": "http", "protocol": "TCP" }, { "containerPort": 9090, "name": "metrics", "protocol": "TCP" }],
                "readinessProbe": { "httpGet": { "path": "/ready", "port": "http", "scheme": "HTTP" }, "periodSeconds": 10 },
                "resources": { "limits": { "memory": "512Mi" }, "requests": { "cpu": "250m", "memory": "256Mi" } },
                "volumeMounts": [{ "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access", "readOnly": true }],
            }],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "nodeName": node_name(p), "restartPolicy": "Always",
            "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "securityContext": { "fsGroup": 1000, "runAsUser": 1000 },
            "schedulerName": "default-scheduler", "serviceAccountName": "default", "terminationGracePeriodSeconds": 30,
            "tolerations": [
                { "effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300 },
                { "effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300 },
            ],
            "volumes": [{ "name": "kube-api-access", "projected": { "defaultMode": 420, "sources": [{ "serviceAccountToken": { "expirationSeconds": 3607, "path": "token" } }] } }],
        },
        "status": {
            "conditions": [condition("Initialized", "True"), condition("Ready", status), condition("ContainersReady", status), condition("PodScheduled", "True")],
            "containerStatuses": [{
                "containerID": format!("containerd://{:064x}", p), "image": "registry.example.org/team/web:2026.5.1", "lastState": {}, "imageID": format!("registry.example.org/team/web@sha256:{:064x}", 7),
                "name": "web", "ready": ready(p), "restartCount": 0, "started": true,
                "state": { "running": { "startedAt": "2026-05-15T15:55:38Z" } },
            }],
            "hostIP": "192.168.0.1", "hostIPs": [{ "ip": "192.168.0.1" }], "observedGeneration": 1, "phase": "Running", "podIP": pod_ip(p), "podIPs": [{ "ip": pod_ip(p) }], "qosClass": "Burstable",
            "startTime": "2026-05-15T15:55:35Z",
        },
    })
}

fn target(p: usize) -> Value {
    json!({ "kind": "Pod", "name": pod_name(p), "namespace": namespace(p / PODS), "uid": uid(2, p) })
}

fn endpoints(s: usize) -> Value {
    let mut meta = meta(3, s, &name(s), s);
    meta["labels"] =
        json!({ "app": name(s), "endpoints.kubernetes.io/managed-by": "endpoint-controller", "team": namespace(s) });
    let addresses = |wanted: bool| -> Vec<Value> {
        let pods = (s * PODS..(s + 1) * PODS).filter(|p| ready(*p) == wanted);
        pods.map(|p| json!({ "ip": pod_ip(p), "nodeName": node_name(p), "targetRef": target(p) })).collect()
    };
    let mut subset = json!({
        "addresses": addresses(true),
        "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }, { "name": "metrics", "port": 9090, "protocol": "TCP" }],
    });
    let not_ready = addresses(false);
    if !not_ready.is_empty() {
        subset["notReadyAddresses"] = not_ready.into();
    }
    json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [subset] })
}

fn slice(s: usize) -> Value {
    let mut meta = meta(4, s, &format!("{}-x7k2p", name(s)), s);
    meta["generateName"] = format!("{}-", name(s)).into();
    meta["generation"] = 3.into();
    meta["labels"] = json!({
        "app": name(s), "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": name(s), "team": namespace(s),
    });
    meta["ownerReferences"] = json!([{
        "apiVersion": "v1", "blockOwnerDeletion": true, "controller": true, "kind": "Service", "name": name(s), "uid": uid(1, s),
    }]);
    let endpoints: Vec<Value> = (s * PODS..(s + 1) * PODS)
        .map(|p| {
            json!({
                "addresses": [pod_ip(p)], "conditions": { "ready": ready(p), "serving": ready(p), "terminating": false },
                "nodeName": node_name(p), "targetRef": target(p), "zone": zone(p * 7 % NODES),
            })
        })
        .collect();
    json!({
        "addressType": "IPv4", "apiVersion": "discovery.k8s.io/v1", "endpoints": endpoints, "kind": "EndpointSlice", "metadata": meta,
        "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }, { "name": "metrics", "port": 9090, "protocol": "TCP" }],
    })
}

fn node(n: usize) -> Value {
    let name = format!("node-{n:03}");
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "labels": { "kubernetes.io/hostname": name, "topology.kubernetes.io/region": "region-1", "topology.kubernetes.io/zone": zone(n) },
            "name": name, "resourceVersion": n.to_string(), "uid": uid(5, n),
        },
        "spec": { "podCIDR": format!("10.{}.{}.0/24", n / 250, n % 250) },
        "status": {
            "allocatable": { "cpu": "15890m", "memory": "60Gi", "pods": "400" },
            "capacity": { "cpu": "16", "memory": "64Gi", "pods": "400" },
            "conditions": [{ "reason": "KubeletReady", "status": "True", "type": "Ready" }],
        },
    })
}
