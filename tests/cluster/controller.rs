//! `roster controller` in a real cluster, by turns with kube-controller-manager: what one of them has written, the other one
//! finds right, and writes nothing. In between, random changes happen under either of them.

mod changes;

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{api::ApiServer, assets, control_plane::ControlPlane, get, roster, start_without_controllers, wait};
use changes::{Changes, NAMESPACE};

const SEED: u64 = 20_261_127;
/// How often the controllers take turns, and how many changes happen under each.
const TURNS: usize = 4;
const CHANGES: usize = 75;
/// How long nothing must change to count as done: the reference corrects slices after a second.
const QUIET: Duration = Duration::from_secs(3);
const DONE: Duration = Duration::from_mins(2);

/// A running `roster controller`, ended with the test.
pub(super) struct RosterController(Child);

impl RosterController {
    pub(super) fn start(plane: &ControlPlane, dir: &Path, flags: &[&str]) -> Self {
        let address = format!("127.0.0.1:{}", super::control_plane::free_port().unwrap());
        let log = fs::File::options().create(true).append(true).open(dir.join("controller.log")).unwrap();
        let mut command = roster();
        command.args(["controller", "--admin-listen", &address, "--kubeconfig"]);
        command.arg(plane.kubeconfig()).args(flags).stdout(Stdio::null()).stderr(log);
        let started = Self(command.spawn().unwrap());
        wait("roster controller is ready", || get(&address, "/readyz").filter(|a| a.starts_with("HTTP/1.1 200")));
        started
    }
}

impl Drop for RosterController {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
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
    let api = ApiServer::of(&plane);
    let mut changes = Changes::begin(&api, SEED);
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
