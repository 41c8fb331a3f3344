//! What a plan would write, a real API server takes: random states, as the live comparison has them.
//!
//! A state counts if the API server takes what it begins with: its Service and the objects that are stored. Pods have
//! no status when they are created, so that their addresses are looked at here.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    thread,
};

use roster_engine::profile::Minor;
use serde_json::Value;

use super::{
    api::{ApiServer, Told},
    assets, kubectl,
    parity::{engine::Engine, generator::Story},
    start_without_controllers,
};

/// States that count.
const STATES: usize = 2000;
const SEED: u64 = 20_261_121;
/// States that are tried at the same time, each in a namespace of its own.
const AT_ONCE: usize = 8;
/// What the controllers write though API servers refuse it; PARITY.md lists each.
const UPSTREAM: &[&str] = &["].nodeName: Invalid value: \"\": a lowercase RFC 1123 subdomain"];

/// What came of some states.
#[derive(Default)]
struct Seen {
    states: usize,
    creates: usize,
    updates: usize,
    /// States with something that no API server would hold, by the reason it gives.
    not_valid: BTreeMap<String, usize>,
    /// What was refused as it would be from a controller.
    upstream: usize,
    /// What was refused: state, object, reason.
    refused: Vec<String>,
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn an_api_server_takes_what_a_plan_writes() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let plane = start_without_controllers(&assets, dir.path());
    let seen: Vec<Seen> = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE)
            .map(|worker| {
                let plane = &plane;
                scope.spawn(move || {
                    assert!(kubectl(plane, &format!("create namespace n{worker}"), "").0);
                    Worker { api: ApiServer::of(plane), namespace: format!("n{worker}"), seen: Seen::default() }
                        .run(worker)
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let mut all = Seen::default();
    for part in seen {
        all.states += part.states;
        all.creates += part.creates;
        all.updates += part.updates;
        all.upstream += part.upstream;
        all.refused.extend(part.refused);
        for (why, n) in part.not_valid {
            *all.not_valid.entry(why).or_default() += n;
        }
    }
    let Seen { states, creates, updates, upstream, .. } = all;
    println!("{states} states: {creates} creates, {updates} updates, {upstream} of them refused as from a controller");
    println!("further states, not valid: {:#?}", all.not_valid);
    assert!(all.states >= STATES && all.updates > STATES / 20, "too few");
    assert!(
        all.refused.is_empty(),
        "{} refused, such as\n{}",
        all.refused.len(),
        all.refused[..all.refused.len().min(5)].join("\n")
    );
}

struct Worker {
    api: ApiServer,
    namespace: String,
    seen: Seen,
}

impl Worker {
    fn run(mut self, worker: usize) -> Seen {
        let mut index = worker as u64;
        while self.seen.states < STATES.div_ceil(AT_ONCE) {
            if let Err(why) = self.state(index) {
                *self.seen.not_valid.entry(why).or_default() += 1;
            }
            index += AT_ONCE as u64;
        }
        self.seen
    }

    /// Tries a state; an error says why it does not count.
    fn state(&mut self, index: u64) -> Result<(), String> {
        let mut story = Story::start(SEED, index);
        let release = Minor::NEWEST.to_string();
        while story.rounds > 0 {
            let mut written = engine(&story.case).answer(&release)?;
            name_all(&mut written);
            story.advance(&written);
        }
        let case = &story.case;
        pods_are_valid(case)?;
        if case["service"].is_object() {
            self.valid(&case["service"], "Service")?;
        }
        for slice in case["endpointSlices"].as_array().into_iter().flatten() {
            self.valid(slice, "EndpointSlice")?;
        }
        if case["endpoints"].is_object() {
            self.valid(&case["endpoints"], "Endpoints")?;
        }
        let answer = engine(case).answer(&release)?;
        self.seen.states += 1;
        for action in answer["actions"].as_array().unwrap() {
            let told = match action["verb"].as_str().unwrap() {
                "create" => self.create(&action["object"]),
                "update" => self.update(case, action),
                _ => continue,
            };
            if told.body["message"].as_str().is_some_and(|m| UPSTREAM.iter().any(|part| m.contains(part))) {
                self.seen.upstream += 1;
            } else if !(200..300).contains(&told.status) {
                let text = format!("state {SEED}-{index}: {}: {}", told.body["message"], action["object"]);
                self.seen.refused.push(text);
            }
        }
        Ok(())
    }

    /// Whether an API server would hold it.
    fn valid(&self, object: &Value, kind: &str) -> Result<(), String> {
        let told = self.api.create(&self.here(object, kind), "", true);
        if told.status == 201 { Ok(()) } else { Err(reason(kind, &told)) }
    }

    fn create(&mut self, object: &Value) -> Told {
        self.seen.creates += 1;
        self.api.create(&self.here(object, ""), "", true)
    }

    /// In the place of what is stored, which is put there first.
    fn update(&mut self, case: &Value, action: &Value) -> Told {
        self.seen.updates += 1;
        let kind = action["object"]["kind"].as_str().unwrap();
        let slices = case["endpointSlices"].as_array().into_iter().flatten();
        let stored = slices.chain([&case["endpoints"]]).find(|o| o["metadata"]["name"] == action["name"]).unwrap();
        let put = self.api.create(&self.here(stored, kind), "", false);
        assert_eq!(put.status, 201, "{put:?}");
        let mut object = self.here(&action["object"], kind);
        for field in ["resourceVersion", "uid", "creationTimestamp"] {
            object["metadata"][field] = put.body["metadata"][field].clone();
        }
        let told = self.api.replace(&object, true);
        self.api.delete(&put.body);
        told
    }

    /// The object as it would be posted: in this namespace, without what an API server gives it.
    fn here(&self, object: &Value, kind: &str) -> Value {
        let mut object = object.clone();
        if !kind.is_empty() {
            let version = if kind == "EndpointSlice" { "discovery.k8s.io/v1" } else { "v1" };
            object["apiVersion"] = version.into();
            object["kind"] = kind.into();
        }
        object["metadata"]["namespace"] = self.namespace.clone().into();
        // With a finalizer, it would not go away when it is deleted.
        for field in ["resourceVersion", "uid", "creationTimestamp", "deletionTimestamp", "finalizers"] {
            object["metadata"].as_object_mut().unwrap().remove(field);
        }
        // Which range an API server gives addresses from says nothing about a Service.
        if kind == "Service" && object["spec"]["clusterIP"] != "None" {
            let spec = object["spec"].as_object_mut().unwrap();
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        object
    }
}

fn engine(case: &Value) -> Engine {
    Engine::new(case, &case.to_string()).unwrap()
}

/// Gives names to what has none yet, as an API server does.
fn name_all(written: &mut Value) {
    for (i, action) in written["actions"].as_array_mut().into_iter().flatten().enumerate() {
        if let Some(beginning) = action["object"]["metadata"]["generateName"].as_str() {
            let name = format!("{beginning}r{i:04}");
            action["object"]["metadata"]["name"] = name.clone().into();
            action["name"] = name.into();
        }
    }
}

/// Pods whose status an API server would take: addresses that are some, at most one of each family.
fn pods_are_valid(case: &Value) -> Result<(), String> {
    for pod in case["pods"].as_array().into_iter().flatten() {
        let ips = pod["status"]["podIPs"].as_array().into_iter().flatten().map(|ip| &ip["ip"]);
        for ip in ips.chain([&pod["status"]["podIP"]]).filter_map(Value::as_str) {
            if ip.parse::<IpAddr>().is_err() && !ip.is_empty() {
                return Err("Pod: an address that is none".to_owned());
            }
        }
    }
    Ok(())
}

/// The reason without what differs from object to object.
fn reason(kind: &str, told: &Told) -> String {
    let causes = told.body["details"]["causes"].as_array().into_iter().flatten();
    let fields = causes.filter_map(|c| Some(c["field"].as_str()?.replace(|c: char| c.is_ascii_digit(), "")));
    let fields: BTreeSet<String> = fields.collect();
    if fields.is_empty() { format!("{kind}: {}", told.body["message"]) } else { format!("{kind}: {fields:?}") }
}
