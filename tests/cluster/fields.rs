//! What `roster lint` says about the fields of manifests is what a real API server says: the cases of
//! `tests/data/fields`, and objects with many fields of which one is changed at random, sent as dry runs.

mod mutations;

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    api::{ApiServer, Told},
    assets,
    control_plane::{ControlPlane, Setup},
    defaults::path,
    fields_of_manifests::{cases, cases::Case, linted},
    roster,
};
use crate::parity::rng::Rng;
use mutations::mutate;

/// Objects with a changed field.
const MUTATIONS: u64 = 3000;
const SEED: u64 = 20_261_123;
/// The least that must be accepted of these, so that the comparison says something.
const ACCEPTED: usize = 800;
const NODE: &str = "node-1";

/// Refusals that depend on the state or the settings of a cluster, as the messages of an API server name them.
const OF_THE_CLUSTER: &[&str] = &[
    "not configured on this cluster",
    "provided IP is not in the valid range",
    "provided IP is already allocated",
    "provided port is already allocated",
    "failed to allocate IP",
    "no PriorityClass with name",
    // Each release knows more of them.
    "unknown time zone",
    "pod rejected: RuntimeClass",
    "pod rejected: Pod's Overhead doesn't match",
    // Other clusters give a service account to each Pod.
    "must not be specified when serviceAccountName is not set",
];

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn fields_are_refused_as_by_an_api_server() {
    let (assets, dir) = (assets(), tempfile::tempdir().unwrap());
    let flags = ["--allow-privileged=true".to_owned()];
    let setup = Setup { assets: &assets, dir: dir.path(), api_server: &flags, controllers: false };
    let plane = ControlPlane::start(&setup).unwrap();
    let api = ApiServer::of(&plane);
    let mut differences = compare_cases(&api);
    differences.extend(compare_mutations(&api));
    for difference in differences.iter().take(60) {
        println!("{difference}\n");
    }
    assert!(differences.is_empty(), "{} differ", differences.len());
}

/// Sends the cases; what differs from what they expect.
fn compare_cases(api: &ApiServer) -> Vec<String> {
    let all = cases::all();
    let requests: Vec<(String, Value)> = all.iter().map(|case| (path(&case.object), case.object.clone())).collect();
    let mut told = api.try_all(&requests);
    for (case, told) in all.iter().zip(&mut told).filter(|(case, _)| case.allocated) {
        let mut object = case.object.clone();
        object["metadata"]["namespace"] = "default".into();
        *told = api.create(&object, "", false);
    }
    let (refused, accepted): (Vec<&Told>, Vec<&Told>) = told.iter().partition(|told| told.status != 201);
    println!("{} cases: {} refused, {} accepted", all.len(), refused.len(), accepted.len());
    let wrong = all.iter().zip(&told).filter_map(|(case, told)| {
        let why = differs(case, told)?;
        Some(format!("{}\n  {why}\n  {}", case.name, told.body["message"]))
    });
    wrong.collect()
}

/// In what an answer differs from a case.
fn differs(Case { refused, server, .. }: &Case, told: &Told) -> Option<String> {
    match (refused, told.status) {
        (None, 201) => None,
        (None, _) => Some("is refused".to_owned()),
        (Some(_), 201) => Some("is accepted".to_owned()),
        (Some(_), _) => {
            let wanted = plain(server.as_deref().unwrap_or_default());
            let named = fields(told);
            // An API server may name the object around a field, or a part of it.
            let is_it = |field: &String| field.starts_with(&wanted) || wanted.starts_with(field.as_str());
            (!named.iter().any(is_it)).then(|| format!("the API server names {named:?}"))
        }
    }
}

/// The fields that an API server names, in the plain form.
fn fields(told: &Told) -> Vec<String> {
    let causes = told.body["details"]["causes"].as_array().into_iter().flatten();
    causes.filter_map(|cause| cause["field"].as_str()).map(plain).collect()
}

/// A field path with keys that are written alike: `limits[cpu]` and `limits["cpu"]` are `limits.cpu`. API servers leave
/// out the metadata of templates.
fn plain(path: &str) -> String {
    let path = &path.replace("template.metadata.", "template.");
    let mut out = String::new();
    for (i, part) in path.split('[').enumerate() {
        let (inner, rest) = if i == 0 { ("", part) } else { part.split_once(']').unwrap_or((part, "")) };
        if !inner.is_empty() {
            out.extend([".", inner.trim_matches('"')]);
        }
        out += rest;
    }
    out
}

/// Whether a finding about an object that is accepted is false. The rules of the webhook deny more, and a workload may be
/// stored that cannot have pods. A dry run does not allocate node ports.
fn is_false(finding: &Value) -> bool {
    let is_node_port = finding["field"].as_str().is_some_and(|field| field.ends_with(".nodePort"));
    finding["effect"] == "invalid" && !(is_node_port && finding["code"] == "invalid-port")
}

/// Sends objects with a changed field; what only one of the two refuses.
fn compare_mutations(api: &ApiServer) -> Vec<String> {
    let rich = cases::rich();
    let objects: Vec<(String, Value)> = (0..MUTATIONS)
        .map(|index| {
            let mut rng = Rng::new(SEED, index);
            let (object, change) = mutate(&rich[rng.below(rich.len())], &mut rng);
            (change, object)
        })
        .collect();
    let requests: Vec<(String, Value)> = objects.iter().map(|(_, object)| (path(object), object.clone())).collect();
    let told = api.try_all(&requests);
    let errors = linted::errors(roster(), objects.iter().map(|(_, object)| object), NODE, "IPv4,IPv6");
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut differences = Vec::new();
    for (index, ((change, object), told)) in objects.iter().zip(&told).enumerate() {
        let kind = object["kind"].as_str().unwrap();
        let [accepted, refused, false_alarms, missed] = counts.entry(kind).or_default();
        let message = told.body["message"].as_str().unwrap_or_default();
        let found = errors.get(&index);
        if told.status == 201 {
            *accepted += 1;
            if let Some(found) = found.and_then(|found| found.iter().find(|f| is_false(f))) {
                *false_alarms += 1;
                differences.push(format!("{kind}: {change}\n  accepted, but lint says {found}"));
            }
        } else if !OF_THE_CLUSTER.iter().any(|cause| message.contains(cause)) {
            *refused += 1;
            if found.is_none() {
                *missed += 1;
                differences.push(format!("{kind}: {change}\n  not found: {message}"));
            }
        }
    }
    println!("kind: accepted, refused, false alarms, missed: {counts:#?}");
    let accepted: usize = counts.values().map(|[accepted, ..]| accepted).sum();
    assert!(accepted >= ACCEPTED, "too few are accepted: {accepted}");
    // False alarms first.
    differences.sort_by_key(|difference| difference.contains("not found:"));
    differences
}
