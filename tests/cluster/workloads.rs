//! The pods that Roster assumes are those that the real controllers make: random workloads, created on a real control
//! plane. What is generated counts as equal: hashes, letters at the end of names, uids.

pub(crate) mod generator;

use std::{
    collections::BTreeMap,
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use roster_engine::model::{Labels, Node, Pod, Resource, defaults::ClusterFamilies};
use roster_manifests::inventory::workloads::{
    ASSUMED, KnownObjects, MAX_PODS, Workload, WorkloadController, WorkloadPods, assume,
};
use serde_json::{Value, json};

use super::{
    api::ApiServer,
    assets,
    control_plane::{ControlPlane, Setup},
};
use generator::{nodes, workload};

const WORKLOADS: u64 = 200;
const SEED: u64 = 20_261_122;
/// The least that must be accepted.
const ACCEPTED: usize = 150;
/// The controllers of workloads.
const CONTROLLERS: &str = "deployment-controller,replicaset-controller,replicationcontroller-controller,\
                           statefulset-controller,daemonset-controller,job-controller,cronjob-controller";
/// Where pods run that may run anywhere.
const ANY_NODE: &str = "plain";
const ZONE_OF_ANY_NODE: &str = "a";
/// Longest time until all pods are there.
const MADE: Duration = Duration::from_mins(1);
/// How long the pods must stay the same to count as all.
const QUIET: Duration = Duration::from_secs(4);

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn assumed_pods_are_those_of_the_controllers() {
    let (assets, dir) = (assets(), tempfile::tempdir().unwrap());
    let setup = Setup { assets: &assets, dir: dir.path(), api_server: &[], controllers: false };
    let mut plane = ControlPlane::start(&setup).unwrap();
    let api = ApiServer::of(&plane);
    create_nodes(&api);
    let objects: Vec<Value> = (0..WORKLOADS).map(|index| workload(SEED, index)).collect();
    let (mut accepted, mut refused) = (Vec::new(), BTreeMap::<String, usize>::new());
    for (object, told) in objects.iter().zip(api.create_each(&objects)) {
        match told.status {
            201 => accepted.push(object),
            _ => *refused.entry(told.body["message"].to_string().chars().skip(1).take(120).collect()).or_default() += 1,
        }
    }
    println!("{} accepted, refused: {refused:#?}", accepted.len());
    assert!(accepted.len() >= ACCEPTED, "too few");
    let wanted = assumed(&accepted, &api);
    plane.start_controllers_named(CONTROLLERS).unwrap();
    let made = made(&api, wanted.len());
    let numbers = accepted.iter().fold(BTreeMap::<&str, usize>::new(), |mut all, object| {
        *all.entry(object["kind"].as_str().unwrap()).or_default() += 1;
        all
    });
    println!("{numbers:?}: {} pods assumed, {} made", wanted.len(), made.len());
    let missing: Vec<&String> = wanted.iter().filter(|w| !made.contains(w)).collect();
    let unexpected: Vec<&String> = made.iter().filter(|m| !wanted.contains(m)).collect();
    assert!(wanted == made, "assumed, but not made: {missing:#?}\nmade, but not assumed: {unexpected:#?}");
}

/// Creates the nodes; a new one gets a taint that has to be taken off again.
pub(super) fn create_nodes(api: &ApiServer) {
    for (node, spec) in nodes() {
        assert_eq!(api.create(&node, "", false).status, 201);
        assert_eq!(api.patch(&node, &json!({ "spec": spec })).status, 200);
    }
}

/// The pods that Roster assumes for the manifests, as lines.
fn assumed(manifests: &[&Value], api: &ApiServer) -> Vec<String> {
    let workloads: Vec<Workload> = manifests.iter().map(|m| read(m)).collect();
    let nodes: Vec<Node> = serde_json::from_value(api.get("/api/v1/nodes").body["items"].clone()).unwrap();
    let nodes: Vec<Arc<Node>> = nodes.into_iter().map(Arc::new).collect();
    let known = KnownObjects {
        workloads: &workloads,
        services: &[],
        autoscalers: &[],
        pods: &[],
        nodes: &nodes,
        zones: &[],
        families: ClusterFamilies::default(),
        due: false,
        max_pods: MAX_PODS,
    };
    let assumed = assume(&known);
    assert!(assumed.workloads.iter().all(|(_, outcome)| !matches!(outcome, WorkloadPods::TooMany(_))));
    let placed = |pod: &Pod| {
        let is = |w: &&Workload| w.template.labels.get("app") == pod.labels.get("app");
        let workload = workloads.iter().find(is).unwrap();
        workload.controller == WorkloadController::DaemonSet || !workload.template.scheduling.node_name.is_empty()
    };
    let mut lines: Vec<String> = assumed
        .pods
        .into_iter()
        .map(|a| {
            let is_placed = placed(&a.pod);
            line(a.pod, &a.annotations, is_placed)
        })
        .collect();
    lines.sort();
    lines
}

/// Reads a manifest.
fn read(manifest: &Value) -> Workload {
    let kind = manifest["kind"].as_str().unwrap();
    let resource = Resource::ALL.iter().find(|r| r.kind() == kind).copied().unwrap();
    Workload::read(resource, manifest.clone()).unwrap()
}

/// Waits for the pods that the controllers make; those of StatefulSets come one after another, each when the one before
/// it runs. This test is the scheduler.
fn made(api: &ApiServer, expected: usize) -> Vec<String> {
    let start = Instant::now();
    let (mut count, mut since) = (0, Instant::now());
    loop {
        let pods = api.get("/api/v1/namespaces/default/pods").body["items"].take();
        let pods = pods.as_array().unwrap().clone();
        for pod in &pods {
            let pod = with_type(pod);
            let owner = pod["metadata"]["ownerReferences"][0]["kind"].as_str().unwrap();
            if pod["spec"]["nodeName"].is_null() {
                api.bind(&pod, if owner == "DaemonSet" { node_of(&pod) } else { ANY_NODE });
            }
            if owner == "StatefulSet" && pod["status"]["phase"] != "Running" {
                let ready = json!([{"type": "Ready", "status": "True"}]);
                api.patch_status(&pod, &json!({"status": {"phase": "Running", "conditions": ready}}));
            }
        }
        if pods.len() != count {
            (count, since) = (pods.len(), Instant::now());
        }
        let is_quiet = since.elapsed() > QUIET && count >= expected;
        if is_quiet || start.elapsed() > MADE {
            let pods = api.get("/api/v1/namespaces/default/pods").body["items"].take();
            let mut lines: Vec<String> = pods.as_array().unwrap().iter().map(line_of_real).collect();
            lines.sort();
            return lines;
        }
        sleep(Duration::from_millis(300));
    }
}

/// Objects of a list do not say their type.
pub(super) fn with_type(pod: &Value) -> Value {
    let mut pod = pod.clone();
    (pod["apiVersion"], pod["kind"]) = (json!("v1"), json!("Pod"));
    pod
}

/// The node that a pod of a DaemonSet is for.
pub(super) fn node_of(pod: &Value) -> &str {
    let affinity = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"][0].as_str().unwrap()
}

/// A pod of the controllers, with the stand-ins of Roster for what is generated.
fn line_of_real(object: &Value) -> String {
    let mut pod: Pod = serde_json::from_value(object.clone()).unwrap();
    let annotations = object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    let added = annotations.iter().filter(|(key, _)| key.starts_with("batch."));
    let annotations: Labels = added.map(|(k, v)| (k.as_str(), v.as_str().unwrap())).collect();
    let mut labels = Labels::clone(&pod.labels);
    let mut owner = (**pod.owner.as_ref().unwrap()).clone();
    let mut name = pod.name().to_string();
    let kind = owner.kind.clone();
    if let Some(prefix) = object["metadata"]["generateName"].as_str().filter(|_| kind != "StatefulSet") {
        name = format!("{}*", &prefix[..prefix.len().min(58)]);
    }
    for key in ["controller-uid", "batch.kubernetes.io/controller-uid"] {
        if labels.get(key) == Some(&owner.uid) {
            labels.insert(key, ASSUMED);
        }
    }
    let hash = labels.get("pod-template-hash").cloned().unwrap_or_default();
    if let Some(deployment) = owner.name.strip_suffix(&format!("-{hash}")).filter(|_| kind == "ReplicaSet") {
        owner.name = format!("{deployment}-{ASSUMED}").into();
        name = name.replacen(&format!("{hash}-*"), &format!("{ASSUMED}-*"), 1);
        labels.insert("pod-template-hash", ASSUMED);
    }
    match kind.as_str() {
        "StatefulSet" => labels.insert("controller-revision-hash", format!("{}-{ASSUMED}", owner.name)),
        "DaemonSet" => labels.insert("controller-revision-hash", ASSUMED),
        _ => {}
    }
    (pod.labels, pod.owner) = (labels.into(), Some(owner.into()));
    std::sync::Arc::make_mut(&mut pod.reference).name = name.into();
    text(&pod, &annotations)
}

/// An assumed pod, on the node where this test binds it if no controller says on which.
fn line(mut pod: Pod, annotations: &Labels, is_placed: bool) -> String {
    let owner = pod.owner.as_ref().unwrap();
    if owner.kind != "StatefulSet" {
        let prefix = pod.name().trim_end_matches(|c: char| c.is_ascii_digit());
        let marker = if owner.name.ends_with(ASSUMED) { "" } else { "assumed-" };
        let name = format!("{}*", prefix.strip_suffix(marker).unwrap());
        std::sync::Arc::make_mut(&mut pod.reference).name = name.into();
    }
    if !is_placed {
        pod.node_name = ANY_NODE.into();
        let mut labels = Labels::clone(&pod.labels);
        labels.insert("topology.kubernetes.io/zone", ZONE_OF_ANY_NODE);
        pod.labels = labels.into();
    }
    text(&pod, annotations)
}

fn text(pod: &Pod, annotations: &Labels) -> String {
    let owner = pod.owner.as_ref().unwrap();
    let ports: Vec<String> = pod
        .ports
        .iter()
        .map(|p| format!("{}:{}/{}{}", p.name, p.number, p.protocol, if p.sidecar { "s" } else { "" }))
        .collect();
    let labels = json!([*pod.labels, annotations]);
    let flags = (owner.controller, owner.block_owner_deletion, pod.host_network);
    format!(
        "{} {labels} {}.{} {} {} {} {flags:?} {} {}",
        pod.name(),
        pod.hostname,
        pod.subdomain,
        owner.api_version,
        owner.kind,
        owner.name,
        pod.node_name,
        ports.join(","),
    )
}
