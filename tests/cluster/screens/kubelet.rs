//! The scheduler and the kubelet of a small cluster: the containers of Roster's image are processes, with the arguments, the
//! volumes and the service account of their pods. Other pods stay as they are.

#![expect(
    clippy::unwrap_in_result,
    reason = "`None` means that an object is not there yet: anything else fails the test"
)]

use std::{
    collections::BTreeMap,
    fs,
    net::Ipv4Addr,
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
use roster_engine::model::installed::ADMIN_PORT;
use serde_json::{Value, json};

use crate::{api::ApiServer, get, roster};

/// How often pods are looked at, and probed.
const PERIOD: Duration = Duration::from_millis(200);
/// The image of Roster on the pages.
const IMAGE: &str = "registry.example.com/roster";
/// The Node of its pods.
const NODE: &str = "node-a";

/// It ends, with all processes, when it is dropped.
pub(super) struct Kubelet {
    pods: Arc<Mutex<BTreeMap<String, Running>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A pod that runs.
struct Running {
    address: Ipv4Addr,
    process: Child,
    /// What was published last.
    ready: Option<bool>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Kubelet {
    /// Its files and logs are in the folder.
    pub(super) fn start(kubeconfig: &Path, dir: PathBuf) -> Self {
        let (pods, stop) = (Arc::<Mutex<BTreeMap<String, Running>>>::default(), Arc::<AtomicBool>::default());
        let node = Node { api: ApiServer::with(kubeconfig), kubeconfig: kubeconfig.to_owned(), dir, made: 0 };
        let (shared, stopped) = (pods.clone(), stop.clone());
        let thread = thread::spawn(move || node.follow(&shared, &stopped));
        Self { pods, stop, thread: Some(thread) }
    }

    /// The address of a pod.
    pub(super) fn address(&self, namespace: &str, name: &str) -> Option<Ipv4Addr> {
        Some(self.pods.lock().unwrap().get(&format!("{namespace}/{name}"))?.address)
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking(), "the kubelet failed");
    }
}

struct Node {
    api: ApiServer,
    kubeconfig: PathBuf,
    dir: PathBuf,
    /// How many pods there have been.
    made: u8,
}

impl Node {
    fn follow(mut self, pods: &Mutex<BTreeMap<String, Running>>, stop: &AtomicBool) {
        while !stop.load(Ordering::SeqCst) {
            let listed = self.api.get("/api/v1/pods").body["items"].take();
            for pod in listed.as_array().into_iter().flatten() {
                self.sync(pod, &mut pods.lock().unwrap());
            }
            thread::sleep(PERIOD);
        }
        pods.lock().unwrap().clear();
    }

    fn sync(&mut self, pod: &Value, pods: &mut BTreeMap<String, Running>) {
        if !text(pod, "/spec/containers/0/image").starts_with(IMAGE) {
            return;
        }
        let mut pod = pod.clone();
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
        let key = format!("{}/{}", text(&pod, "/metadata/namespace"), text(&pod, "/metadata/name"));
        if pod["metadata"]["deletionTimestamp"].is_string() {
            let ended = pods.get_mut(&key).is_none_or(Running::ends);
            if ended {
                pods.remove(&key);
                self.api.delete_now(&pod);
            }
            return;
        }
        if pod["spec"]["nodeName"].is_null() {
            self.api.bind(&pod, NODE);
        }
        if !pods.contains_key(&key) {
            let Some(running) = self.run(&pod) else { return };
            pods.insert(key.clone(), running);
        }
        let running = pods.get_mut(&key).unwrap();
        // An object that is gone stays as it was.
        let _ = self.mount_all(&pod, &self.dir.join(key.replace('/', ".")));
        let ready = running.is_ready();
        if running.ready != Some(ready) && self.publish(&pod, running.address, ready) {
            running.ready = Some(ready);
        }
    }

    /// None if an object that it needs is not there yet.
    fn run(&mut self, pod: &Value) -> Option<Running> {
        let address = Ipv4Addr::new(192, 0, 2, 11 + self.made);
        let process = self.process(pod, &pod["spec"]["containers"][0], address)?;
        self.made += 1;
        Some(Running { address, process, ready: None })
    }

    fn process(&self, pod: &Value, container: &Value, address: Ipv4Addr) -> Option<Child> {
        let (namespace, name) = (text(pod, "/metadata/namespace"), text(pod, "/metadata/name"));
        let folder = self.dir.join(format!("{namespace}.{name}"));
        fs::create_dir_all(&folder).unwrap();
        let mounted = self.mount_all(pod, &folder)?;
        let mut command = roster();
        for argument in container["args"].as_array().unwrap() {
            let mut argument = argument.as_str().unwrap().replace("listen=:", &format!("listen={address}:"));
            for (path, inside) in &mounted {
                argument = argument.replace(&format!("={path}"), &format!("={inside}"));
            }
            command.arg(argument);
        }
        for variable in container["env"].as_array().into_iter().flatten() {
            let value = match text(variable, "/valueFrom/fieldRef/fieldPath").as_str() {
                "metadata.name" => name.clone(),
                "metadata.namespace" => namespace.clone(),
                "spec.nodeName" => NODE.to_owned(),
                "" => text(variable, "/value"),
                other => panic!("no variable for {other}"),
            };
            command.env(text(variable, "/name"), value);
        }
        if container["args"]
            .as_array()
            .unwrap()
            .iter()
            .any(|argument| argument == "controller" || argument == "--cluster")
        {
            command.arg("--kubeconfig").arg(self.account(pod, &folder)?);
        }
        let log = fs::File::create(folder.join("log")).unwrap();
        Some(command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap())
    }

    /// The kubeconfig of a pod's service account.
    fn account(&self, pod: &Value, folder: &Path) -> Option<PathBuf> {
        let (namespace, name) = (text(pod, "/metadata/namespace"), text(pod, "/spec/serviceAccountName"));
        let mut kubectl = Command::new("kubectl");
        kubectl.arg("--kubeconfig").arg(&self.kubeconfig).args(["-n", &namespace, "create", "token", &name]);
        let token = kubectl.output().unwrap();
        if !token.status.success() {
            return None;
        }
        let admin = fs::read_to_string(&self.kubeconfig).unwrap();
        let mut config: Value = serde_saphyr::from_str(&admin).unwrap();
        config["users"][0]["user"] = json!({ "token": String::from_utf8(token.stdout).unwrap().trim() });
        let path = folder.join("kubeconfig");
        fs::write(&path, config.to_string()).unwrap();
        Some(path)
    }

    /// Mounts the volumes of a pod, or brings them up to date. Returns for each the path in the container, and the folder.
    fn mount_all(&self, pod: &Value, folder: &Path) -> Option<Vec<(String, String)>> {
        let namespace = text(pod, "/metadata/namespace");
        let mut mounted = Vec::new();
        for mount in pod["spec"]["containers"][0]["volumeMounts"].as_array().into_iter().flatten() {
            let volumes = pod["spec"]["volumes"].as_array().unwrap();
            let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
            let inside = folder.join(text(mount, "/name"));
            self.mount(&namespace, volume, &inside)?;
            mounted.push((text(mount, "/mountPath"), inside.display().to_string()));
        }
        Some(mounted)
    }

    fn mount(&self, namespace: &str, volume: &Value, inside: &Path) -> Option<()> {
        fs::create_dir_all(inside).unwrap();
        let sources = [("configMap/name", "configmaps"), ("secret/secretName", "secrets")];
        for (field, plural) in sources {
            let name = text(volume, &format!("/{field}"));
            if name.is_empty() {
                continue;
            }
            let told = self.api.get(&format!("/api/v1/namespaces/{namespace}/{plural}/{name}"));
            if told.status != 200 {
                return None;
            }
            for (file, value) in told.body["data"].as_object().into_iter().flatten() {
                let value = value.as_str().unwrap();
                let bytes = if plural == "secrets" {
                    BASE64_STANDARD.decode(value).unwrap()
                } else {
                    value.as_bytes().to_vec()
                };
                let path = inside.join(file);
                if fs::read(&path).ok().as_ref() != Some(&bytes) {
                    // Nobody reads half of it.
                    let new = inside.with_extension("new");
                    fs::write(&new, bytes).unwrap();
                    fs::rename(new, path).unwrap();
                }
            }
        }
        Some(())
    }

    fn publish(&self, pod: &Value, address: Ipv4Addr, ready: bool) -> bool {
        let status = if ready { "True" } else { "False" };
        let conditions = ["Ready", "ContainersReady"].map(|kind| json!({ "type": kind, "status": status }));
        let status = json!({ "status": {
            "phase": "Running", "podIP": address, "podIPs": [{ "ip": address }], "conditions": conditions,
        } });
        // It may have gone meanwhile.
        self.api.patch_status(pod, &status).status == 200
    }
}

impl Running {
    fn is_ready(&self) -> bool {
        let answer = get(&format!("{}:{ADMIN_PORT}", self.address), "/readyz");
        answer.is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    /// Asks the process to end; whether it has ended.
    fn ends(&mut self) -> bool {
        if self.process.try_wait().unwrap().is_some() {
            return true;
        }
        if self.ready.take().is_some() {
            let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        }
        false
    }
}

/// The text at a pointer; empty if there is none.
fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
