//! From manifests to endpoints: what `roster plan` says of random hand-written manifests is what the real controllers
//! write for every Service when the manifests are applied and the pods run. Addresses and generated names count as equal.

mod manifests;
mod published;

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use roster_engine::model::{
    Family, Pod, Text,
    defaults::{ClusterFamilies, Defaults},
};
use roster_manifests::{
    decode::{self, Source},
    inventory::{Inventory, workloads::MAX_PODS},
};
use serde_json::{Value, json};

use super::{
    api::ApiServer,
    assets,
    control_plane::{ControlPlane, Setup},
    roster,
    workloads::{create_nodes, node_of, with_type},
};
use manifests::{NAMESPACES, manifests};
use published::{PodOwner, Published};

const MANIFESTS: u64 = 300;
const SEED: u64 = 20_261_123;
/// The least number of Services that must be compared.
const SERVICES: usize = 300;
const CONTROLLERS: &str = "deployment-controller,replicaset-controller,replicationcontroller-controller,\
                           statefulset-controller,daemonset-controller,job-controller,cronjob-controller,\
                           endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller";
/// Longest time until the controllers have nothing to do any more.
const DONE: Duration = Duration::from_mins(5);
/// How long nothing must change to count as done.
const QUIET: Duration = Duration::from_secs(6);
/// The families of the test's cluster.
const FAMILIES: &str = "IPv4,IPv6";

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn plans_of_manifests_are_what_the_controllers_write() {
    let (assets, dir) = (assets(), tempfile::tempdir().unwrap());
    let setup = Setup { assets: &assets, dir: dir.path(), api_server: &[], controllers: false };
    let mut plane = ControlPlane::start(&setup).unwrap();
    let api = ApiServer::of(&plane);
    create_nodes(&api);
    for namespace in NAMESPACES {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        assert_eq!(api.create(&namespace, "", false).status, 201);
    }
    let files = tempfile::tempdir().unwrap();
    write_manifests(&api, files.path());
    let assumed = AssumedPlaces::of(files.path());
    let planned = planned(files.path(), &assumed);
    plane.start_controllers_with(CONTROLLERS, &["--kube-api-qps=300", "--kube-api-burst=600"]).unwrap();
    let made = made(&api, assumed, &planned);
    assert!(planned.len() >= SERVICES, "only {} Services", planned.len());
    let differing: Vec<_> = planned
        .iter()
        .filter(|(service, planned)| made.get(*service) != Some(planned))
        .map(|(service, planned)| json!({"service": service, "planned": planned, "made": made.get(service)}))
        .collect();
    println!("{} Services, {} differ", planned.len(), differing.len());
    let shown: Vec<String> = differing.iter().take(5).map(|d| serde_json::to_string_pretty(d).unwrap()).collect();
    assert!(differing.is_empty(), "{} of {} differ:\n{}", differing.len(), planned.len(), shown.join("\n"));
}

/// Writes the manifests that the API server accepts to a folder, a file for each, and the nodes.
fn write_manifests(api: &ApiServer, folder: &Path) {
    let mut refused = BTreeMap::<String, usize>::new();
    for index in 0..MANIFESTS {
        let mut file = String::new();
        for object in manifests(SEED, index) {
            let told = api.create(&object, "", false);
            if told.status == 201 {
                file += "---\n";
                file += &serde_json::to_string_pretty(&object).unwrap();
                file += "\n";
            } else {
                let why = told.body["message"].as_str().unwrap().chars().skip_while(|c| *c != ':').take(100).collect();
                *refused.entry(why).or_default() += 1;
            }
        }
        if !file.is_empty() {
            fs::write(folder.join(format!("{index:03}.yaml")), file).unwrap();
        }
    }
    println!("refused: {refused:#?}");
    let nodes = api.get("/api/v1/nodes").body;
    fs::write(folder.join("nodes.json"), nodes.to_string()).unwrap();
}

/// The nodes of the pods that Roster assumes, which this test gives to the pods of the same owner: it is the scheduler.
struct AssumedPlaces {
    /// Not used yet; an empty name is that of a pod that no node fits.
    nodes: BTreeMap<PodOwner, Vec<Text>>,
    /// The owner of each assumed pod, by namespace and name.
    owners: BTreeMap<(String, String), PodOwner>,
}

impl AssumedPlaces {
    /// Reads the files as `roster plan` does.
    fn of(folder: &Path) -> Self {
        let defaults = Defaults { families: Some(FAMILIES.parse::<ClusterFamilies>().unwrap()), ..Defaults::default() };
        let mut inventory = Inventory::default();
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            let name = file.display().to_string();
            let source = Source { defaults, ..Source::file(&name) };
            decode::read(fs::File::open(&file).unwrap(), &source, &mut inventory).unwrap();
        }
        inventory.assume_pods(&defaults, &[], MAX_PODS);
        let mut places = Self { nodes: BTreeMap::new(), owners: BTreeMap::new() };
        // Backwards, because the first to be used is the last of each list.
        for pod in inventory.pods.iter().rev() {
            let owner = PodOwner::of(pod);
            places.owners.insert((pod.namespace().to_string(), pod.name().to_string()), owner.clone());
            places.nodes.entry(owner).or_default().push(pod.node_name.clone());
        }
        places
    }
}

