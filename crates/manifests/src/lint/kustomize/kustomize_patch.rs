//! What a kustomization changes of an object: with a patch, or by its number of replicas.

use json_patch::PatchOperation;
use serde_json::{Map, Value, json};

use super::{
    label_entry::{LabelEntry, fields},
    patch_target::{PatchTarget, TargetMatch},
    strategic_merge::{self, MergedObject},
};

/// A change of some objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KustomizePatch {
    pub(super) target: PatchTarget,
    pub(super) change: PatchChange,
}

/// What is changed. Patches are JSON texts, so that they have an order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PatchChange {
    /// A strategic merge patch.
    Merge(String),
    /// A JSON patch (RFC 6902).
    Operations(String),
    /// `spec.replicas`, of the kinds that kustomize knows to have it.
    Replicas(i64),
    /// Labels that a kustomization adds.
    Labels(LabelEntry),
    /// A patch that cannot be read.
    Unknown,
}

/// What is left of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatchedObject {
    /// The object as it was.
    Same(Value),
    /// Another one.
    Changed(Value),
    /// Nothing.
    Removed,
    /// The patch, or its target, is not understood.
    Unknown,
}

/// Fields that no comparison of objects reads, with all that is in them. Most patches change nothing else.
const UNREAD: [&str; 14] = [
    "annotations",
    "args",
    "command",
    "data",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "imagePullSecrets",
    "securityContext",
    "serviceAccountName",
    "stringData",
    "volumeMounts",
    "volumes",
];

/// Fields with labels, whose names may be any.
const LABELS: [&str; 3] = ["labels", "selector", "matchLabels"];

/// The kinds that the field `replicas` of a kustomization changes.
const SCALED: [&str; 4] = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"];

impl KustomizePatch {
    /// The changes by a document of a patch. A strategic merge patch without a target names its object itself.
    pub(super) fn of_document(target: Option<&PatchTarget>, patch: &Value) -> Self {
        let change = if patch.is_array() {
            PatchChange::Operations(patch.to_string())
        } else {
            PatchChange::Merge(patch.to_string())
        };
        let target = target.cloned().unwrap_or_else(|| PatchTarget::of_patch(patch));
        Self { target, change }
    }

    /// Whether it changes what objects are compared by.
    pub(super) fn is_read(&self) -> bool {
        match &self.change {
            PatchChange::Merge(patch) => serde_json::from_str::<Value>(patch).is_ok_and(|mut patch| {
                forget_identity(&mut patch);
                changes_read(&patch)
            }),
            PatchChange::Operations(operations) => {
                let operations = serde_json::from_str::<Vec<Value>>(operations).unwrap_or_default();
                let is_read = |operation: &Value| {
                    let path = operation["path"].as_str().unwrap_or_default();
                    let has = |names: &[&str]| path.split('/').any(|field| names.contains(&field));
                    has(&LABELS) || !has(&UNREAD)
                };
                operations.iter().any(is_read)
            }
            PatchChange::Replicas(_) | PatchChange::Unknown => true,
            // Without patches, these are added to the text.
            PatchChange::Labels(_) => false,
        }
    }

    /// The same labels for all objects.
    pub(super) fn of_labels(labels: LabelEntry) -> Self {
        Self { target: PatchTarget::default(), change: PatchChange::Labels(labels) }
    }

    /// A change of all objects of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self { target: PatchTarget::default(), change: PatchChange::Unknown }
    }

    /// Whether it adds labels.
    pub(super) fn is_labels(&self) -> bool {
        matches!(self.change, PatchChange::Labels(_))
    }

    /// How many bytes the patch has.
    pub(super) fn len(&self) -> usize {
        match &self.change {
            PatchChange::Merge(text) | PatchChange::Operations(text) => text.len(),
            PatchChange::Replicas(_) | PatchChange::Labels(_) | PatchChange::Unknown => 0,
        }
    }

    /// The changes by an element of the field `replicas`.
    pub(super) fn of_replicas(entry: &Value) -> Option<Self> {
        let (name, count) = (entry["name"].as_str()?, entry["count"].as_i64()?);
        let target = PatchTarget::of_kind(&SCALED.join("|"), name);
        Some(Self { target, change: PatchChange::Replicas(count) })
    }

    /// A change of the same objects, of which nothing is known.
    pub(super) fn to_unknown(&self) -> Self {
        Self { target: self.target.clone(), change: PatchChange::Unknown }
    }

    /// The object with the change.
    pub(super) fn apply(&self, object: Value) -> PatchedObject {
        match self.target.matches(&object) {
            TargetMatch::No => PatchedObject::Same(object),
            TargetMatch::Unknown => PatchedObject::Unknown,
            TargetMatch::Yes => self.change(object).unwrap_or(PatchedObject::Unknown),
        }
    }

    /// The object with the change; `None` if the patch does not fit it, which kustomize refuses.
    fn change(&self, mut object: Value) -> Option<PatchedObject> {
        match &self.change {
            PatchChange::Merge(patch) => {
                let mut patch: Value = serde_json::from_str(patch).ok()?;
                // Its name may be another one, where a target says what it changes.
                forget_identity(&mut patch);
                let has_schema = is_known(&object);
                match strategic_merge::merge(object, &patch, has_schema).ok()? {
                    MergedObject::Kept(object) => Some(PatchedObject::Changed(object)),
                    MergedObject::Removed => Some(PatchedObject::Removed),
                }
            }
            PatchChange::Operations(operations) => {
                let operations: json_patch::Patch = serde_json::from_str(operations).ok()?;
                // A few copies of copies would fill the memory.
                if operations.0.iter().any(|operation| matches!(operation, PatchOperation::Copy(_))) {
                    return None;
                }
                json_patch::patch(&mut object, &operations).ok()?;
                Some(PatchedObject::Changed(object))
            }
            PatchChange::Replicas(count) => {
                object.get_mut("spec")?.as_object_mut()?.insert("replicas".to_owned(), json!(count));
                Some(PatchedObject::Changed(object))
            }
            PatchChange::Labels(LabelEntry { scope, pairs }) => {
                let kind = object["kind"].as_str().unwrap_or_default().to_owned();
                for (path, create) in fields(*scope, &kind) {
                    if let Some(map) = map_at(&mut object, path, create) {
                        map.extend(pairs.iter().map(|(key, value)| (key.clone(), json!(value))));
                    }
                }
                Some(PatchedObject::Changed(object))
            }
            PatchChange::Unknown => None,
        }
    }
}

