//! Random changes of a cluster, each with a number that rises.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use serde_json::{Value, json};
use tokio::{runtime::Runtime, task::JoinHandle, time::sleep};

use super::super::NODE;
use crate::parity::rng::Rng;

/// The annotation with the number of the last change.
const STEP: &str = "soak.example.com/step";
const SERVICES: usize = 40;
const SLICES: usize = 3;
const NODES: usize = 12;
/// Those who write at the same time, each its own Services.
const WRITERS: usize = 4;
const SLICE_PATH: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const SERVICE_PATH: &str = "/api/v1/namespaces/default/services";
const NODE_PATH: &str = "/api/v1/nodes";

/// The number of the last change of an object.
pub(super) fn step_of(meta: &ObjectMeta) -> u64 {
    meta.annotations.as_ref().and_then(|all| all.get(STEP)).and_then(|step| step.parse().ok()).unwrap_or_default()
}

/// Writers that change objects until they are stopped.
pub(super) struct Changes {
    made: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    writers: Vec<JoinHandle<()>>,
}

/// What a writer has.
struct Writer {
    client: Client,
    number: usize,
    random: Rng,
    steps: Arc<AtomicU64>,
}

/// A request that is sent until the API server answers.
struct Change {
    method: &'static str,
    path: String,
    body: Value,
}

impl Changes {
    /// Creates everything, and begins to make `per_second` changes.
    pub(super) fn begin(runtime: &Runtime, client: &Client, seed: u64, per_second: usize) -> Self {
        let (made, is_over, steps) = (Arc::default(), Arc::<AtomicBool>::default(), Arc::new(AtomicU64::new(1)));
        let pause = Duration::from_secs(WRITERS as u64) / u32::try_from(per_second).unwrap();
        let writers = (0..WRITERS).map(|number| {
            let random = Rng::new(seed, number as u64);
            let mut writer = Writer { client: client.clone(), number, random, steps: steps.clone() };
            runtime.block_on(writer.create_all());
            let (made, is_over): (Arc<AtomicU64>, _) = (Arc::clone(&made), is_over.clone());
            runtime.spawn(async move {
                let mut ticks = tokio::time::interval(pause);
                ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
                while !is_over.load(Ordering::Relaxed) {
                    ticks.tick().await;
                    let change = writer.next();
                    writer.send(&change).await;
                    made.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let writers = writers.collect();
        Self { made, is_over, writers }
    }

    /// Ends after the last change; how many were made.
    pub(super) fn end(self, runtime: &Runtime) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        for writer in self.writers {
            runtime.block_on(writer).unwrap();
        }
        self.made.load(Ordering::Relaxed)
    }
}

impl Writer {
    async fn create_all(&mut self) {
        if self.number == 0 {
            for number in 0..NODES {
                let body = self.node(number);
                self.send(&Change { method: "POST", path: NODE_PATH.to_owned(), body }).await;
            }
        }
        for service in (self.number..SERVICES).step_by(WRITERS) {
            let body = self.service(service);
            self.send(&Change { method: "POST", path: SERVICE_PATH.to_owned(), body }).await;
            for slice in 0..SLICES {
                let body = self.slice(service, slice);
                self.send(&Change { method: "POST", path: SLICE_PATH.to_owned(), body }).await;
            }
        }
    }

    fn next(&mut self) -> Change {
        let service = self.number + WRITERS * self.random.below(SERVICES / WRITERS);
        let slice = self.random.below(SLICES);
        let slice_path = format!("{SLICE_PATH}/s{service}-{slice}");
        match self.random.below(20) {
            0..12 => Change { method: "PATCH", path: slice_path, body: self.slice(service, slice) },
            12..14 => Change { method: "DELETE", path: slice_path, body: Value::Null },
            14..16 => Change { method: "POST", path: SLICE_PATH.to_owned(), body: self.slice(service, slice) },
            16..18 if self.number == 0 => {
                let number = self.random.below(NODES);
                Change { method: "PATCH", path: format!("{NODE_PATH}/{}", node_name(number)), body: self.node(number) }
            }
            18 => Change { method: "DELETE", path: format!("{SERVICE_PATH}/s{service}"), body: Value::Null },
            // A Service that was deleted comes back; another one is changed.
            _ if self.random.percent(50) => {
                Change { method: "POST", path: SERVICE_PATH.to_owned(), body: self.service(service) }
            }
            _ => {
                let body = self.service(service);
                let body = json!({ "metadata": { "annotations": body["metadata"]["annotations"] } });
                Change { method: "PATCH", path: format!("{SERVICE_PATH}/s{service}"), body }
            }
        }
    }

    /// Sends a change until there is an answer. What exists already, or is not there, is an answer too.
    async fn send(&self, change: &Change) {
        let Change { method, path, body } = change;
        loop {
            let body = if body.is_null() { String::new() } else { body.to_string() };
            let content = if *method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
            let request = http::Request::builder().method(*method).uri(path).header("content-type", content);
            match self.client.request_text(request.body(body.into_bytes()).unwrap()).await {
                Ok(_) => return,
                Err(kube::Error::Api(error)) if [404, 409].contains(&error.code) => return,
                Err(kube::Error::Api(error)) if error.code < 500 && error.code != 429 => {
                    panic!("{method} {path}: {error}")
                }
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    fn meta(&self, name: &str) -> Value {
        let step = self.steps.fetch_add(1, Ordering::Relaxed).to_string();
        json!({ "name": name, "annotations": { STEP: step } })
    }

    fn node(&mut self, number: usize) -> Value {
        let name = node_name(number);
        let mut meta = self.meta(&name);
        meta["labels"] = json!({
            "kubernetes.io/hostname": name, "region": format!("r{}", self.random.below(4)),
            "zone": format!("z{}", self.random.below(3)),
        });
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": meta })
    }

    fn service(&mut self, number: usize) -> Value {
        let mut meta = self.meta(&format!("s{number}"));
        let keys = ["[\"region\"]", "[\"kubernetes.io/hostname\"]", "[\"region\",\"zone\"]", "[\"none\"]", "region"];
        meta["annotations"]["topologyKeys"] = self.random.pick(&keys).into();
        if self.random.percent(20) {
            meta["annotations"]["topologyKeys"] = Value::Null;
        }
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": { "ports": [{ "port": 80 }] } })
    }

    fn slice(&mut self, service: usize, number: usize) -> Value {
        let endpoints: Vec<Value> = (0..self.random.below(6))
            .map(|_| {
                let address = format!("10.244.{}.{}", self.random.below(250), self.random.below(250) + 1);
                let mut endpoint =
                    json!({ "addresses": [address], "conditions": { "ready": self.random.percent(80) } });
                if self.random.percent(90) {
                    endpoint["nodeName"] = node_name(self.random.below(NODES)).into();
                }
                endpoint
            })
            .collect();
        let mut meta = self.meta(&format!("s{service}-{number}"));
        meta["labels"] = json!({ "kubernetes.io/service-name": format!("s{service}") });
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": meta, "addressType": "IPv4",
            "endpoints": endpoints, "ports": [{ "name": "", "port": 80, "protocol": "TCP" }],
        })
    }
}

fn node_name(number: usize) -> String {
    if number == 0 { NODE.to_owned() } else { format!("node-{number}") }
}
