//! `roster controller` in a real cluster, by turns with kube-controller-manager: what one of them has written, the other one
//! finds right, and writes nothing. In between, random changes happen under either of them.

mod beside;
mod changes;
mod faults;
mod faulty_proxy;
mod never_stuck;
mod operators;
mod shadow;
mod soak;
mod twin;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    rc::Rc,
    thread::sleep,
    time::{Duration, Instant},
};

use roster_engine::model::installed::{CONTROLLER, NAMESPACE as INSTALLED};
use serde_json::{Value, json};

use super::{
    account::account_of, api::ApiServer, assets, control_plane::ControlPlane, get, kubectl, metric_in, roster,
    start_without_controllers, wait,
};
use changes::{Changes, NAMESPACE};

const SEED: u64 = 20_261_127;
/// How often the controllers take turns, and how many changes happen under each.
const TURNS: usize = 4;
const CHANGES: usize = 75;
/// How long nothing must change to count as done: the reference corrects slices after a second.
const QUIET: Duration = Duration::from_secs(3);
const DONE: Duration = Duration::from_mins(2);

/// The namespace of the controller, its account and its roles.
fn access() -> Vec<Value> {
    let files = roster::deploy::files(&roster::cli::server_permissions()).into_iter();
    let wanted = [
        "controller/namespace.yaml",
        "controller/rbac.yaml",
        "shadow/rbac.yaml",
        "overlays/shadow-events/rbac.yaml",
        "overlays/shadow-healing/rbac.yaml",
    ];
    files.filter(|file| wanted.contains(&file.path.as_str())).flat_map(|file| file.documents).collect()
}

/// Makes the accounts of the manifests. Returns a kubeconfig for one of them.
fn installed_account(account: &str, plane: &ControlPlane, dir: &Path) -> PathBuf {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": access() });
    let (well, told) = kubectl(plane, "apply -f -", &list.to_string());
    assert!(well, "{told}");
    account_of(plane, dir, account)
}

/// A running `roster controller`, ended with the test.
struct RosterController {
    child: Child,
    admin: String,
}

impl RosterController {
    /// Starts it as the account of its manifests.
    fn start(plane: &ControlPlane, dir: &Path, flags: &[&str]) -> Self {
        Self::start_as(CONTROLLER, plane, dir, flags)
    }

    fn start_as(account: &str, plane: &ControlPlane, dir: &Path, flags: &[&str]) -> Self {
        Self::start_with(&installed_account(account, plane, dir), dir, flags)
    }

    /// Starts it with a kubeconfig.
    fn start_with(kubeconfig: &Path, dir: &Path, flags: &[&str]) -> Self {
        let admin = crate::free_port::free_address().unwrap().to_string();
        let log = fs::File::options().create(true).append(true).open(dir.join("controller.log")).unwrap();
        let mut command = roster();
        command.args(["controller", "--admin-listen", &admin, "--kubeconfig"]);
        command.arg(kubeconfig).args(flags).env("POD_NAMESPACE", INSTALLED).stdout(Stdio::null()).stderr(log);
        let started = Self { child: command.spawn().unwrap(), admin };
        wait("roster controller is ready", || get(&started.admin, "/readyz").filter(|a| a.starts_with("HTTP/1.1 200")));
        started
    }

    /// One of several replicas, with short times.
    fn start_replica(plane: &ControlPlane, dir: &Path, identity: &str) -> Self {
        let times =
            ["--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=1s"];
        Self::start(plane, dir, &[&times[..], &["--identity", identity]].concat())
    }

    fn leads(&self) -> bool {
        let metrics = get(&self.admin, "/metrics").unwrap_or_default();
        metrics.contains("leader_election_master_status{name=\"roster-controller\"} 1")
    }

