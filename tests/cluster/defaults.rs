//! What Roster fills in is what a real API server fills in, and what an API server refuses is an error of `roster lint`:
//! random manifests, created as dry runs on a cluster with one address family and on one with both.
//!
//! Refusals are compared in both directions.

mod manifests;
mod odd_values;
mod refusals;
mod workloads;

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc, thread};

use roster_engine::model::{Family, ObjectMeta, Service, defaults::Defaults};
use roster_manifests::{
    decode::{self, Source},
    inventory::Inventory,
};
use serde_json::{Value, json};

use super::{
    api::{ApiServer, Told},
    assets,
    control_plane::{ControlPlane, Setup},
};
use crate::parity::rng::Rng;
use manifests::{NODE, manifest};
use odd_values::make_odd;
use refusals::Refusals;
use workloads::odd_workload;

/// The node port that some manifests name.
const CHOSEN_NODE_PORT: i32 = 30_080;
/// Manifests for each of the two clusters.
const MANIFESTS: u64 = 2500;
/// Manifests with an odd value or two, in addition.
const ODD: u64 = 2000;
/// Workloads with an odd value or two, of which only the refusals are compared.
const WORKLOADS: u64 = 1000;
const SEED: u64 = 20_261_122;
/// The least that must be accepted of all, so that the comparison says something.
const ACCEPTED: usize = 2500;

