//! `roster edge` between a real API server and its clients: kubectl, client-go's reflector and kube's watcher.

mod kube_proxy;
mod offline;
mod protobuf;
mod soak;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Api, Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{
    api::ApiServer, assets, control_plane::ControlPlane, get, kubectl, metric_in, roster, start_without_controllers,
    wait,
};

/// The node of the proxy.
const NODE: &str = "edge-1";

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A running `roster edge`.
struct Edge {
    child: Child,
    address: String,
    admin: String,
    dir: PathBuf,
    flags: Vec<String>,
}

impl Edge {
    fn start(plane: &ControlPlane, dir: &Path) -> Self {
        Self::start_with(plane, dir, &[])
    }

    /// Starts it with further flags.
    fn start_with(plane: &ControlPlane, dir: &Path, more: &[String]) -> Self {
        Self::start_from(&plane.kubeconfig(), dir, more)
    }

    /// Starts it with this kubeconfig.
    fn start_from(kubeconfig: &Path, dir: &Path, more: &[String]) -> Self {
        let certificates = dir.join("certs");
        let made = roster().args(["certs", "dev", "--dir"]).arg(&certificates).stdout(Stdio::null()).status().unwrap();
        assert!(made.success());
        let [address, admin] = [0, 0].map(|_: u8| crate::free_port::free_address().unwrap().to_string());
        let mut flags: Vec<String> =
            ["edge", "--node", NODE, "--scheme", "superedge", "--kubeconfig"].map(Into::into).into();
        flags.push(kubeconfig.display().to_string());
        flags.extend([format!("--listen={address}"), format!("--admin-listen={admin}")]);
        flags.push(format!("--state-file={}", dir.join("edge.state").display()));
        for (flag, file) in [("--tls-cert-file", "tls.crt"), ("--tls-private-key-file", "tls.key")] {
            flags.push(format!("{flag}={}", certificates.join(file).display()));
        }
        flags.extend_from_slice(more);
        let child = Self::spawn(&flags, dir);
        let edge = Self { child, address, admin, dir: dir.to_owned(), flags };
        edge.wait_until_ready();
        edge
    }

    fn spawn(flags: &[String], dir: &Path) -> Child {
        let log = fs::File::options().create(true).append(true).open(dir.join("edge.log")).unwrap();
        roster().args(flags).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    fn wait_until_ready(&self) {
        wait("roster edge is ready", || get(&self.admin, "/readyz").filter(|a| a.starts_with("HTTP/1.1 200")));
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = Self::spawn(&self.flags, &self.dir);
        self.wait_until_ready();
    }

    /// Kills the proxy, and starts it again.
    fn restart(&mut self) {
        self.kill();
        self.start_again();
    }

    /// A kubeconfig of the administrator, whose server is the proxy.
    fn kubeconfig(&self, plane: &ControlPlane) -> PathBuf {
        kubeconfig_of(plane, &self.address, &self.dir.join("certs/ca.crt"), &self.dir.join("edge.kubeconfig"))
    }

    fn metric(&self, name: &str) -> u64 {
        let text = get(&self.admin, "/metrics").unwrap();
        metric_in(&text, name).map_or(0, |value| value.parse().unwrap())
    }
}

/// Writes the kubeconfig of the administrator with another server.
fn kubeconfig_of(plane: &ControlPlane, address: &str, ca: &Path, to: &Path) -> PathBuf {
    let mut config: Value = serde_saphyr::from_str(&fs::read_to_string(plane.kubeconfig()).unwrap()).unwrap();
    let cluster = &mut config["clusters"][0]["cluster"];
    cluster["server"] = format!("https://{address}").into();
    cluster["certificate-authority"] = ca.display().to_string().into();
    fs::write(to, config.to_string()).unwrap();
    to.to_owned()
}

impl Drop for Edge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn node(name: &str, region: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": { "region": region } } })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "web", "namespace": "default", "annotations": { "topologyKeys": "[\"region\"]" } },
        "spec": { "ports": [{ "port": 80 }] },
    })
}

fn slice(name: &str, nodes: &[&str]) -> Value {
    let endpoints: Vec<Value> = nodes
        .iter()
        .map(|node| {
            let last = node.bytes().last().unwrap();
            json!({ "addresses": [format!("10.244.{last}.{}", name.len())], "nodeName": node, "conditions": { "ready": true } })
        })
        .collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": endpoints,
        "metadata": { "name": name, "namespace": "default", "labels": { "kubernetes.io/service-name": "web" } },
        "ports": [{ "name": "", "port": 80, "protocol": "TCP" }],
    })
}

/// The nodes of the endpoints of each slice.
type Seen = BTreeMap<String, Vec<String>>;

