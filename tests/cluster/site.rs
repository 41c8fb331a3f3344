//! A control plane, the manifests as they are, and replicas behind the Service: the place of faults and attacks.
//!
//! It needs a network of its own ([`crate::network`]).

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use roster::runtime::certificates::{CertificateLifetimes, Material, advance};
use roster_engine::model::installed::{ADMIN_PORT, CRD, NAME, NAMESPACE, SERVICE, WEBHOOK_PORT};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{
    control_plane::{ControlPlane, Setup},
    get,
    load::{CLOSED, Load, OPEN, RATE},
    metric_in, network, roster, wait,
};

/// How often a kubelet probes.
const PROBE: Duration = Duration::from_millis(200);
/// The Node of all pods.
const NODE: &str = "n";
const CONFIGURATIONS: [&str; 2] = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

pub(crate) struct Site {
    // In the order of their end.
    pub(crate) replicas: Vec<Replica>,
    kubelet: Kubelet,
    plane: ControlPlane,
    pub(crate) api: Api,
    pub(crate) volume: Volume,
    kubeconfig: PathBuf,
    dir: PathBuf,
    /// Further flags of each replica.
    flags: Vec<String>,
    /// How many replicas there have been.
    made: u8,
}

/// Requests to the API server, as its administrator.
#[derive(Clone)]
pub(crate) struct Api {
    runtime: Arc<Runtime>,
    client: Client,
}

/// A process in a pod.
pub(crate) struct Replica {
    pub(crate) pod: String,
    pub(crate) address: Ipv4Addr,
    pub(crate) log: PathBuf,
    child: Child,
}

/// Where a replica's certificate comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Files,
    SelfSigned(&'a [&'a str]),
}

/// The names of the certificate.
pub(crate) fn names() -> Vec<String> {
    vec![format!("{SERVICE}.{NAMESPACE}.svc")]
}

/// A CA, and a certificate.
fn fresh() -> Material {
    made_at(Timestamp::now())
}

/// The same as it was made at another time.
pub(crate) fn made_at(time: Timestamp) -> Material {
    advance(time, Material::default(), true, &names(), &CertificateLifetimes::default()).unwrap().0
}

impl Site {
    /// With so many replicas, whose certificates are in files.
    pub(crate) fn start(assets: &Path, dir: &Path, replicas: usize) -> Self {
        Self::start_with(assets, dir, replicas, documents(), Vec::new())
    }

    /// The same with other documents than `manifests/base`, and with further flags.
    pub(crate) fn start_with(
        assets: &Path,
        dir: &Path,
        replicas: usize,
        documents: Vec<Value>,
        flags: Vec<String>,
    ) -> Self {
        network::set_up(&["addr add 192.0.2.1/24 dev lo"]);
        let routing = ["--enable-aggregator-routing=true".to_owned()];
        let plane = ControlPlane::start(&Setup { assets, dir, api_server: &routing, controllers: true }).unwrap();
        let api = Api::new(&plane.kubeconfig());
        let volume = Volume::new(dir.join("tls"));
        let kubelet = Kubelet::start(api.clone());
        let (kubeconfig, dir) = (plane.kubeconfig(), dir.to_owned());
        let mut site = Self { replicas: Vec::new(), kubelet, plane, api, volume, kubeconfig, dir, flags, made: 0 };
        site.install(documents);
        for _ in 0..replicas {
            site.add(Source::Files);
        }
        site
    }