/// The map at a path; where it is missing, `create` says whether to add it.
fn map_at<'v>(object: &'v mut Value, path: &[&str], create: bool) -> Option<&'v mut Map<String, Value>> {
    let mut value = object;
    for name in path {
        let map = value.as_object_mut()?;
        if map.get(*name).is_none_or(Value::is_null) {
            if !create {
                return None;
            }
            map.insert((*name).to_owned(), json!({}));
        }
        value = map.get_mut(*name)?;
    }
    value.as_object_mut()
}

/// Removes from a patch what says which object it is about.
fn forget_identity(patch: &mut Value) {
    let Some(patch) = patch.as_object_mut() else { return };
    patch.retain(|field, _| field != "apiVersion" && field != "kind");
    if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| field != "name" && field != "namespace");
    }
}

/// Whether a part of a strategic merge patch changes more than fields that nothing reads.
fn changes_read(patch: &Value) -> bool {
    match patch {
        Value::Object(map) => map.iter().any(|(field, change)| is_field_read(field, change)),
        // The name of an element says which one is meant.
        Value::Array(list) => list.iter().any(|element| match element {
            Value::Object(map) => map.iter().any(|(field, change)| field != "name" && is_field_read(field, change)),
            _ => true,
        }),
        _ => true,
    }
}

fn is_field_read(field: &str, change: &Value) -> bool {
    LABELS.contains(&field) || !UNREAD.contains(&field) && changes_read(change)
}

/// Whether an object is of a group of Kubernetes' own, of which kustomize knows how lists are merged.
fn is_known(object: &Value) -> bool {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    !group.contains('.') || group.ends_with(".k8s.io")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(replicas: i64, image: &str) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
            "spec": { "replicas": replicas, "template": { "spec": { "containers": [{ "name": "web", "image": image }] } } },
        })
    }

    #[test]
    fn patches_of_images_are_not_read() {
        let of_container =
            |container: Value| json!({ "spec": { "template": { "spec": { "containers": [container] } } } });
        for (patch, want) in [
            (of_container(json!({ "name": "web", "image": "b", "env": [{ "name": "A", "value": "b" }] })), false),
            (of_container(json!({ "name": "web", "ports": [{ "containerPort": 80, "name": "http" }] })), true),
            (of_container(json!({ "name": "web", "resources": { "limits": { "cpu": "1" } } })), true),
            (json!({ "metadata": { "name": "web", "annotations": { "a": "b" } } }), false),
            (json!({ "metadata": { "name": "web", "labels": { "a": "b" } } }), true),
            (json!({ "spec": { "selector": { "env": "prod" } } }), true),
            (json!([{ "op": "add", "path": "/spec/template/metadata/labels/env", "value": "prod" }]), true),
            (json!({ "$patch": "delete", "metadata": { "name": "web" } }), true),
            (json!([{ "op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "b" }]), false),
            (json!([{ "op": "replace", "path": "/spec/replicas", "value": 3 }]), true),
        ] {
            assert_eq!(KustomizePatch::of_document(None, &patch).is_read(), want, "{patch}");
        }
    }

    #[test]
    fn objects_are_changed_by_every_kind_of_patch() {
        let named = |patch: Value| KustomizePatch::of_document(None, &patch);
        let targeted = |patch: Value| {
            KustomizePatch::of_document(Some(&PatchTarget::read(&json!({ "kind": "Deployment" }))), &patch)
        };
        let image = |name: &str| {
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
                "spec": { "template": { "spec": { "containers": [{ "name": "web", "image": "b" }] } } },
            })
        };
        let same = || PatchedObject::Same(deployment(1, "a"));
        let changed = |replicas, image| PatchedObject::Changed(deployment(replicas, image));
        let replace = |path: &str| json!([{ "op": "replace", "path": path, "value": 3 }]);
        let unknown = KustomizePatch { target: PatchTarget::default(), change: PatchChange::Unknown };
        for (name, patch, want) in [
            ("by its name", named(image("web")), changed(1, "b")),
            ("another name", named(image("api")), same()),
            ("the target counts", targeted(image("any")), changed(1, "b")),
            ("operations", targeted(replace("/spec/replicas")), changed(3, "a")),
            ("copies", targeted(json!([{ "op": "copy", "from": "/spec", "path": "/spec/x" }])), PatchedObject::Unknown),
            ("operations that do not fit", targeted(replace("/spec/none/x")), PatchedObject::Unknown),
            ("replicas", KustomizePatch::of_replicas(&json!({ "name": "web", "count": 5 })).unwrap(), changed(5, "a")),
            (
                "replicas of another one",
                KustomizePatch::of_replicas(&json!({ "name": "api", "count": 5 })).unwrap(),
                same(),
            ),
            ("removed", targeted(json!({ "$patch": "delete" })), PatchedObject::Removed),
            ("not read", unknown, PatchedObject::Unknown),
        ] {
            assert_eq!(patch.apply(deployment(1, "a")), want, "{name}");
        }
    }
}
