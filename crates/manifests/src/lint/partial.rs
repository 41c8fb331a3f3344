//! Parts of objects, which programs compare with, merge into others or make in memory. Nobody applies them.
//!
//! A part lacks what no object of its kind can be without: its spec, or the containers of its pods. In manifests, that is a
//! mistake; among tests and patches, it is meant. Objects there that lack less are checked as any others.

use std::collections::BTreeMap;

use roster_engine::model::{
    Resource,
    json::raw::{JsonMembers, JsonNode, value_at},
    spelling::typo,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

/// Whether an object is a part of one, by its file and what it lacks. One that a cluster has stored is whole.
pub fn is_partial(file: &str, object: &RawValue) -> bool {
    let Ok(members) = JsonMembers::read(object) else { return false };
    let metadata = members.get("metadata").and_then(JsonNode::open).unwrap_or_default();
    if metadata.get("uid").is_some() {
        return false;
    }
    let is_patch = is_among(file, |word| PATCHES.contains(&word));
    let is_meant = is_patch || is_of_test(file) || is_owned_by_nobody(&metadata);
    is_meant && lacks_core(&members, object) || is_patch && is_part_of_crd(&members, object)
}

/// Words in the names of folders with tests and their data.
const TESTS: [&str; 12] = [
    "e2e",
    "fake",
    "fakes",
    "fixture",
    "fixtures",
    "golden",
    "mock",
    "mocks",
    "test",
    "testdata",
    "tests",
    "testutils",
];
/// Words in the names of folders with patches.
const PATCHES: [&str; 2] = ["patch", "patches"];

/// Whether a file is in a folder of tests or of their data.
pub fn is_of_test(file: &str) -> bool {
    is_among(file, |word| TESTS.contains(&word))
}

/// Whether a word of a folder's name is one of some.
fn is_among(file: &str, is_one: impl Fn(&str) -> bool) -> bool {
    let folders = file.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split(|c: char| !c.is_ascii_alphanumeric()).any(is_one)
}

/// Whether an owner has no uid: controllers write owners, and clusters give them a uid. What compares with an object leaves it out,
/// and a cluster in memory has none.
fn is_owned_by_nobody(metadata: &JsonMembers<'_>) -> bool {
    #[derive(Deserialize)]
    struct Owner {
        #[serde(default)]
        uid: Value,
    }
    let Some(JsonNode::Raw(owners)) = metadata.get("ownerReferences") else { return false };
    let owners: Result<Vec<Owner>, _> = serde_json::from_str(owners.get());
    owners.is_ok_and(|owners| owners.iter().any(|owner| owner.uid.is_null() || owner.uid == ""))
}

/// Whether a CRD of any version, also of one that is gone, does not say what it defines.
fn is_part_of_crd(members: &JsonMembers<'_>, object: &RawValue) -> bool {
    members.text("kind") == "CustomResourceDefinition" && value_at(object, &["spec", "names"]).is_none()
}

/// Whether an object lacks its spec, or the containers of its pods; a patch may lack less.
fn lacks_core(members: &JsonMembers<'_>, object: &RawValue) -> bool {
    let kind = members.text("kind");
    let Some(resource) = Resource::ALL.iter().find(|resource| resource.kind() == kind) else { return false };
    if resource.api_version() != members.text("apiVersion") {
        return false;
    }
    let has = |path: &[&str]| !lacks(object, path);
    match containers(*resource) {
        Some(path) => !has(path) || lacks_more(object, path, has_selector(*resource) && !has(&["spec", "selector"])),
        None => has_spec(*resource) && !has(&["spec"]),
    }
}

/// Whether an object has nothing at a path. A field that is almost the next one is a mistake, and not a part.
fn lacks(object: &RawValue, path: &[&str]) -> bool {
    let [field, rest @ ..] = path else { return false };
    let mut members = JsonMembers::read(object).unwrap_or_default();
    if members.names().any(|name| name != *field && typo(name, field).is_some()) {
        return false;
    }
    match members.take(field) {
        Some(JsonNode::Raw(member)) => member.get() == "null" || lacks(member, rest),
        Some(_) => !rest.is_empty(),
        None => true,
    }
}

/// Where a kind has the containers of its pods.
fn containers(resource: Resource) -> Option<&'static [&'static str]> {
    match resource {
        Resource::Pod => Some(&["spec", "containers"]),
        Resource::Deployment
        | Resource::ReplicaSet
        | Resource::ReplicationController
        | Resource::StatefulSet
        | Resource::DaemonSet
        | Resource::Job => Some(&["spec", "template", "spec", "containers"]),
        Resource::CronJob => Some(&["spec", "jobTemplate", "spec", "template", "spec", "containers"]),
        _ => None,
    }
}

fn has_spec(resource: Resource) -> bool {
    matches!(resource, Resource::Service | Resource::HorizontalPodAutoscaler)
}

/// Whether kinds of workloads select their pods.
fn has_selector(resource: Resource) -> bool {
    matches!(resource, Resource::Deployment | Resource::ReplicaSet | Resource::StatefulSet | Resource::DaemonSet)
}

