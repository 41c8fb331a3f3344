//! What an API server refuses, `roster lint` refuses as well, and nothing else.

use std::collections::BTreeMap;

use serde_json::Value;

use super::NODE;
use crate::{api::Told, fields_of_manifests::linted, roster};

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
        let errors = linted::errors(roster(), self.sent.iter().map(|(sent, _)| sent), NODE, families);
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