    /// The control plane.
    pub(crate) fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// Applies the documents, with each webhook twice: as it is, and with `Fail` for another namespace.
    fn install(&self, mut items: Vec<Value>) {
        let bundle = BASE64_STANDARD.encode(&self.volume.material.bundle);
        for namespace in [OPEN, CLOSED] {
            self.api.create("/api/v1/namespaces", &json!({ "metadata": { "name": namespace } }));
        }
        self.api.create("/api/v1/nodes", &json!({ "metadata": { "name": NODE } }));
        items
            .retain(|d| !["Deployment", "PodDisruptionBudget", "NetworkPolicy"].contains(&d["kind"].as_str().unwrap()));
        for item in &mut items {
            if item["kind"] == "CustomResourceDefinition" {
                item["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = bundle.as_str().into();
            }
            if let Some(webhooks) = item["webhooks"].as_array_mut() {
                *webhooks = webhooks.iter().flat_map(|w| twice(w, &bundle)).collect();
            }
        }
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        self.plane.kubectl_with("apply -f -", &list.to_string()).unwrap();
    }

    /// Starts a replica, and waits until it is published.
    pub(crate) fn add(&mut self, source: Source<'_>) {
        self.made += 1;
        let (pod, address) = (format!("{NAME}-{}", self.made), Ipv4Addr::new(192, 0, 2, 10 + self.made));
        let log = self.dir.join(format!("{pod}.log"));
        let mut command = roster();
        command
            .args(["serve", "--cluster", "--shutdown-delay-duration=2s", "--kubeconfig"])
            .arg(&self.kubeconfig)
            .arg(format!("--webhook-listen={address}:{WEBHOOK_PORT}"))
            .arg(format!("--admin-listen={address}:{ADMIN_PORT}"))
            .args(&self.flags)
            .env("POD_NAME", &pod)
            .env("POD_NAMESPACE", NAMESPACE);
        match source {
            Source::Files => {
                command.arg("--tls-cert-file").arg(self.volume.dir.join("tls.crt"));
                command.arg("--tls-private-key-file").arg(self.volume.dir.join("tls.key"))
            }
            Source::SelfSigned(flags) => command.arg("--self-signed").args(flags),
        };
        let child = command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
        self.replicas.push(Replica { pod: pod.clone(), address, log, child });
        self.kubelet.run(&pod, address);
        wait("the replica is published", || self.published().contains(&address).then_some(()));
    }

    /// Deletes the pod of a replica, as a Deployment does: it is stopped, and removed from the Service meanwhile.
    pub(crate) fn retire(&mut self, at: usize) -> Replica {
        let replica = self.replicas.remove(at);
        self.api.delete(&pod_path(&replica.pod), 30);
        replica.signal("TERM");
        replica
    }

    /// After the end of its process.
    pub(crate) fn bury(&self, mut replica: Replica) {
        let ended = wait("the replica ends", || replica.child.try_wait().unwrap());
        assert!(ended.success(), "{ended}\n{}", replica.log_text());
        self.forget(&replica);
    }

    pub(crate) fn forget(&self, replica: &Replica) {
        self.kubelet.forget(&replica.pod);
        self.api.delete(&pod_path(&replica.pod), 0);
    }

    /// The addresses of the Service that are ready.
    pub(crate) fn published(&self) -> Vec<Ipv4Addr> {
        let path = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices");
        let slices = self.api.get(&path);
        let endpoints = slices["items"].as_array().unwrap().iter().filter_map(|s| s["endpoints"].as_array()).flatten();
        let ready = endpoints.filter(|e| e["conditions"]["ready"] == true);
        ready.map(|e| e["addresses"][0].as_str().unwrap().parse().unwrap()).collect()
    }

    pub(crate) fn wait_until_published(&self, count: usize) {
        wait("the replicas are published", || (self.published().len() == count).then_some(()));
    }

    /// Writes a `caBundle` into every configuration. An API server takes another client for another bundle, with
    /// connections of its own.
    pub(crate) fn set_bundle(&self, bundle: &str) {
        let bundle = BASE64_STANDARD.encode(bundle);
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD}");
        let config = json!({ "clientConfig": { "caBundle": bundle } });
        let change = json!({ "spec": { "conversion": { "webhook": config } } });
        self.api.patch("application/merge-patch+json", &path, &change);
        for kind in CONFIGURATIONS {
            let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}/{NAME}");
            let count = self.api.get(&path)["webhooks"].as_array().unwrap().len();
            let at = |n| format!("/webhooks/{n}/clientConfig/caBundle");
            let change: Vec<Value> =
                (0..count).map(|n| json!({ "op": "add", "path": at(n), "value": bundle })).collect();
            self.api.patch("application/json-patch+json", &path, &change.into());
        }
    }

    /// Makes the API server come on new connections, so many times: each bundle is the same CA in another text.
    pub(crate) fn reconnect(&self, times: usize) {
        for n in 1..=times {
            self.set_bundle(&(self.volume.material.bundle.clone() + &"\n".repeat(n)));
        }
    }

    /// The load, once the first writes have gone through.
    pub(crate) fn load(&self) -> Load {
        let load = self.load_of(RATE);
        load.go_on(50);
        load
    }

    pub(crate) fn load_of(&self, rate: u32) -> Load {
        Load::start(self.api.runtime.handle(), self.api.client.clone(), rate)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.api.runtime
    }
}

/// A webhook for everything but one namespace, and the same with `Fail` for that one.
fn twice(webhook: &Value, bundle: &str) -> [Value; 2] {
    let (mut open, mut closed) = (webhook.clone(), webhook.clone());
    for one in [&mut open, &mut closed] {
        one["clientConfig"]["caBundle"] = bundle.into();
    }
    let expression = &mut open["namespaceSelector"]["matchExpressions"][0];
    expression["values"].as_array_mut().unwrap().push(CLOSED.into());
    closed["name"] = format!("closed.{}", closed["name"].as_str().unwrap()).into();
    closed["failurePolicy"] = "Fail".into();
    closed["namespaceSelector"] = json!({ "matchLabels": { "kubernetes.io/metadata.name": CLOSED } });
    [open, closed]
}

/// All of `manifests/base`.
fn documents() -> Vec<Value> {
    let base =
        roster::deploy::files(&roster::cli::server_permissions()).into_iter().filter(|f| f.path.starts_with("base/"));
    base.filter(|f| !f.path.ends_with("kustomization.yaml")).flat_map(|f| f.documents).collect()
}

fn pod_path(name: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/pods/{name}")
}