/// Whether a container has no image, or, beside a selector that is missing, whether a container or a volume has no name.
fn lacks_more(object: &RawValue, containers: &[&str], lacks_selector: bool) -> bool {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct PodSpec {
        containers: Vec<Item>,
        init_containers: Option<Vec<Item>>,
        volumes: Option<Vec<Item>>,
    }
    #[derive(Deserialize)]
    struct Item(BTreeMap<String, Option<IgnoredAny>>);
    let lacks = |Item(members): &Item, field: &str| {
        let is_meant = |name: &str| name != field && typo(name, field).is_some();
        members.get(field).is_none_or(Option::is_none) && !members.keys().any(|name| is_meant(name))
    };
    let [path @ .., _] = containers else { return false };
    let pod_spec = value_at(object, path).and_then(|spec| serde_json::from_str(spec.get()).ok());
    let Some(PodSpec { containers, init_containers, volumes }) = pod_spec else { return false };
    let containers: Vec<Item> = containers.into_iter().chain(init_containers.unwrap_or_default()).collect();
    let named = containers.iter().chain(volumes.iter().flatten());
    containers.iter().any(|container| lacks(container, "image"))
        || lacks_selector && named.into_iter().any(|item| lacks(item, "name"))
}

#[cfg(test)]
mod tests {
    use serde_json::{json, value::to_raw_value};

    use super::*;

    #[test]
    fn a_part_lacks_what_no_object_is_without() {
        let deployment = |spec: Value| json!({ "apiVersion": "apps/v1", "kind": "Deployment", "spec": spec });
        let pod = |spec: Value| json!({ "apiVersion": "v1", "kind": "Pod", "spec": spec });
        let owned = |owner: Value| {
            let metadata = json!({ "name": "web", "ownerReferences": [owner] });
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": { "containers": [{ "name": "web" }] } })
        };
        let stub = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" } });
        let stored = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "uid": "1" } });
        let webhook = json!({ "apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "webs.example.com" }, "spec": { "conversion": { "strategy": "Webhook" } } });
        let pods = |containers: Value, volumes: Value| json!({ "template": { "spec": { "containers": containers, "volumes": volumes } } });
        let whole = json!({ "template": { "spec": { "containers": [{ "name": "c" }] } } });
        for (file, object, want) in [
            ("test/cli/a.yaml", deployment(json!({ "replicas": 1 })), true),
            ("pkg/_testdata/a.yaml", deployment(json!({ "template": { "metadata": {} } })), true),
            ("a/e2e-tests/a.yaml", deployment(json!({ "template": { "spec": { "containers": null } } })), true),
            ("test/a.yaml", deployment(whole.clone()), true),
            ("a/patches/a.yaml", deployment(whole.clone()), true),
            ("a.yaml", deployment(whole), false),
            ("test/a.yaml", deployment(pods(json!([{ "name": "c", "image": "a" }]), json!([{ "name": "v" }]))), false),
            ("test/a.yaml", deployment(pods(json!([{ "name": "c", "image": "a" }]), json!([{}]))), true),
            ("test/a.yaml", deployment(pods(json!([{ "image": "a" }]), json!([]))), true),
            ("a/patches/a.yaml", pod(json!({ "containers": [{ "image": "a" }] })), false),
            ("tests/a.yaml", stub.clone(), true),
            ("test/a.yaml", deployment(pods(json!([{ "name": "c", "imag": "a" }]), json!([]))), false),
            ("test/a.yaml", deployment(json!({ "template": { "spec": { "continers": [] } } })), false),
            ("test/a.yaml", json!({ "apiVersion": "v1", "kind": "Service", "sepc": {} }), false),
            ("crd/patches/a.yaml", webhook.clone(), true),
            ("crd/tests/a.yaml", webhook, false),
            ("tests/a.yaml", stored, false),
            ("tests/a.yaml", json!({ "apiVersion": "v1", "kind": "ConfigMap" }), false),
            ("tests/a.yaml", json!({ "apiVersion": "serving.knative.dev/v1", "kind": "Service" }), false),
            // Elsewhere, it is a mistake.
            ("a/latest/a.yaml", stub, false),
            ("test.yaml", pod(json!({})), false),
            ("a.yaml", owned(json!({ "kind": "Web", "name": "web" })), true),
            ("a.yaml", owned(json!({ "kind": "Web", "name": "web", "uid": "" })), true),
            ("a.yaml", owned(json!({ "kind": "Web", "name": "web", "uid": null })), true),
            ("a.yaml", owned(json!({ "kind": "Web", "name": "web", "uid": "2" })), false),
            // Its fields are those of an object that is whole.
            (
                "a.yaml",
                {
                    let mut whole = owned(json!({ "kind": "Web", "name": "web" }));
                    whole["spec"]["containers"][0]["image"] = "web".into();
                    whole
                },
                false,
            ),
        ] {
            assert_eq!(is_partial(file, &to_raw_value(&object).unwrap()), want, "{file} {object}");
        }
    }
}
