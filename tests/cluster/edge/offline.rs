//! The API server is away, and the pods of the node restart: the rules of the real kube-proxy follow them.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, sleep},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    Edge, NODE,
    kube_proxy::{Chains, KubeProxy, create_node, pod_of, programmed, status},
};
use crate::{
    api::ApiServer,
    assets,
    network::{self, Folder, row},
    start, wait,
};

/// Time between two samples of the rules.
const SAMPLE: Duration = Duration::from_millis(100);
/// How long the rules are sampled after the API server has everything.
const AFTERWARDS: Duration = Duration::from_secs(15);

fn service() -> Value {
    let spec = json!({ "selector": { "app": "web" }, "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] });
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": "default" }, "spec": spec })
}

fn pod(name: &str, on: &str) -> Value {
    pod_of("web", name, on)
}

/// The rules with these endpoints of the Service.
fn rules(addresses: &[&str]) -> Chains {
    let endpoints: BTreeSet<String> = addresses.iter().map(|ip| format!("{ip}:8080")).collect();
    Chains::from([(("service", "default/web/tcp/http".to_owned()), endpoints)])
}

/// Waits until the rules have these endpoints, and says how long that took since `began`.
fn until_rules(what: &str, addresses: &[&str], began: Instant) {
    let want = rules(addresses);
    let mut have = Chains::new();
    wait(&format!("{what}: {want:?}"), || {
        have = programmed();
        (have == want).then_some(())
    });
    row(what, &format!("{:>6} ms", began.elapsed().as_millis()));
}

/// The stand-in for the kubelet's `/pods`: pods of the API server with other statuses.
struct Kubelet<'a> {
    path: &'a Path,
    pods: Vec<Value>,
}

impl Kubelet<'_> {
    /// The address and the readiness of each pod from now on.
    fn set(&mut self, all: &[(&str, bool)]) {
        for (pod, (ip, ready)) in self.pods.iter_mut().zip(all) {
            pod["status"] = status(ip, *ready)["status"].clone();
        }
        let half = self.path.with_extension("half");
        fs::write(&half, json!({ "kind": "PodList", "apiVersion": "v1", "items": self.pods }).to_string()).unwrap();
        fs::rename(half, self.path).unwrap();
    }
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn rules_follow_the_pods_of_the_node_while_the_api_server_is_away() {
    if !network::is_own() {
        let name = "edge::offline::rules_follow_the_pods_of_the_node_while_the_api_server_is_away";
        return network::run_inside(name);
    }
    network::set_up(&[]);
    let dir = Folder::new();
    let mut plane = start(&assets(), dir.path());
    let api = ApiServer::of(&plane);
    for (number, name) in [NODE, "node-2"].into_iter().enumerate() {
        create_node(&api, number, name);
    }
    assert_eq!(api.create(&service(), "", false).status, 201);
    let create = |name: &str, on: &str, ip: &str| {
        let created = api.create(&pod(name, on), "", false);
        assert_eq!(created.status, 201, "{created:?}");
        assert_eq!(api.patch_status(&pod(name, on), &status(ip, true)).status, 200);
        created.body
    };
    let names = ["a", "b", "c", "d"];
    let local: Vec<Value> = (1..).zip(names).map(|(n, name)| create(name, NODE, &format!("10.244.0.{n}"))).collect();
    create("remote", "node-2", "10.244.9.1");

    let path = dir.path().join("pods.json");
    let mut kubelet = Kubelet { path: &path, pods: local };
    kubelet.set(&[("10.244.0.1", true), ("10.244.0.2", true), ("10.244.0.3", true), ("10.244.0.4", true)]);
    let mut edge = Edge::start_with(&plane, dir.path(), &[format!("--local-pods={}", path.display())]);
    let kubeconfig = edge.kubeconfig(&plane);
    let proxy = KubeProxy::start(&kubeconfig, dir.path());
    row("", &format!("{:>9}", "after"));
    let first = ["10.244.0.1", "10.244.0.2", "10.244.0.3", "10.244.0.4", "10.244.9.1"];
    until_rules("kube-proxy starts", &first, Instant::now());

    plane.stop_api_server();
    let changed = Instant::now();
    kubelet.set(&[("10.244.0.11", true), ("10.244.0.12", true), ("10.244.0.13", true), ("10.244.0.4", false)]);
    let second = ["10.244.0.11", "10.244.0.12", "10.244.0.13", "10.244.9.1"];
    until_rules("offline, three pods move and one dies", &second, changed);

    drop(proxy);
    assert!(Command::new("nft").args(["delete", "table", "ip", "kube-proxy"]).status().unwrap().success());
    edge.kill();
    let started = Instant::now();
    edge.start_again();
    let _proxy = KubeProxy::start(&kubeconfig, dir.path());
    until_rules("offline, both proxies start", &second, started);

    // From now on, nothing else may be in the rules, until the new pod is.
    let third: Vec<&str> = second.into_iter().chain(["10.244.9.2"]).collect();
    let (is_over, allowed) = (Arc::new(AtomicBool::new(false)), [rules(&second), rules(&third)]);
    let sampler = {
        let is_over = is_over.clone();
        thread::spawn(move || {
            let mut samples = 0;
            while !is_over.load(Ordering::Relaxed) {
                let have = programmed();
                assert!(allowed.contains(&have), "sample {samples}: {have:?}");
                samples += 1;
                sleep(SAMPLE);
            }
            samples
        })
    };
    plane.start_api_server_again().unwrap();
    let back = Instant::now();
    let api = ApiServer::of(&plane);
    assert_eq!(api.create(&pod("new", "node-2"), "", false).status, 201);
    assert_eq!(api.patch_status(&pod("new", "node-2"), &status("10.244.9.2", true)).status, 200);
    // The kubelet reports pod after pod.
    for (name, ip, ready) in
        [("a", "10.244.0.11", true), ("b", "10.244.0.12", true), ("c", "10.244.0.13", true), ("d", "10.244.0.4", false)]
    {
        sleep(Duration::from_millis(500));
        assert_eq!(api.patch_status(&pod(name, NODE), &status(ip, ready)).status, 200);
    }
    until_rules("online, with a new pod", &third, back);
    wait("the API server agrees with the kubelet", || {
        (edge.metric("roster_edge_overlaid_services") == 0).then_some(())
    });
    sleep(AFTERWARDS);
    is_over.store(true, Ordering::Relaxed);
    row("samples without a wrong endpoint", &format!("{:>9}", sampler.join().unwrap()));
    assert_eq!(programmed(), rules(&third));
}
