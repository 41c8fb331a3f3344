//! The real kube-proxy behind `roster edge`: its rules have exactly the endpoints that `roster view` says.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{Edge, NODE};
use crate::{
    SOON,
    api::ApiServer,
    assets,
    control_plane::ControlPlane,
    network::{self, Folder, row},
    parity::rng::Rng,
    roster, start,
};

/// How many changes are made; `ROSTER_EDGE_CHANGES` says otherwise.
const CHANGES: usize = 30;
/// How long a change may take to reach the API server's slices, if it reaches them at all.
const EFFECT: Duration = Duration::from_millis(700);
/// Time between two looks at the rules.
const LOOK: Duration = Duration::from_millis(50);

/// A running kube-proxy.
pub(super) struct KubeProxy(Child);

impl KubeProxy {
    pub(super) fn start(kubeconfig: &Path, dir: &Path) -> Self {
        let log = File::options().create(true).append(true).open(dir.join("kube-proxy.log")).unwrap();
        let child = Command::new(assets().join("kube-proxy"))
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--hostname-override={NODE}"))
            .args(["--proxy-mode=nftables", "--nodeport-addresses=127.0.0.0/8"])
            // Settings of the host, which a test must not change.
            .args(["--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0"])
            .arg("--conntrack-tcp-timeout-close-wait=0")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for KubeProxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The endpoints of each chain: `service` or `local`, and `namespace/name/protocol/port`.
pub(super) type Chains = BTreeMap<(&'static str, String), BTreeSet<String>>;

/// The chains that kube-proxy has made.
pub(super) fn programmed() -> Chains {
    let output = Command::new("nft").args(["list", "table", "ip", "kube-proxy"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (mut chains, mut current) = (Chains::new(), None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("chain ") {
            // Such as `service-ULMVA6XW-default/web/tcp/http {`.
            let chain = |kind: &'static str| {
                let (_, port) = name.trim_end_matches(" {").strip_prefix(kind)?.strip_prefix('-')?.split_once('-')?;
                Some((kind, port.to_owned()))
            };
            current = chain("service").or_else(|| chain("local"));
        } else if let Some(chain) = &current {
            // `… dnat to 10.244.1.2:8080`, or `… map { 0 : 10.244.1.2 . 8080, 1 : 10.244.1.3 . 8080 }`.
            let endpoints: Vec<String> = if let Some((_, map)) = line.split_once(" map { ") {
                let endpoint = |element: &str| element.split_once(" : ").unwrap().1.replace(" . ", ":");
                map.trim_end_matches(" }").split(", ").map(endpoint).collect()
            } else {
                line.split_once("dnat to ").map(|(_, to)| to.to_owned()).into_iter().collect()
            };
            if !endpoints.is_empty() {
                chains.entry(chain.clone()).or_default().extend(endpoints);
            }
        }
    }
    chains
}

/// What `roster view` says of the objects in the cluster.
fn viewed(plane: &ControlPlane) -> Chains {
    let output = roster()
        .args(["view", "--node", NODE, "--scheme", "superedge", "-A", "-o", "json", "--kubeconfig"])
        .arg(plane.kubeconfig())
        .output()
        .unwrap();
    let view: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    let mut chains = Chains::new();
    for port in view["items"].as_array().unwrap().iter().flat_map(|item| item["ports"].as_array().unwrap()) {
        let text = |field: &str| port[field].as_str().unwrap();
        let name = format!("{}/{}/{}", text("service"), text("protocol").to_lowercase(), text("port"));
        for (kind, field) in [("service", "cluster"), ("local", "local")] {
            let endpoints = port[field].as_array().into_iter().flatten().map(|e| e.as_str().unwrap().to_owned());
            let endpoints: BTreeSet<String> = endpoints.collect();
            if !endpoints.is_empty() {
                chains.insert((kind, name.clone()), endpoints);
            }
        }
    }
    chains
}

const NODES: [&str; 4] = [NODE, "node-2", "node-3", "node-4"];
const SERVICES: usize = 8;
const PODS: usize = 4;

fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name } },
        "spec": { "podCIDR": "10.244.0.0/16" },
    })
}