/// What came of the manifests of one cluster.
#[derive(Default)]
struct Seen {
    accepted: BTreeMap<String, usize>,
    /// What the API server refuses: reason and number.
    refused: BTreeMap<String, usize>,
    differences: Vec<String>,
    /// What an API server and `roster lint` say of the same manifest.
    refusals: Refusals,
    /// Manifests of which one refuses what the other accepts.
    disagreements: Vec<String>,
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn defaults_are_those_of_an_api_server() {
    let (assets, dir) = (assets(), tempfile::tempdir().unwrap());
    let clusters = [("IPv4", "10.96.0.0/16"), ("IPv4,IPv6", "10.96.0.0/16,fd00:10:96::/112")];
    let seen: Vec<Seen> = thread::scope(|scope| {
        let all: Vec<_> = clusters
            .iter()
            .zip(0..)
            .map(|((families, range), i)| {
                let flags = [format!("--service-cluster-ip-range={range}")];
                let (assets, dir) = (&assets, dir.path().join(i.to_string()));
                scope.spawn(move || {
                    let setup = Setup { assets, dir: &dir, api_server: &flags, controllers: false };
                    compare(&ControlPlane::start(&setup).unwrap(), families, i)
                })
            })
            .collect();
        all.into_iter().map(|cluster| cluster.join().unwrap()).collect()
    });
    let mut accepted = 0;
    for ((families, _), seen) in clusters.iter().zip(&seen) {
        println!("{families}: accepted {:?}, refused: {:#?}", seen.accepted, seen.refused);
        accepted += seen.accepted.values().sum::<usize>();
    }
    let differences: Vec<&String> = seen.iter().flat_map(|s| &s.differences).collect();
    let disagreements: Vec<&String> = seen.iter().flat_map(|s| &s.disagreements).collect();
    println!("{accepted} of {} accepted, {} differ", 2 * MANIFESTS, differences.len());
    println!("{} manifests are refused by an API server or by roster lint only", disagreements.len());
    for difference in differences.iter().take(5).chain(disagreements.iter().take(20)) {
        println!("{difference}\n");
    }
    assert!(accepted >= ACCEPTED, "too few");
    assert!(differences.is_empty(), "{} differ", differences.len());
    assert!(disagreements.is_empty(), "{} are refused by one only", disagreements.len());
}

fn compare(plane: &ControlPlane, families: &str, cluster: u64) -> Seen {
    let api = ApiServer::of(plane);
    let labels = json!({ "topology.kubernetes.io/zone": "zone-a", "topology.kubernetes.io/region": "region-a" });
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": NODE, "labels": labels } });
    api.create_all(std::slice::from_ref(&node));
    let first = cluster * MANIFESTS;
    let plain = (first..first + MANIFESTS).map(|index| manifest(SEED, index));
    let odd = (0..ODD).map(|i| odd_manifest(2 * MANIFESTS + cluster * ODD + i));
    let requests: Vec<(String, Value)> = plain.chain(odd).map(|o| (path(&o), o)).collect();
    let defaults = Defaults { families: Some(families.parse().unwrap()), ..Defaults::default() };
    let mut seen = Seen::default();
    for ((index, (_, sent)), told) in (0..).zip(&requests).zip(api.try_all(&requests)) {
        let kind = sent["kind"].as_str().unwrap();
        seen.refusals.add(sent, &told);
        if told.status != 201 {
            *seen.refused.entry(reason(kind, &told)).or_default() += 1;
            continue;
        }
        if index < MANIFESTS {
            *seen.accepted.entry(kind.to_owned()).or_default() += 1;
        }
        let wanted = read(&told.body, &node, Defaults::NEVER);
        let got = read(sent, &node, defaults);
        if got != wanted {
            seen.differences.push(format!("{families}: {sent}\n  stored {wanted}\n  filled {got}"));
        }
    }
    let workloads = (0..WORKLOADS).map(|i| odd_workload(SEED + 2, cluster * WORKLOADS + i));
    let requests: Vec<(String, Value)> = workloads.map(|o| (path(&o), o)).collect();
    for ((_, sent), told) in requests.iter().zip(api.try_all(&requests)) {
        seen.refusals.add(sent, &told);
    }
    seen.disagreements = seen.refusals.compare(families);
    seen
}

fn odd_manifest(index: u64) -> Value {
    let mut object = manifest(SEED, index);
    make_odd(&mut object, &mut Rng::new(SEED + 1, index));
    object
}

/// The collection of an object, in the namespace `default` if it is in one: the object may not name it.
pub(super) fn path(object: &Value) -> String {
    let of_group = |kind: &str| {
        let group = object["apiVersion"].as_str().unwrap();
        let ending = if kind.ends_with('s') { "es" } else { "s" };
        format!("/apis/{group}/namespaces/default/{}{ending}", kind.to_lowercase())
    };
    match object["kind"].as_str().unwrap() {
        kind if object["apiVersion"] != "v1" && kind != "EndpointSlice" => of_group(kind),
        "EndpointSlice" => "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices".to_owned(),
        "Endpoints" => "/api/v1/namespaces/default/endpoints".to_owned(),
        "Node" => "/api/v1/nodes".to_owned(),
        kind => format!("/api/v1/namespaces/default/{}s", kind.to_lowercase()),
    }
}

/// All that Roster reads of an object, as text, apart from what differs at every run.
fn read(object: &Value, node: &Value, defaults: Defaults<'_>) -> String {
    let source = Source { defaults, threads: NonZeroUsize::MIN, ..Source::body() };
    let mut all = Inventory::default();
    for object in [object, node] {
        decode::read(object.to_string().as_bytes(), &source, &mut all).unwrap();
    }
    all.label_pods(&defaults);
    let metas = all.services.iter_mut().map(|s| &mut s.meta).chain(all.endpoints.iter_mut().map(|e| &mut e.meta));
    for meta in metas.chain(all.slices.iter_mut().map(|s| &mut s.meta)) {
        *meta = ObjectMeta {
            uid: "".into(),
            resource_version: "".into(),
            generation: 0,
            creation_timestamp: None,
            ..std::mem::take(meta)
        };
    }
    for pod in &mut all.pods {
        Arc::make_mut(&mut pod.reference).uid = "".into();
        pod.resource_version = "".into();
        // An API server gives every Pod a status.
        pod.has_status = true;
    }
    all.services.iter_mut().for_each(forget_allocated);
    let Inventory { services, pods, endpoints, slices, problems, .. } = all;
    format!("{services:?} {pods:?} {endpoints:?} {slices:?} {problems:?}")
}

/// A dry run allocates the first address of the range, and any node port, and Roster invents them: only the family, and
/// that there is a port, is the same.
fn forget_allocated(service: &mut Service) {
    for ip in service.cluster_ips.iter_mut().chain([&mut service.cluster_ip]) {
        if ["10.96.0.0", "192.0.2.1", "fd00:10:96::", "2001:db8::1"].contains(&ip.as_str()) {
            *ip = if Family::of(ip) == Family::V4 { "an IPv4 address" } else { "an IPv6 address" }.into();
        }
    }
    for port in service.ports.iter_mut().filter(|port| port.node_port != 0 && port.node_port != CHOSEN_NODE_PORT) {
        port.node_port = 1;
    }
}

/// The reason without what differs from object to object.
fn reason(kind: &str, told: &Told) -> String {
    let causes = told.body["details"]["causes"].as_array().into_iter().flatten();
    let mut fields: Vec<String> = causes
        .filter_map(|c| {
            Some(format!(
                "{} {}",
                c["field"].as_str()?.replace(|c: char| c.is_ascii_digit(), ""),
                c["reason"].as_str()?
            ))
        })
        .collect();
    fields.sort();
    fields.dedup();
    if fields.is_empty() {
        format!("{kind}: {}", told.body["message"])
    } else {
        format!("{kind}: {}", fields.join(", "))
    }
}