    /// The value of a metric.
    fn metric(&self, name: &str) -> Option<f64> {
        metric_in(&get(&self.admin, "/metrics")?, name)?.parse().ok()
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for RosterController {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether `roster plan` would write nothing: no endpoint is missing, stale or listed twice, and no object is left over.
fn is_right(plane: &ControlPlane) -> bool {
    let ran = roster().args(["plan", "--all-namespaces", "--kubeconfig"]).arg(plane.kubeconfig()).output().unwrap();
    match ran.status.code() {
        Some(0) => true,
        Some(1) => false,
        other => panic!("{other:?}: {}", String::from_utf8_lossy(&ran.stderr)),
    }
}

/// Every Endpoints object and every slice, by its path, with its version.
fn versions(api: &ApiServer) -> BTreeMap<String, (String, Value)> {
    let lists = ["/api/v1/endpoints", "/apis/discovery.k8s.io/v1/endpointslices"].map(|path| api.get(path).body);
    let items = lists.iter().flat_map(|list| list["items"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let keyed = items.filter(|object| object["metadata"]["namespace"] == NAMESPACE).map(|object| {
        let meta = &object["metadata"];
        let kind = if object["addressType"].is_null() { "Endpoints" } else { "EndpointSlice" };
        (format!("{kind} {}", text(&meta["name"])), (text(&meta["resourceVersion"]), object.clone()))
    });
    keyed.collect()
}

/// Waits until nothing is written any more, and returns what there is.
fn settled(api: &ApiServer) -> BTreeMap<String, (String, Value)> {
    let until = Instant::now() + DONE;
    let (mut before, mut since) = (versions(api), Instant::now());
    while since.elapsed() < QUIET {
        assert!(Instant::now() < until, "the controllers go on writing");
        sleep(Duration::from_millis(300));
        let now = versions(api);
        if now != before {
            (before, since) = (now, Instant::now());
        }
    }
    before
}

/// Waits until the controllers that have just started have worked through everything: a new Service is served last.
fn until_at_work(api: &ApiServer, turn: usize) {
    let service = changes::probe(&format!("probe-{turn}"));
    assert_eq!(api.create(&service, "", false).status, 201);
    wait("the controllers are at work", || {
        let name = service["metadata"]["name"].as_str().unwrap();
        let written = versions(api);
        let has = |object: &Value| object["metadata"]["labels"]["kubernetes.io/service-name"] == name;
        let has_slice = written.values().any(|(_, object)| has(object));
        (has_slice && written.contains_key(&format!("Endpoints {name}"))).then_some(())
    });
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn handing_over_rewrites_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut plane = start_without_controllers(&assets(), dir.path());
    let api = Rc::new(ApiServer::of(&plane));
    let mut changes = Changes::begin(vec![api.clone()], SEED);
    let mut before = BTreeMap::new();
    for turn in 0..TURNS {
        let ours = (turn % 2 == 0).then(|| RosterController::start(&plane, dir.path(), &[]));
        if ours.is_none() {
            plane.start_controllers().unwrap();
        }
        until_at_work(&api, turn);
        let after = settled(&api);
        let rewritten: Vec<String> = before
            .iter()
            .filter(|(name, was)| after.get(*name) != Some(*was))
            .map(|(name, was): (&String, &(String, Value))| {
                format!("{name}\nbefore: {}\nafter: {:?}", was.1, after.get(name).map(|a| &a.1))
            })
            .collect();
        let who = if ours.is_some() { "roster controller" } else { "kube-controller-manager" };
        assert!(rewritten.is_empty(), "turn {turn}: {who} has rewritten\n{}", rewritten.join("\n"));
        for _ in 0..CHANGES {
            changes.make_one();
        }
        before = settled(&api);
        assert!(before.len() > 10, "{} objects", before.len());
        drop(ours);
        plane.stop_controllers();
    }
    println!("{} changes, {} objects at the end: {}", TURNS * CHANGES, before.len(), json!(changes.made()));
}

/// The ready addresses of the slices of a Service, and the number of the slices.
fn ready_addresses(api: &ApiServer, service: &str) -> (Vec<String>, usize) {
    let selector = format!("?labelSelector=kubernetes.io%2Fservice-name%3D{service}");
    let path = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices{selector}");
    let list = api.get(&path).body;
    let slices = list["items"].as_array().unwrap();
    let endpoints = slices.iter().flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
    let ready = endpoints.filter(|endpoint| endpoint["conditions"]["ready"] == true);
    let mut addresses: Vec<String> = ready.map(|e| e["addresses"][0].as_str().unwrap().to_owned()).collect();
    addresses.sort_unstable();
    (addresses, slices.len())
}

/// Flips a pod, and waits until the slices of its Service say so.
fn serves(api: &ApiServer, pod: &Value, is_ready: bool) {
    let status = json!({ "status": { "conditions": [changes::ready(is_ready)] } });
    assert_eq!(api.patch_status(pod, &status).status, 200);
    let want = if is_ready { vec!["10.0.0.1".to_owned()] } else { Vec::new() };
    wait("the slice follows the pod", || (ready_addresses(api, "web") == (want.clone(), 1)).then_some(()));
}

/// `LEADER_PAUSES=100` pauses the leader more often than CI does.
#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn one_replica_writes_at_a_time() {
    let pauses = std::env::var("LEADER_PAUSES").map_or(1, |pauses| pauses.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let plane = start_without_controllers(&assets(), dir.path());
    let api = Rc::new(ApiServer::of(&plane));
    drop(Changes::begin(vec![api.clone()], SEED));
    assert_eq!(api.create(&changes::probe("web"), "", false).status, 201);
    let pod = changes::pod("web-0", "web");
    assert_eq!(api.create(&pod, "", false).status, 201);
    let status = json!({ "phase": "Running", "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }] });
    assert_eq!(api.patch_status(&pod, &json!({ "status": status })).status, 200);

    let mut replicas: Vec<RosterController> =
        ["a", "b", "c"].iter().map(|name| RosterController::start_replica(&plane, dir.path(), name)).collect();
    let signals = [vec!["-TERM"], vec!["-STOP"; pauses], vec!["-KILL"]].concat();
    for (n, signal) in signals.into_iter().enumerate() {
        let at = wait("one of them leads", || replicas.iter().position(RosterController::leads));
        serves(&api, &pod, true);
        assert_eq!(replicas.iter().filter(|replica| replica.leads()).count(), 1);
        let leader = replicas.swap_remove(at);
        leader.signal(signal);
        serves(&api, &pod, false);
        if signal == "-STOP" {
            // The successor writes the Endpoints beside the slice.
            let before = settled(&api);
            leader.signal("-CONT");
            wait("it knows that it does not lead", || (!leader.leads()).then_some(()));
            assert_eq!(versions(&api), before, "it has written nothing");
        }
        drop(leader);
        replicas.push(RosterController::start_replica(&plane, dir.path(), &format!("successor-{n}")));
    }
    let log = fs::read_to_string(dir.path().join("controller.log")).unwrap();
    assert!(log.contains("the Lease is lost"), "{log}");
}

/// The Events of controllers, as far as both must agree.
fn events(api: &ApiServer) -> Vec<String> {
    let list = api.get(&format!("/api/v1/namespaces/{NAMESPACE}/events")).body;
    // The API server says at times that it repairs a cluster IP.
    let of_controllers =
        list["items"].as_array().unwrap().iter().filter(|event| event["reason"] != "ClusterIPNotAllocated");
    let shown = of_controllers.map(|event| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = &event["involvedObject"];
        [
            &event["type"],
            &event["reason"],
            &event["source"]["component"],
            &object["kind"],
            &object["name"],
            &event["message"],
        ]
        .map(text)
        .join(" ")
    });
    let mut all: Vec<String> = shown.collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn both_controllers_send_the_same_events() {
    let said = [true, false].map(|ours| {
        let dir = tempfile::tempdir().unwrap();
        let mut plane = start_without_controllers(&assets(), dir.path());
        let api = Rc::new(ApiServer::of(&plane));
        drop(Changes::begin(vec![api.clone()], SEED));
        let ours = ours.then(|| RosterController::start(&plane, dir.path(), &[]));
        if ours.is_none() {
            plane.start_controllers().unwrap();
        }
        // The reference learns of one node after the other, and says of each state what it thinks of it.
        until_at_work(&api, 0);
        settled(&api);
        for object in changes::with_events() {
            let told = api.create(&object, "", false);
            assert_eq!(told.status, 201, "{:?}", told.body);
        }
        until_at_work(&api, 1);
        settled(&api);
        drop(ours);
        events(&api)
    });
    assert!(said[1].len() >= 2, "{:?}", said[1]);
    assert_eq!(said[0], said[1]);
}