/// Creates a ready Node, the first with the address 192.0.2.1: kube-proxy waits until its node has one.
pub(super) fn create_node(api: &ApiServer, number: usize, name: &str) {
    assert_eq!(api.create(&node(name), "", false).status, 201);
    let address = json!({ "type": "InternalIP", "address": format!("192.0.2.{}", number + 1) });
    let ready = json!([{ "type": "Ready", "status": "True" }]);
    let status = json!({ "status": { "addresses": [address], "conditions": ready } });
    assert_eq!(api.patch_status(&node(name), &status).status, 200);
}

fn service(number: usize) -> Value {
    let annotations = match number {
        1 => json!({ "topologyKeys": "[\"region\"]" }),
        2 => json!({ "topologyKeys": "[\"kubernetes.io/hostname\"]" }),
        6 => json!({ "topologyKeys": "region" }),
        _ => json!({}),
    };
    let mut spec = json!({
        "selector": { "app": format!("s{number}") }, "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }],
    });
    match number {
        3 => spec["trafficDistribution"] = "PreferSameZone".into(),
        4 => spec["internalTrafficPolicy"] = "Local".into(),
        5 => (spec["type"], spec["externalTrafficPolicy"]) = ("NodePort".into(), "Local".into()),
        7 => spec["ports"].as_array_mut().unwrap().push(json!({ "name": "metrics", "port": 81, "targetPort": 9090 })),
        _ => {}
    }
    let meta = json!({ "name": format!("s{number}"), "namespace": "default", "annotations": annotations });
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec })
}

fn pod(service: usize, number: usize) -> Value {
    pod_of(&format!("s{service}"), &format!("s{service}-{number}"), NODES[number % NODES.len()])
}

/// A pod with the label `app` on a node.
pub(super) fn pod_of(app: &str, name: &str, on: &str) -> Value {
    let meta = json!({ "name": name, "namespace": "default", "labels": { "app": app } });
    let spec = json!({ "nodeName": on, "containers": [{ "name": "c", "image": "i" }] });
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec })
}

pub(super) fn status(ip: &str, ready: bool) -> Value {
    let ready = if ready { "True" } else { "False" };
    json!({ "status": {
        "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }], "conditions": [{ "type": "Ready", "status": ready }],
    } })
}

/// The cluster, and what is changed in it.
struct Changes<'a> {
    api: &'a ApiServer,
    random: Rng,
    /// The address and the readiness of each pod.
    pods: BTreeMap<(usize, usize), (String, bool)>,
    next_address: usize,
}

impl<'a> Changes<'a> {
    /// Creates everything.
    fn begin(api: &'a ApiServer) -> Self {
        let mut changes = Self { api, random: Rng::new(13, 0), pods: BTreeMap::new(), next_address: 0 };
        for (number, name) in NODES.into_iter().enumerate() {
            create_node(api, number, name);
            changes.label(name, "region", ["r1", "r1", "r2", "r2"][number]);
            changes.label(name, "topology.kubernetes.io/zone", ["a", "a", "b", "b"][number]);
        }
        for number in 0..SERVICES {
            let answer = api.create(&service(number), "", false);
            assert_eq!(answer.status, 201, "{answer:?}");
            for pod in 0..PODS {
                changes.create_pod(number, pod);
            }
        }
        changes
    }

    fn label(&self, node_name: &str, key: &str, value: &str) {
        let change = json!({ "metadata": { "labels": { key: value } } });
        assert_eq!(self.api.patch(&node(node_name), &change).status, 200);
    }

    fn create_pod(&mut self, service: usize, number: usize) {
        self.next_address += 1;
        let ip = format!("10.244.{}.{}", self.next_address / 250, self.next_address % 250 + 1);
        assert_eq!(self.api.create(&pod(service, number), "", false).status, 201);
        self.set_status(service, number, ip, true);
    }

