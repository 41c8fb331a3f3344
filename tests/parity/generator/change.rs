//! What happens to a cluster between two syncs: pods come, go and change, nodes too, and the Service
//! is edited.

use serde_json::{Value, json};

use super::super::rng::Rng;
use super::{Mood, endpoints, list, max_per_slice, pods, service, set};

pub(crate) fn state(r: &mut Rng, m: &Mood, case: &mut Value) {
    if r.percent(35) {
        change_service(r, m, case);
    }
    if case["controller"] == "mirroring" {
        change_unmanaged(r, m, case);
        return;
    }
    if r.percent(75) {
        change_pods(r, m, case);
    }
    if case["controller"] == "endpointslices" {
        if r.percent(30) {
            change_nodes(r, m, case);
        }
        if r.percent(8) {
            case["maxEndpointsPerSlice"] = max_per_slice(r, m).into();
        }
    }
}

fn change_service(r: &mut Rng, m: &Mood, case: &mut Value) {
    let controller = case["controller"].as_str().unwrap_or_default().to_owned();
    let service = &mut case["service"];
    for _ in 0..r.between(1, 2) {
        match r.below(10) {
            0 | 1 => set(&mut service["metadata"], "labels", service::labels(r, m)),
            2 => set(&mut service["metadata"], "annotations", service::annotations(r, m, &controller)),
            3 => set(&mut service["spec"], "ports", service::ports(r, m)),
            4 => service::families(r, m, &mut service["spec"]),
            5 => service["spec"]["publishNotReadyAddresses"] = r.percent(60).into(),
            6 => set(&mut service["spec"], "trafficDistribution", service::traffic_distribution(r, m)),
            7 if r.percent(40) => set(&mut service["spec"], "selector", service::selector(r, m, &controller)),
            8 if r.percent(25) => service["spec"]["type"] = "ExternalName".into(),
            9 if r.percent(25) => service["metadata"]["deletionTimestamp"] = r.time().into(),
            _ => service["metadata"]["labels"]["app"] = r.pick(&["x", "y"]).into(),
        }
    }
}

fn change_pods(r: &mut Rng, m: &Mood, case: &mut Value) {
    let service = case["service"].clone();
    let mut pods = std::mem::take(list(case, "pods"));
    let rate = r.pick(&[4, 15, 40]);
    let mut kept = Vec::new();
    for (i, mut pod) in pods.drain(..).enumerate() {
        if r.percent(rate) && !change_pod(r, m, &mut pod, i) {
            continue;
        }
        kept.push(pod);
    }
    let more = if r.percent(50) { r.below(1 + m.pods.1.min(40) / 2) } else { 0 };
    // Two pods of one name do not exist; neither may a new one have the name of one that went.
    let next = 3000 + case["generation"].as_u64().unwrap_or(0) as usize;
    case["generation"] = (next - 3000 + more).into();
    for i in 0..more {
        kept.push(pods::pod(r, m, &service, next + i));
    }
    if r.percent(30) {
        r.shuffle(&mut kept);
    }
    case["pods"] = kept.into();
}

/// False if the pod is gone.
fn change_pod(r: &mut Rng, m: &Mood, pod: &mut Value, i: usize) -> bool {
    pod["metadata"]["resourceVersion"] = r.between(10_000, 20_000).to_string().into();
    match r.below(12) {
        0..=3 => set(&mut pod["status"], "conditions", pods::conditions(r, false)),
        4 | 5 => return false,
        6 => pod["metadata"]["deletionTimestamp"] = r.time().into(),
        7 => pod["status"] = pods::status(r, m, 4000 + i),
        8 => pod["spec"]["nodeName"] = format!("node-{}", r.below(7)).into(),
        // Replaced by a pod of the same name, perhaps with the same address.
        9 => {
            pod["metadata"]["uid"] = r.uid().into();
            if r.percent(50) {
                pod["metadata"]["name"] = format!("pod-{:x}", r.next() >> 40).into();
            }
        }
        10 => set(&mut pod["spec"], "hostname", r.pick(&[Some("h1"), Some("h2"), None])),
        _ => pod["metadata"]["labels"] = json!({ "app": r.pick(&["x", "y"]) }),
    }
    true
}

fn change_nodes(r: &mut Rng, m: &Mood, case: &mut Value) {
    let nodes = list(case, "nodes");
    for i in 0..r.between(1, 2) {
        if nodes.is_empty() || r.percent(15) {
            nodes.retain(|n| n["metadata"]["name"] != "node-7");
            nodes.push(pods::node(r, m, 7, 4));
            continue;
        }
        let at = r.below(nodes.len());
        match r.below(5) {
            0 => {
                nodes.remove(at);
            }
            1 => nodes[at]["metadata"]["labels"]["topology.kubernetes.io/zone"] = r.pick(&["a", "b", "c", "z"]).into(),
            2 => nodes[at]["status"]["allocatable"] = json!({ "cpu": r.pick(&["1", "16", "750m"]) }),
            3 => nodes[at]["status"]["conditions"] = json!([{ "type": "Ready", "status": r.pick(&["True", "False"]) }]),
            _ => {
                let name = nodes[at]["metadata"]["name"].clone();
                nodes[at] = pods::node(r, m, i, 3);
                nodes[at]["metadata"]["name"] = name;
            }
        }
    }
}

fn change_unmanaged(r: &mut Rng, m: &Mood, case: &mut Value) {
    let object = &mut case["endpoints"];
    object["metadata"]["resourceVersion"] = "101".into();
    match r.below(8) {
        0 => set(&mut object["metadata"], "labels", endpoints::labels(r, m)),
        1 => set(&mut object["metadata"], "annotations", endpoints::annotations(r)),
        2 => set(object, "subsets", endpoints::subsets(r, m)),
        3 => object["metadata"]["uid"] = r.uid().into(),
        _ => {
            for subset in list(object, "subsets") {
                change_subset(r, m, subset);
            }
        }
    }
    if r.percent(8) {
        case["maxEndpointsPerSlice"] = r.between(1, 8).into();
    }
}

fn change_subset(r: &mut Rng, m: &Mood, subset: &mut Value) {
    for key in ["addresses", "notReadyAddresses"] {
        let Some(list) = subset.get_mut(key).and_then(Value::as_array_mut) else { continue };
        list.retain(|_| r.percent(85));
        while r.percent(30) {
            list.push(endpoints::address(r, m, 60));
        }
        if r.percent(20) {
            r.shuffle(list);
        }
    }
    if r.percent(15) {
        let (a, b) = (subset["addresses"].take(), subset["notReadyAddresses"].take());
        set(subset, "addresses", b);
        set(subset, "notReadyAddresses", a);
    }
    if r.percent(10)
        && let Some(port) = subset["ports"].get_mut(0)
    {
        port["port"] = r.pick(&[80, 81, 443]).into();
    }
}