fn seen(all: impl IntoIterator<Item = (&'static str, &'static [&'static str])>) -> Seen {
    all.into_iter().map(|(name, nodes)| (name.to_owned(), nodes.iter().map(ToString::to_string).collect())).collect()
}

fn nodes_of(slice: &Value) -> (String, Vec<String>) {
    let endpoints = slice["endpoints"].as_array().cloned().unwrap_or_default();
    let nodes = endpoints.iter().map(|e| e["nodeName"].as_str().unwrap().to_owned()).collect();
    (slice["metadata"]["name"].as_str().unwrap().to_owned(), nodes)
}

/// kube's watcher, which follows the slices through the proxy.
struct Follower(Arc<Mutex<Seen>>);

impl Follower {
    fn start(runtime: &Runtime, client: Client, config: watcher::Config) -> Self {
        let seen = Arc::<Mutex<Seen>>::default();
        let (written, api) = (seen.clone(), Api::<EndpointSlice>::all(client));
        runtime.spawn(async move {
            let mut listed = Seen::new();
            let mut events = watcher(api, config).default_backoff().boxed();
            loop {
                let read = |slice: &EndpointSlice| nodes_of(&serde_json::to_value(slice).unwrap());
                match events.try_next().await {
                    Ok(Some(watcher::Event::Init)) => listed = Seen::new(),
                    Ok(Some(watcher::Event::InitApply(slice))) => drop(listed.insert(read(&slice).0, read(&slice).1)),
                    Ok(Some(watcher::Event::InitDone)) => *written.lock().unwrap() = std::mem::take(&mut listed),
                    Ok(Some(watcher::Event::Apply(slice))) => {
                        let (name, nodes) = read(&slice);
                        written.lock().unwrap().insert(name, nodes);
                    }
                    Ok(Some(watcher::Event::Delete(slice))) => drop(written.lock().unwrap().remove(&read(&slice).0)),
                    Ok(None) => return,
                    Err(_) => {}
                }
            }
        });
        Self(seen)
    }
}

/// A program that prints an object for each event it sees through the proxy.
struct EventPrinter {
    child: Child,
    seen: Arc<Mutex<Seen>>,
}

impl EventPrinter {
    fn kubectl(kubeconfig: &Path) -> Self {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(kubeconfig);
        Self::start(command.args(["get", "endpointslices", "-w", "--output-watch-events", "-o", "json"]))
    }

    /// client-go's reflector, with `WatchList` or without. It accepts this type and no other.
    fn reflector(kubeconfig: &Path, watch_list: bool, content_type: &str) -> Self {
        let mut command = Command::new(assets().join("reflector"));
        command.arg(kubeconfig).env("KUBE_FEATURE_WatchListClient", watch_list.to_string());
        Self::start(command.env("CONTENT_TYPE", content_type))
    }

    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let seen = Arc::<Mutex<Seen>>::default();
        let (written, stdout) = (seen.clone(), child.stdout.take().unwrap());
        thread::spawn(move || {
            for event in serde_json::Deserializer::from_reader(stdout).into_iter::<Value>().map_while(Result::ok) {
                let (name, nodes) = nodes_of(&event["object"]);
                let mut seen = written.lock().unwrap();
                match event["type"].as_str() {
                    Some("DELETED") => drop(seen.remove(&name)),
                    _ => drop(seen.insert(name, nodes)),
                }
            }
        });
        Self { child, seen }
    }
}

impl Drop for EventPrinter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn client(runtime: &Runtime, kubeconfig: &Path) -> Client {
    runtime.block_on(async {
        let file = Kubeconfig::read_from(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
    })
}

/// Installs `manifests/edge`, and writes a kubeconfig of its service account.
fn with_its_own_role(plane: &ControlPlane, dir: &Path) -> PathBuf {
    let files = roster::deploy::files(&roster::cli::server_permissions()).into_iter();
    let of_edge = files.filter(|f| f.path.starts_with("edge/") && !f.path.ends_with("kustomization.yaml"));
    let list =
        json!({ "apiVersion": "v1", "kind": "List", "items": of_edge.flat_map(|f| f.documents).collect::<Vec<_>>() });
    let (is_created, text) = kubectl(plane, "create -f -", &list.to_string());
    assert!(is_created, "{text}");
    let (_, token) = kubectl(plane, "create token roster-edge --namespace roster-edge", "");
    let mut config: Value = serde_saphyr::from_str(&fs::read_to_string(plane.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"]["token"] = token.trim().into();
    let path = dir.join("account.kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    path
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn clients_follow_the_pruned_slices() {
    let dir = tempfile::tempdir().unwrap();
    let mut plane = start_without_controllers(&assets(), dir.path());
    let direct = ApiServer::of(&plane);
    for object in [
        node(NODE, "1"),
        node("node-1", "1"),
        node("node-2", "2"),
        service(),
        slice("web-a", &[NODE, "node-1", "node-2"]),
        slice("custom", &["node-2"]),
    ] {
        assert_eq!(direct.create(&object, "", false).status, 201, "{object}");
    }
    let mut edge = Edge::start_from(&with_its_own_role(&plane, dir.path()), dir.path(), &[]);
    let kubeconfig = edge.kubeconfig(&plane);
    let runtime = Runtime::new().unwrap();
    let of_edge = || client(&runtime, &kubeconfig);
    let followers = [
        ("list and watch", Follower::start(&runtime, of_edge(), watcher::Config::default())),
        ("WatchList", Follower::start(&runtime, of_edge(), watcher::Config::default().streaming_lists())),
    ];
    let printers = [
        ("kubectl", EventPrinter::kubectl(&kubeconfig)),
        ("client-go", EventPrinter::reflector(&kubeconfig, false, JSON)),
        ("client-go with WatchList", EventPrinter::reflector(&kubeconfig, true, JSON)),
        ("client-go with protobuf", EventPrinter::reflector(&kubeconfig, false, PROTOBUF)),
        ("client-go with WatchList and protobuf", EventPrinter::reflector(&kubeconfig, true, PROTOBUF)),
    ];
    let all = || {
        let followers = followers.iter().map(|(name, follower)| (*name, &follower.0));
        followers.chain(printers.iter().map(|(name, printer)| (*name, &printer.seen)))
    };
    let converge = |what: &str, want: &Seen| {
        for (name, seen) in all() {
            wait(&format!("{what}: {name} sees {want:?}"), || (*seen.lock().unwrap() == *want).then_some(()));
        }
    };

    converge("at first", &seen([("web-a", &[NODE, "node-1"][..]), ("custom", &[])]));
    let relabel = |name: &str, region: &str| {
        let change = json!({ "metadata": { "labels": { "region": region } } });
        assert_eq!(direct.patch(&node(name, region), &change).status, 200);
    };
    relabel("node-2", "1");
    converge("another node joins", &seen([("web-a", &[NODE, "node-1", "node-2"][..]), ("custom", &["node-2"])]));
    relabel(NODE, "2");
    converge("the node moves", &seen([("web-a", &[NODE][..]), ("custom", &[])]));
    let open = json!({ "metadata": { "annotations": { "topologyKeys": null } } });
    assert_eq!(direct.patch(&service(), &open).status, 200);
    converge("the keys go", &seen([("web-a", &[NODE, "node-1", "node-2"][..]), ("custom", &["node-2"])]));
    direct.delete(&slice("custom", &[]));
    converge("a slice goes", &seen([("web-a", &[NODE, "node-1", "node-2"][..])]));

    let before = edge.metric("roster_edge_watches");
    assert_eq!(before, 7, "a watch of each client");
    drop(runtime);
    wait("the watches end with their clients", || (edge.metric("roster_edge_watches") == 5).then_some(()));

    // Through the proxy, everything else is as it is without it.
    let through = ApiServer::with(&kubeconfig);
    let rows: Vec<(u16, Value)> =
        ["/api/v1/nodes/node-2", "/api/v1/namespaces/default/services/none", "/version", "/api"]
            .into_iter()
            .map(|path| (through.get(path).status, through.get(path).body["kind"].clone()))
            .collect();
    let want = [(200, json!("Node")), (404, json!("Status")), (200, Value::Null), (200, json!("APIVersions"))];
    assert_eq!(rows, want);
    let created = through.create(&slice("created", &["node-1"]), "", false);
    assert_eq!(created.status, 201, "{created:?}");
    let version = |told: &Value| told["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    let list = "/apis/discovery.k8s.io/v1/endpointslices";
    let listed = wait("what was created is seen", || {
        Some(through.get(list).body).filter(|list| list["items"].as_array().unwrap().len() == 2)
    });
    edge.restart();
    let again = through.get(list).body;
    assert!(version(&again) > version(&listed), "resourceVersions rise across restarts: {listed} {again}");
    let old = through.get(&format!("{list}?watch=1&timeoutSeconds=5&resourceVersion={}", version(&listed))).body;
    assert_eq!((&old["type"], &old["object"]["reason"]), (&json!("ERROR"), &json!("Expired")));

    // Without the API server, the proxy starts from what it saved: all that clients have seen.
    plane.stop_api_server();
    edge.restart();
    let offline = through.get(list);
    let names =
        |list: &Value| list["items"].as_array().unwrap().iter().map(|slice| nodes_of(slice).0).collect::<Vec<_>>();
    assert_eq!((offline.status, names(&offline.body)), (200, names(&again)));
    assert!(version(&offline.body) > version(&again), "resourceVersions rise across restarts");
    // Not a path that the API server must answer: kube's client tries again after a 503.
    let rows: Vec<(u16, Value)> = ["/api", "/api/v1"]
        .into_iter()
        .map(|path| (through.get(path).status, through.get(path).body["kind"].clone()))
        .collect();
    assert_eq!(rows, [(200, json!("APIVersions")), (200, json!("APIResourceList"))]);
}