impl Api {
    fn new(kubeconfig: &Path) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(async {
            let file = Kubeconfig::read_from(kubeconfig).unwrap();
            let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
            Client::try_from(config).unwrap()
        });
        Self { runtime: Arc::new(runtime), client }
    }

    fn send(&self, request: http::request::Builder, body: Vec<u8>) -> Value {
        let request = request.body(body).unwrap();
        self.runtime.block_on(self.client.request(request)).unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.send(http::Request::get(path), Vec::new())
    }

    pub(crate) fn create(&self, path: &str, object: &Value) -> Value {
        let request = http::Request::post(path).header("content-type", "application/json");
        self.send(request, object.to_string().into_bytes())
    }

    pub(crate) fn patch(&self, kind: &str, path: &str, change: &Value) -> Value {
        self.send(http::Request::patch(path).header("content-type", kind), change.to_string().into_bytes())
    }

    fn delete(&self, path: &str, grace: u8) -> Value {
        self.send(http::Request::delete(format!("{path}?gracePeriodSeconds={grace}")), Vec::new())
    }
}

impl Replica {
    pub(crate) fn webhook(&self) -> SocketAddr {
        (self.address, WEBHOOK_PORT).into()
    }

    pub(crate) fn admin(&self) -> String {
        format!("{}:{ADMIN_PORT}", self.address)
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// The answer of `/readyz`.
    pub(crate) fn readyz(&self) -> String {
        get(&self.admin(), "/readyz?verbose").unwrap()
    }

    /// A line of `/metrics`; 0 if it is not there.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = get(&self.admin(), "/metrics").unwrap();
        metric_in(&text, name).map_or(0, |value| value.parse().unwrap())
    }

    pub(crate) fn log_text(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Publishes whether processes are ready, as the kubelet of a node does with its pods.
struct Kubelet {
    api: Api,
    pods: Arc<Mutex<Vec<Pod>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone)]
struct Pod {
    name: String,
    address: Ipv4Addr,
    /// What was published last.
    ready: Option<bool>,
}

impl Kubelet {
    fn start(api: Api) -> Self {
        let (pods, stop) = (Arc::<Mutex<Vec<Pod>>>::default(), Arc::<AtomicBool>::default());
        let (looked_at, stopped, client) = (pods.clone(), stop.clone(), api.clone());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                looked_at.lock().unwrap().iter_mut().for_each(|pod| pod.publish(&client));
                thread::sleep(PROBE);
            }
        });
        Self { api, pods, stop, thread: Some(thread) }
    }

    fn run(&self, name: &str, address: Ipv4Addr) {
        let deployment = documents().into_iter().find(|d| d["kind"] == "Deployment").unwrap();
        let mut pod = deployment["spec"]["template"].clone();
        pod["metadata"]["name"] = name.into();
        pod["spec"]["nodeName"] = NODE.into();
        self.api.create(&format!("/api/v1/namespaces/{NAMESPACE}/pods"), &pod);
        self.pods.lock().unwrap().push(Pod { name: name.to_owned(), address, ready: None });
    }

    fn forget(&self, name: &str) {
        self.pods.lock().unwrap().retain(|p| p.name != name);
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = self.thread.take().unwrap().join();
    }
}

impl Pod {
    fn publish(&mut self, api: &Api) {
        let answer = get(&format!("{}:{ADMIN_PORT}", self.address), "/readyz");
        let ready = answer.is_some_and(|a| a.starts_with("HTTP/1.1 200"));
        if self.ready == Some(ready) {
            return;
        }
        let status = json!({ "status": {
            "phase": "Running",
            "podIP": self.address, "podIPs": [{ "ip": self.address }],
            "conditions": [{ "type": "Ready", "status": if ready { "True" } else { "False" } }],
        } });
        api.patch("application/merge-patch+json", &format!("{}/status", pod_path(&self.name)), &status);
        self.ready = Some(ready);
    }
}

/// A Secret volume: its files are links into a folder that is swapped.
pub(crate) struct Volume {
    dir: PathBuf,
    versions: usize,
    /// What the files hold.
    pub(crate) material: Material,
}

impl Volume {
    fn new(dir: PathBuf) -> Self {
        fs::create_dir_all(&dir).unwrap();
        let mut volume = Self { dir, versions: 0, material: Material::default() };
        volume.swap(fresh());
        for name in ["tls.crt", "tls.key"] {
            std::os::unix::fs::symlink(format!("..data/{name}"), volume.dir.join(name)).unwrap();
        }
        volume
    }

    /// As a kubelet does it: a new folder, and one rename.
    pub(crate) fn swap(&mut self, material: Material) {
        self.versions += 1;
        let folder = format!("..{}", self.versions);
        fs::create_dir(self.dir.join(&folder)).unwrap();
        for (name, text) in [("tls.crt", &material.certificate), ("tls.key", &material.key)] {
            fs::write(self.dir.join(&folder).join(name), text).unwrap();
        }
        let next = self.dir.join("..data_tmp");
        std::os::unix::fs::symlink(&folder, &next).unwrap();
        fs::rename(next, self.dir.join("..data")).unwrap();
        if self.versions > 1 {
            fs::remove_dir_all(self.dir.join(format!("..{}", self.versions - 1))).unwrap();
        }
        self.material = material;
    }
}
