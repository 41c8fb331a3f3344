//! Micro-benchmarks of the core: decoding, subsets, packing into slices, deciding, and finding the Services of a change.
//!
//! `cargo bench --package roster-benches [FILTER]`. Each runs with a few sizes of one Service, so that growth shows.
#![expect(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::{hint::black_box, sync::Arc};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use roster_admission::{self as admission, Mode, Rule, Settings, Stage, Unknown};
use roster_engine::{
    model::{Pod, Service},
    plan::plan,
    state::{Controller, Options},
};
use roster_manifests::{
    decode::{self, Source},
    inventory::{Answers, Inventory, Live, PlanningRows, Snapshot},
};
use serde_json::{Value, json};

/// Numbers of pods.
const SIZES: [usize; 3] = [100, 1_000, 5_000];

/// Bytes to objects: a List as `kubectl get -o json` prints it.
fn decoding(c: &mut Criterion) {
    let mut group = c.benchmark_group("decoding");
    for pods in SIZES {
        let bytes = list(pods).to_string().into_bytes();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(pods), &bytes, |b, bytes| b.iter(|| read(black_box(bytes))));
    }
    group.finish();
}

/// Pods to the subsets of an Endpoints object: the plan of the Endpoints controller.
fn subsets(c: &mut Criterion) {
    planning(c, "subsets", Controller::Endpoints);
}

/// Pods packed into slices: the plan of the EndpointSlice controller.
fn packing(c: &mut Criterion) {
    planning(c, "packing", Controller::EndpointSlices);
}

fn planning(c: &mut Criterion, name: &str, controller: Controller) {
    let mut group = c.benchmark_group(name);
    for pods in SIZES {
        let inventory = read(list(pods).to_string().as_bytes());
        let index = inventory.index();
        let state = index.state(&index.entries()[0]);
        group.throughput(Throughput::Elements(pods as u64));
        group.bench_with_input(BenchmarkId::from_parameter(pods), &state, |b, state| {
            b.iter(|| plan(black_box(state), &[controller], &Options::default()));
        });
    }
    group.finish();
}

/// A review of a slice to its answer: the bytes of the request to those of the response, with every rule enforced.
fn deciding(c: &mut Criterion) {
    let mut settings = Settings::default();
    for rule in Rule::ALL {
        settings.set(*rule, Mode::Enforce);
    }
    let mut group = c.benchmark_group("deciding");
    for endpoints in [1, 10, 100] {
        let inventory = read(list(endpoints).to_string().as_bytes());
        let cluster = Snapshot::of(&inventory);
        let body = review(endpoints).to_string().into_bytes();
        group.bench_with_input(BenchmarkId::from_parameter(endpoints), &body, |b, body| {
            b.iter(|| {
                let (version, request) = admission::read_review(black_box(body)).unwrap();
                let decision = admission::decide(&request, Stage::Validate, &settings, &Answers(&cluster)).unwrap();
                assert!(decision.allowed(), "{:?}", decision.denied);
                admission::answer_review(version, &request.uid, &decision)
            });
        });
    }
    group.finish();
}

