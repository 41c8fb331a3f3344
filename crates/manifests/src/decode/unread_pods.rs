//! What can be said of the pods of an object that cannot be read.

use roster_engine::model::{
    Labels, Resource,
    json::{
        path::PathEnd,
        raw::{has_uid, value_at},
    },
};
use serde_json::{Value, json};

use super::kind::{InputKind, TypeMeta};
use crate::inventory::workloads::{UnreadPods, Workload};

/// The longest object whose labels are read: it takes many times its text in memory. An API server stores 1.5 MiB.
const MAX_TEXT: usize = 2 << 20;

/// What is known of the pods of an object that cannot be read, or is of no kind of Kubernetes; `None` if nothing asks whether
/// it exists.
pub(super) fn unread_pods(meta: &TypeMeta, text: &str) -> Option<UnreadPods> {
    match meta.kind() {
        InputKind::Service | InputKind::Autoscaler => Some(UnreadPods::None),
        InputKind::Workload(resource) => Some(pods_of(Some(resource), text)),
        InputKind::Pod => Some(pods_of(Some(Resource::Pod), text)),
        // Of another version, or misspelt; most other kinds have no pods.
        InputKind::Other => {
            let resource = Resource::ALL.iter().find(|resource| resource.kind() == meta.kind).copied();
            match resource {
                Some(Resource::Service | Resource::HorizontalPodAutoscaler) => Some(UnreadPods::None),
                Some(resource) if is_workload(resource) && !has_uid(text) => Some(pods_of(Some(resource), text)),
                _ => has_containers(text).then(|| pods_of(None, text)),
            }
        }
        InputKind::Node
        | InputKind::Endpoints
        | InputKind::EndpointSlice
        | InputKind::EndpointSliceBeta
        | InputKind::NodePool
        | InputKind::List => None,
    }
}

fn is_workload(resource: Resource) -> bool {
    let meta = TypeMeta { api_version: resource.api_version().into(), kind: resource.kind().into() };
    matches!(meta.kind(), InputKind::Workload(_) | InputKind::Pod)
}

/// Where kinds have their containers, and in front of `spec` their labels.
const POD_SPECS: [&[&str]; 3] = [
    &["spec", "containers"],
    &["spec", "template", "spec", "containers"],
    &["spec", "jobTemplate", "spec", "template", "spec", "containers"],
];

/// Whether an object has containers. One of a cluster is what a custom resource is: the cluster knows its kind.
fn has_containers(text: &str) -> bool {
    if has_uid(text) {
        return false;
    }
    POD_SPECS.iter().any(|path| PathEnd::of(text.as_bytes(), path).steps == path.len())
}

/// The pods of a workload, or of a Pod itself; `resource` is missing if the kind is not known.
fn pods_of(resource: Option<Resource>, text: &str) -> UnreadPods {
    let path: &[&str] = match resource {
        Some(Resource::Pod) => &["metadata", "labels"],
        Some(Resource::CronJob) => &["spec", "jobTemplate", "spec", "template", "metadata", "labels"],
        Some(_) => &["spec", "template", "metadata", "labels"],
        None => return POD_SPECS.iter().find_map(|specs| custom_pods(specs, text)).unwrap_or(UnreadPods::AnyLabels),
    };
    let Some(labels) = labels_at(path, text) else { return UnreadPods::AnyLabels };
    // A pod has the labels that are written, as that of a ReplicaSet has.
    let resource = resource.filter(|resource| *resource != Resource::Pod).unwrap_or(Resource::ReplicaSet);
    let template = json!({ "metadata": { "labels": labels } });
    let spec = match resource {
        Resource::CronJob => json!({ "jobTemplate": { "spec": { "template": template } } }),
        _ => json!({ "template": template }),
    };
    labelled(Workload::read(resource, object(text, &spec)))
}

/// The pods of an object of an unknown kind that has its containers at a path.
fn custom_pods(containers: &[&str], text: &str) -> Option<UnreadPods> {
    let [before @ .., "spec", "containers"] = containers else { return None };
    let path: Vec<&str> = before.iter().copied().chain(["metadata", "labels"]).collect();
    let spec = json!({ "template": { "metadata": { "labels": labels_at(&path, text)? } } });
    Some(labelled(Workload::read_custom(object(text, &spec))))
}

/// An object with the name of the one in `text`: that of a StatefulSet or Job is in the labels of its pods.
fn object(text: &str, spec: &Value) -> Value {
    let name = PathEnd::of(text.as_bytes(), &["metadata", "name"]).text.unwrap_or_default();
    json!({ "metadata": { "name": name }, "spec": spec })
}

fn labelled(workload: Result<Workload, serde_json::Error>) -> UnreadPods {
    workload.map_or(UnreadPods::AnyLabels, |workload| UnreadPods::Labelled(Box::new(workload)))
}

/// The labels at a path, if all of it can be read.
fn labels_at(path: &[&str], text: &str) -> Option<Labels> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let labels = value_at(serde_json::from_str(text).ok()?, path)?;
    serde_json::from_str(labels.get()).ok()
}
