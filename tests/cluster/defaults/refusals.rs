//! What an API server refuses, `roster lint` refuses as well, and nothing else.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use super::NODE;
use crate::{api::Told, roster};

/// Refusals that depend on the state or the settings of a cluster, as the messages of an API server name them.
const OF_THE_CLUSTER: &[&str] = &[
    "not configured on this cluster",
    "this cluster is not configured for dual-stack services",
    "provided IP is not in the valid range",
    "provided IP is already allocated",
    "provided port is not in the valid range",
    "provided port is already allocated",
    "failed to allocate IP",
];

/// The kinds whose refusals are all found. The others are counted.
const COMPLETE: &[&str] = &[
    "Pod",
    "Service",
    "Endpoints",
    "EndpointSlice",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "HorizontalPodAutoscaler",
];

/// Manifests, and what an API server said to each.
#[derive(Default)]
pub(super) struct Refusals {
    sent: Vec<(Value, Option<String>)>,
}

/// How many manifests of a kind are refused and accepted by an API server, and how many of those by `roster lint`.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    refused: usize,
    /// Only the cluster can know why.
    of_the_cluster: usize,
    missed: usize,
    accepted: usize,
    false_alarms: usize,
}

impl Refusals {
    pub(super) fn add(&mut self, sent: &Value, told: &Told) {
        let refused = (told.status != 201).then(|| told.body["message"].as_str().unwrap_or_default().to_owned());
        self.sent.push((sent.clone(), refused));
    }

    /// Compares all with the findings of `roster lint`; prints the numbers, and gives what differs.
    pub(super) fn compare(&self, families: &str) -> Vec<String> {
        let errors = errors(&self.sent, families);
        let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
        let mut differences = Vec::new();
        for (index, (sent, refused)) in self.sent.iter().enumerate() {
            let kind = sent["kind"].as_str().unwrap();
            let count = counts.entry(kind).or_default();
            let found = errors.get(&index);
            let difference = match (refused, found) {
                (Some(why), _) if OF_THE_CLUSTER.iter().any(|cause| why.contains(cause)) => {
                    count.of_the_cluster += 1;
                    continue;
                }
                (Some(why), found) => {
                    count.refused += 1;
                    count.missed += usize::from(found.is_none());
                    found.is_none().then(|| format!("not found: {why}"))
                }
                (None, found) => {
                    count.accepted += 1;
                    // The rules of the webhook deny more.
                    let found = found.and_then(|found| found.iter().find(|f| f["effect"] == "invalid"));
                    count.false_alarms += usize::from(found.is_some());
                    found.map(|found| format!("accepted, but lint says {found}"))
                }
            };
            let Some(difference) = difference.map(|what| format!("{families}: {sent}\n  {what}")) else { continue };
            if COMPLETE.contains(&kind) {
                differences.push(difference);
            } else {
                println!("{difference}");
            }
        }
        for (kind, count) in &counts {
            println!("{families}: {kind}: {count:?}");
        }
        differences
    }
}

/// The errors of `roster lint` about each manifest. Each is in a directory with a Node of one name, which makes the
/// directories clusters of their own.
fn errors(sent: &[(Value, Option<String>)], families: &str) -> BTreeMap<usize, Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": NODE } }).to_string();
    for (index, (object, _)) in sent.iter().enumerate() {
        let of_object = folder.path().join(index.to_string());
        fs::create_dir(&of_object).unwrap();
        fs::write(of_object.join("node.json"), &node).unwrap();
        fs::write(of_object.join("object.json"), object.to_string()).unwrap();
    }
    let output =
        roster().arg("lint").arg(folder.path()).args(["-o", "json", "--ip-families", families]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut errors: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    for finding in document["items"].as_array().unwrap().iter().filter(|f| f["severity"] == "error") {
        let file = std::path::Path::new(finding["file"].as_str().unwrap());
        let index = file.parent().and_then(|folder| folder.file_name()?.to_str()?.parse().ok()).unwrap();
        errors.entry(index).or_default().push(finding.clone());
    }
    errors
}
