//! Services that are deleted and created again, as fast as the API server can. Each time, the controller must come to the one
//! slice and the Endpoints of the newest Service.
//!
//! kube-controller-manager does not always: it waits for slices that are gone (kubernetes/kubernetes#141592).
//! `NEVER_STUCK_LOOPS=1000` runs more loops than CI does, and runs them with kube-controller-manager as well.

use std::{collections::BTreeSet, rc::Rc, thread::scope, time::Instant};

use serde_json::{Value, json};

use super::{
    super::{
        api::{ApiServer, path},
        assets, start_without_controllers,
    },
    Duration, RosterController, SEED,
    changes::{self, Changes, NAMESPACE},
    sleep, until_at_work,
};
use crate::parity::rng::Rng;

const LOOPS: usize = 100;
const SERVICES: usize = 8;
const PODS: usize = 3;
/// The most loops of one Service without a wait.
const AT_ONCE: usize = 4;
/// The longest wait before a Service is deleted, in milliseconds.
const PAUSE: usize = 12;
/// After so long, a Service counts as stuck. kube-controller-manager tries again after 1, 2, 4, 8 and 16 s.
const STUCK: Duration = Duration::from_secs(35);
const LOOP: &str = "loop";

/// What becomes of the slices of a Service that was deleted.
#[derive(Clone, Copy)]
enum Garbage {
    /// They are left to the controller: the garbage collector is slow.
    Left,
    /// They are deleted before there is another Service of the name, or when it is there already.
    Early,
    Late,
}

/// A Service with pods, which carries the number of its loop.
struct Looped {
    name: String,
    rng: Rng,
    count: usize,
}

impl Looped {
    fn begin(api: &ApiServer, n: usize) -> Self {
        let name = format!("web-{n}");
        for pod in 0..PODS {
            let ip = format!("10.0.{n}.{}", pod + 1);
            let pod = changes::pod(&format!("{name}-{pod}"), &name);
            let status = json!({ "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }], "conditions": [changes::ready(true)] });
            assert_eq!(api.create(&pod, "", false).status, 201);
            assert_eq!(api.patch_status(&pod, &json!({ "status": status })).status, 200);
        }
        let looped = Self { name, rng: Rng::new(SEED, n as u64), count: 0 };
        looped.create(api);
        looped
    }

    fn create(&self, api: &ApiServer) {
        let mut service = changes::probe(&self.name);
        service["metadata"]["labels"] = json!({ LOOP: self.count.to_string() });
        assert_eq!(api.create(&service, "", false).status, 201);
    }

    /// Deletes it and creates it again, some times.
    fn run(&mut self, api: &ApiServer) {
        for _ in 0..self.rng.between(1, AT_ONCE) {
            let garbage = self.rng.pick(&[Garbage::Left, Garbage::Early, Garbage::Late]);
            let service = changes::probe(&self.name);
            let old = api.get(&path(&service)).body;
            // At times, the controller is just about to write.
            sleep(Duration::from_millis(self.rng.below(PAUSE) as u64));
            api.delete(&service);
            if matches!(garbage, Garbage::Early) {
                changes::delete_slices_of(api, &old);
            }
            self.count += 1;
            self.create(api);
            if matches!(garbage, Garbage::Late) {
                changes::delete_slices_of(api, &old);
            }
        }
    }

    /// What is wrong with its slices and its Endpoints.
    fn fault(&self, services: &[Value], slices: &[Value], endpoints: &[Value]) -> Option<&'static str> {
        let is_own = |object: &&Value| object["metadata"]["name"] == self.name;
        let label = json!(self.count.to_string());
        let Some(service) = services.iter().find(is_own) else { return Some("no Service") };
        let is_slice = |slice: &&Value| slice["metadata"]["labels"]["kubernetes.io/service-name"] == self.name;
        let slices: Vec<&Value> = slices.iter().filter(is_slice).collect();
        let [slice] = slices[..] else {
            return Some(if slices.is_empty() { "no slice" } else { "several slices" });
        };
        if slice["metadata"]["ownerReferences"][0]["uid"] != service["metadata"]["uid"] {
            return Some("the slice of an old Service");
        }
        if slice["metadata"]["labels"][LOOP] != label || slice["endpoints"].as_array().map(Vec::len) != Some(PODS) {
            return Some("an old slice");
        }
        let Some(endpoints) = endpoints.iter().find(is_own) else { return Some("no Endpoints") };
        let addresses = endpoints["subsets"][0]["addresses"].as_array();
        let is_right = endpoints["metadata"]["labels"][LOOP] == label && addresses.map(Vec::len) == Some(PODS);
        (!is_right).then_some("old Endpoints")
    }
}

/// How many loops there were, how many Services were stuck after some of them, and why.
#[derive(Debug, Default)]
struct Outcome {
    loops: usize,
    stuck: usize,
    faults: BTreeSet<String>,
    longest: Duration,
}

fn loops(api: &ApiServer, count: usize) -> Outcome {
    let mut all: Vec<Looped> = (0..SERVICES).map(|n| Looped::begin(api, n)).collect();
    let mut outcome = Outcome::default();
    while outcome.loops < count {
        scope(|threads| {
            for looped in &mut all {
                threads.spawn(|| looped.run(api));
            }
        });
        outcome.loops = all.iter().map(|looped| looped.count).sum();
        let start = Instant::now();
        let faults = loop {
            let list = |path: &str| api.get(path).body["items"].take().as_array().unwrap().clone();
            let (services, slices) = (list(&format!("/api/v1/namespaces/{NAMESPACE}/services")), changes::slices(api));
            let endpoints = list(&format!("/api/v1/namespaces/{NAMESPACE}/endpoints"));
            let fault =
                |looped: &Looped| Some(format!("{}: {}", looped.name, looped.fault(&services, &slices, &endpoints)?));
            let faults: Vec<String> = all.iter().filter_map(fault).collect();
            if faults.is_empty() || start.elapsed() > STUCK {
                break faults;
            }
            sleep(Duration::from_millis(50));
        };
        if faults.is_empty() {
            outcome.longest = outcome.longest.max(start.elapsed());
        }
        outcome.stuck += faults.len();
        outcome.faults.extend(faults);
    }
    outcome
}

/// Runs the loops with `roster controller`, or with the reference.
fn run(ours: bool, count: usize) -> Outcome {
    let dir = tempfile::tempdir().unwrap();
    let mut plane = start_without_controllers(&assets(), dir.path());
    let api = Rc::new(ApiServer::of(&plane));
    drop(Changes::begin(vec![api.clone()], SEED));
    let _ours = ours.then(|| RosterController::start(&plane, dir.path(), &[]));
    if !ours {
        plane.start_controllers().unwrap();
    }
    until_at_work(&api, 0);
    loops(&api, count)
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_service_that_comes_back_is_never_stuck() {
    let count = std::env::var("NEVER_STUCK_LOOPS").map(|count| count.parse().unwrap());
    let outcome = run(true, *count.as_ref().unwrap_or(&LOOPS));
    println!("roster controller: {outcome:?}");
    assert_eq!(outcome.stuck, 0, "{:?}", outcome.faults);
    if let Ok(count) = count {
        println!("kube-controller-manager: {:?}", run(false, count));
    }
}