/// What `roster plan` says of every Service.
fn planned(folder: &Path, assumed: &AssumedPlaces) -> BTreeMap<String, Published> {
    let ran = roster().args(["plan", "-o", "json", "--ip-families", FAMILIES, "-f"]).arg(folder).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    let plan: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let mut all = BTreeMap::new();
    for item in plan["items"].as_array().unwrap() {
        let [namespace, name] = ["namespace", "name"].map(|field| item["service"][field].as_str().unwrap());
        let owner = |pod: &str| assumed.owners.get(&(namespace.to_owned(), pod.to_owned())).cloned();
        let endpoints = &item["endpoints"]["object"];
        let slices = item["endpointSlices"]["create"].as_array().unwrap();
        all.insert(format!("{namespace}/{name}"), Published::of(endpoints, slices, &owner));
    }
    all
}

/// What the controllers write, once they have nothing to do any more.
fn made(
    api: &ApiServer,
    mut places: AssumedPlaces,
    planned: &BTreeMap<String, Published>,
) -> BTreeMap<String, Published> {
    let start = Instant::now();
    let (mut before, mut since) = (BTreeMap::new(), Instant::now());
    let mut scheduler = Scheduler::default();
    loop {
        let pods = api.get("/api/v1/pods").body["items"].take();
        let pods = pods.as_array().unwrap();
        for pod in pods {
            scheduler.run(api, &with_type(pod), &mut places);
        }
        let now = stored(api, pods, planned);
        if now != before {
            (before, since) = (now, Instant::now());
        } else if since.elapsed() > QUIET || start.elapsed() > DONE {
            println!("{} pods, done after {} s", pods.len(), start.elapsed().as_secs());
            return before;
        }
        sleep(Duration::from_millis(500));
    }
}

/// What is stored for each of the planned Services.
fn stored(api: &ApiServer, pods: &[Value], planned: &BTreeMap<String, Published>) -> BTreeMap<String, Published> {
    let text = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
    let key = |object: &Value| (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    let owners: BTreeMap<(String, String), PodOwner> =
        pods.iter().map(|pod| (key(pod), PodOwner::of(&serde_json::from_value::<Pod>(pod.clone()).unwrap()))).collect();
    let list = |path: &str| api.get(path).body["items"].take().as_array().unwrap().clone();
    let endpoints: BTreeMap<_, Value> = list("/api/v1/endpoints").into_iter().map(|e| (key(&e), e)).collect();
    let mut slices: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    for slice in list("/apis/discovery.k8s.io/v1/endpointslices") {
        let service = text(&slice, "/metadata/labels/kubernetes.io~1service-name");
        slices.entry((text(&slice, "/metadata/namespace"), service)).or_default().push(slice);
    }
    let of_service = |service: &String| {
        let (namespace, name) = service.split_once('/').unwrap();
        let key = (namespace.to_owned(), name.to_owned());
        let owner = |pod: &str| owners.get(&(namespace.to_owned(), pod.to_owned())).cloned();
        let slices = slices.get(&key).map_or(&[][..], Vec::as_slice);
        // The plan does not write Endpoints that somebody wrote by hand.
        let is_by_hand = |e: &&Value| e["metadata"]["annotations"]["of"] == "hand";
        let endpoints = endpoints.get(&key).filter(|e| !is_by_hand(e)).unwrap_or(&Value::Null);
        (service.clone(), Published::of(endpoints, slices, &owner))
    };
    planned.keys().map(of_service).collect()
}

/// Binds pods to nodes and lets them run.
#[derive(Default)]
struct Scheduler {
    /// The next address.
    next: usize,
    /// The addresses of nodes, which pods of their network have.
    of_nodes: BTreeMap<String, usize>,
}

impl Scheduler {
    fn run(&mut self, api: &ApiServer, pod: &Value, places: &mut AssumedPlaces) {
        if pod["status"]["phase"] == "Running" {
            return;
        }
        let owner = PodOwner::of(&serde_json::from_value::<Pod>(pod.clone()).unwrap());
        let mut node = pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
        if node.is_empty() {
            node = if owner.kind == "DaemonSet" {
                node_of(pod).to_owned()
            } else {
                // More pods than assumed show in the comparison.
                places.nodes.get_mut(&owner).and_then(Vec::pop).unwrap_or_default().to_string()
            };
            if node.is_empty() || api.bind(pod, &node).status >= 300 {
                return;
            }
        }
        let number = if pod["spec"]["hostNetwork"] == true {
            let new = self.draw();
            *self.of_nodes.entry(node).or_insert(new)
        } else {
            self.draw()
        };
        let ips = [Family::V4, Family::V6].map(|family| address(family, number));
        let status = json!({"status": {
            "phase": "Running",
            "podIP": ips[0],
            "podIPs": [{"ip": ips[0]}, {"ip": ips[1]}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }});
        let told = api.patch_status(pod, &status);
        assert!(told.status < 300, "{told:?}");
    }

    fn draw(&mut self) -> usize {
        self.next += 1;
        self.next
    }
}

fn address(family: Family, number: usize) -> String {
    match family {
        Family::V4 => format!("10.1.{}.{}", number / 250, number % 250 + 1),
        Family::V6 => format!("fd00:10:1::{number:x}"),
    }
}