/// A status of a pod that is entered among 150 000 pods, and the Services of 10 000 that select the pod; in so many namespaces.
fn finding(c: &mut Criterion) {
    const SERVICES: usize = 10_000;
    const PODS: usize = 150_000;
    let mut group = c.benchmark_group("finding");
    for namespaces in [1, 200] {
        let place = |i: usize| (format!("team-{}", i % SERVICES % namespaces), format!("s-{}", i % SERVICES));
        let pod = |i: usize, ready: &str| -> Arc<Pod> {
            let ((namespace, app), mut pod) = (place(i), pod(i));
            pod["metadata"]["namespace"] = namespace.into();
            pod["metadata"]["labels"]["app"] = app.into();
            pod["status"]["conditions"][0]["status"] = ready.into();
            Arc::new(serde_json::from_value(pod).unwrap())
        };
        let service = |i: usize| -> Arc<Service> {
            let (namespace, name) = place(i);
            let meta = json!({ "namespace": namespace, "name": name });
            Arc::new(
                serde_json::from_value(json!({ "metadata": meta, "spec": { "selector": { "app": name } } })).unwrap(),
            )
        };
        let mut live: Live<PlanningRows> = Live::empty(Unknown("a benchmark"));
        live.services.replace_all((0..SERVICES).map(service).collect(), |_| {});
        live.pods.replace_all((0..PODS).map(|i| pod(i, "True")).collect(), |_| {});
        let changed = (0..PODS).step_by(151).flat_map(|i| [pod(i, "False"), pod(i, "True")]);
        let mut changes = changed.collect::<Vec<_>>().into_iter().cycle();
        group.bench_function(BenchmarkId::from_parameter(namespaces), |b| {
            b.iter(|| {
                let pod = changes.next().unwrap();
                let change = live.pods.insert(pod.clone());
                assert!(change.is_some());
                let services = live.services.last_known().lookup().selecting(pod.namespace(), &pod.labels);
                assert_eq!(services.count(), 1);
            });
        });
    }
    group.finish();
}

fn read(bytes: &[u8]) -> Inventory {
    let mut inventory = Inventory::default();
    decode::read(bytes, &Source::body(), &mut inventory).unwrap();
    inventory
}

/// A Service and its pods; one pod in thirty is not ready.
fn list(pods: usize) -> Value {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "namespace": "shop", "name": "web" },
        "spec": {
            "type": "ClusterIP", "clusterIP": "10.96.0.5", "clusterIPs": ["10.96.0.5"], "ipFamilies": ["IPv4"],
            "selector": { "app": "web" },
            "ports": [
                { "name": "http", "port": 80, "protocol": "TCP", "targetPort": "http" },
                { "name": "metrics", "port": 9090, "protocol": "TCP", "targetPort": 9090 },
            ],
        },
    });
    let items: Vec<Value> = std::iter::once(service).chain((0..pods).map(pod)).collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

fn pod(i: usize) -> Value {
    let ip = address(i);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": "shop", "name": pod_name(i), "uid": format!("5380d4e9-c0b0-4b31-ab1a-{i:012}"),
            "labels": { "app": "web", "pod-template-hash": "6d4cf56db6" },
        },
        "spec": {
            "nodeName": format!("node-{}", i % 60),
            "containers": [{ "name": "web", "image": "web:1", "ports": [
                { "name": "http", "containerPort": 8080, "protocol": "TCP" },
            ] }],
        },
        "status": {
            "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
            "conditions": [{ "type": "Ready", "status": if i % 30 == 7 { "False" } else { "True" } }],
        },
    })
}

/// A review of a slice that a person writes for pods of the Service.
fn review(endpoints: usize) -> Value {
    let endpoint = |i: usize| {
        json!({
            "addresses": [address(i)], "conditions": { "ready": true },
            "targetRef": { "kind": "Pod", "namespace": "shop", "name": pod_name(i) },
        })
    };
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "7d7cd6f0-4e4d-4b3a-a8a8-5fa1a3ea1b6c",
            "kind": { "group": "discovery.k8s.io", "version": "v1", "kind": "EndpointSlice" },
            "namespace": "shop", "name": "web-by-hand", "operation": "CREATE", "userInfo": { "username": "jane" },
            "object": {
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {
                    "namespace": "shop", "name": "web-by-hand", "labels": { "kubernetes.io/service-name": "web" },
                },
                "addressType": "IPv4",
                "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }],
                "endpoints": (0..endpoints).map(endpoint).collect::<Vec<_>>(),
            },
        },
    })
}

fn address(i: usize) -> String {
    format!("10.244.{}.{}", i / 250, i % 250 + 1)
}

fn pod_name(i: usize) -> String {
    format!("web-6d4cf56db6-{i:05}")
}

criterion_group!(benches, decoding, subsets, packing, deciding, finding);
criterion_main!(benches);