    fn set_status(&mut self, service: usize, number: usize, ip: String, ready: bool) {
        assert_eq!(self.api.patch_status(&pod(service, number), &status(&ip, ready)).status, 200);
        self.pods.insert((service, number), (ip, ready));
    }

    /// Makes a random change, and says which.
    fn make(&mut self) -> &'static str {
        let (service_number, pod_number) = (self.random.below(SERVICES), self.random.below(PODS));
        match self.random.below(6) {
            0 | 1 => {
                let (ip, ready) = self.pods[&(service_number, pod_number)].clone();
                self.set_status(service_number, pod_number, ip, !ready);
                "a pod flips"
            }
            2 => {
                let name = self.random.pick(&NODES);
                let (key, values) =
                    self.random.pick(&[("region", ["r1", "r2"]), ("topology.kubernetes.io/zone", ["a", "b"])]);
                let value = self.random.pick(&values);
                self.label(name, key, value);
                "a node is relabelled"
            }
            3 => {
                let keys =
                    ["[\"region\"]", "[\"kubernetes.io/hostname\"]", "[\"region\",\"topology.kubernetes.io/zone\"]"];
                let keys = [json!(null), json!(keys[0]), json!(keys[1]), json!(keys[2]), json!("[1]")];
                let keys = &keys[self.random.below(keys.len())];
                let change = json!({ "metadata": { "annotations": { "topologyKeys": keys } } });
                assert_eq!(self.api.patch(&service(service_number), &change).status, 200);
                "a Service is annotated"
            }
            4 => {
                let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
                let slices = self.api.get(path).body["items"].as_array().unwrap().clone();
                let mut slice = slices[self.random.below(slices.len())].clone();
                (slice["apiVersion"], slice["kind"]) = (json!("discovery.k8s.io/v1"), json!("EndpointSlice"));
                self.api.delete(&slice);
                "a slice is deleted"
            }
            _ => {
                self.api.delete_now(&pod(service_number, pod_number));
                self.create_pod(service_number, pod_number);
                "a pod is replaced"
            }
        }
    }
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn rules_have_the_endpoints_of_the_view() {
    if !network::is_own() {
        return network::run_inside("edge::kube_proxy::rules_have_the_endpoints_of_the_view");
    }
    network::set_up(&[]);
    let dir = Folder::new();
    let plane = start(&assets(), dir.path());
    let api = ApiServer::of(&plane);
    let mut changes = Changes::begin(&api);
    let edge = Edge::start(&plane, dir.path());
    let _proxy = KubeProxy::start(&edge.kubeconfig(&plane), dir.path());
    let mut before = agree("at first", &plane, Instant::now()).0;
    let mut took: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    let count = std::env::var("ROSTER_EDGE_CHANGES").map_or(CHANGES, |n| n.parse().unwrap());
    for number in 0..count {
        let what = changes.make();
        let changed = Instant::now();
        // The controllers need a moment, and not every change has an effect.
        let mut effective = changed;
        while viewed(&plane) == before && changed.elapsed() < EFFECT {
            effective = Instant::now();
        }
        let (after, late) = agree(&format!("change {number}, {what}"), &plane, effective);
        if after != before {
            took.entry(what).or_default().push(late);
        }
        before = after;
    }
    row("", &format!("{:>8} | {:>8} | {:>8}", "changes", "median", "longest"));
    for (what, mut late) in took {
        late.sort_unstable();
        let [median, longest] = [late[late.len() / 2], late[late.len() - 1]].map(|d| format!("{} ms", d.as_millis()));
        row(what, &format!("{:>8} | {median:>8} | {longest:>8}", late.len()));
    }
}

/// Waits until the rules have what is viewed; tells what that is, and how long it took since `from`.
fn agree(when: &str, plane: &ControlPlane, from: Instant) -> (Chains, Duration) {
    let until = Instant::now() + SOON;
    loop {
        let want = viewed(plane);
        let have = programmed();
        if want == have {
            return (want, from.elapsed());
        }
        assert!(Instant::now() < until, "{when}: kube-proxy has {have:#?}, and not {want:#?}");
        sleep(LOOK);
    }
}
