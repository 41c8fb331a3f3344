//! One thing that is different in a what-if: in words, and in the objects.

use std::{collections::BTreeMap, sync::Arc};

use roster_engine::{
    model::{
        Labels, NotReadyDetail, ObjectKey, Pod, PodReadiness, Resource, Service, ServicePort, Text,
        json::raw::ObjectIdentity,
    },
    phrase::label_text,
};
use roster_manifests::{
    decode::{Document, Source},
    inventory::{Inventory, workloads::WorkloadController},
};
use serde::{Deserialize, Serialize};

use super::document_edit::DocumentEdit;
use crate::{PageFault, cluster};

/// One thing that is different in a what-if. The values are those of a form: an empty one removes what it would set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Change {
    /// A pod becomes ready, or is not ready any more.
    PodReadiness { pod: String, to: ReadinessTo },
    /// The pods of a node are being deleted, and none is scheduled there.
    DrainNode { node: Text },
    /// The nodes of a zone are not ready, and neither are their pods.
    LoseZone { zone: Text },
    /// A label of a pod is another one.
    PodLabel {
        pod: String,
        #[serde(default)]
        of: LabelOf,
        key: Text,
        #[serde(default)]
        value: Text,
    },
    /// A label of the selector of a Service is another one.
    Selector {
        service: String,
        key: Text,
        #[serde(default)]
        value: Text,
    },
    /// A port of a Service leads to another port of its pods.
    TargetPort { service: String, port: String, target: Text },
    /// `trafficDistribution` of a Service is another one.
    TrafficDistribution {
        service: String,
        #[serde(default)]
        value: Text,
    },
}

/// What becomes of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReadinessTo {
    Ready,
    NotReady,
}

/// Whose label changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LabelOf {
    /// That of one pod.
    #[default]
    Pod,
    /// That of every pod with the same owner.
    Owner,
}

impl Change {
    /// The change in words.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::PodReadiness { pod, to: ReadinessTo::Ready } => format!("pod {pod} is ready"),
            Self::PodReadiness { pod, to: ReadinessTo::NotReady } => format!("pod {pod} is not ready"),
            Self::DrainNode { node } => format!("{node} is drained"),
            Self::LoseZone { zone } => format!("zone {zone} is lost"),
            Self::PodLabel { pod, of, key, value } => {
                let of = if *of == LabelOf::Pod { "" } else { ", and every pod of its owner," };
                format!("pod {pod}{of} has label {}", pair_text(key, value))
            }
            Self::Selector { service, key, value } => {
                format!("the selector of {service} has {}", pair_text(key, value))
            }
            Self::TargetPort { service, port, target } => format!("port {port} of {service} leads to {target}"),
            Self::TrafficDistribution { service, value } if value.is_empty() => {
                format!("{service} has no trafficDistribution")
            }
            Self::TrafficDistribution { service, value } => format!("trafficDistribution of {service} is {value}"),
        }
    }

    /// Whether there is an object to change.
    pub(super) fn applies(&self, objects: &Inventory) -> bool {
        let pods = || objects.pods.iter();
        match self {
            Self::PodReadiness { pod, .. } | Self::PodLabel { pod, .. } => pods().any(is_named(pod)),
            Self::DrainNode { node } => {
                objects.nodes.iter().any(|of| of.name == *node) || pods().any(|pod| pod.node_name == *node)
            }
            Self::LoseZone { zone } => objects.nodes.iter().any(|node| node.zone() == Some(zone)),
            Self::Selector { service, .. } | Self::TrafficDistribution { service, .. } => {
                services(objects, service).next().is_some()
            }
            Self::TargetPort { service, port, .. } => {
                let is_meant = |of: &ServicePort| of.name == *port || of.port.to_string() == *port;
                services(objects, service).any(|service| service.ports.iter().any(is_meant))
            }
        }
    }

    /// What it writes into the objects of the input. The findings about them follow from their text.
    fn edits<'c>(&'c self, objects: &Inventory, into: &mut BTreeMap<ObjectKey, Vec<DocumentEdit<'c>>>) {
        let mut add = |key: ObjectKey, edit: DocumentEdit<'c>| into.entry(key).or_default().push(edit);
        let (service, edit) = match self {
            // The status of pods and nodes.
            Self::PodReadiness { .. } | Self::DrainNode { .. } | Self::LoseZone { .. } => return,
            Self::PodLabel { pod, of, key, value } => {
                let meant = objects.pods.iter().rfind(|one| is_named(pod)(one));
                let owner = meant.and_then(|pod| pod.owner.as_deref()).filter(|_| *of == LabelOf::Owner);
                let of_owner = |namespace: &str| meant.is_some_and(|pod| pod.namespace() == namespace);
                let same_owner =
                    |one: &Pod| owner.is_some() && one.owner.as_deref() == owner && of_owner(one.namespace());
                for one in objects.pods.iter().filter(|one| is_named(pod)(one) || same_owner(one)) {
                    add(one.key(), DocumentEdit::Text { at: LABELS, key, value });
                }
                let makers = objects.workloads.iter().filter(|workload| of_owner(&workload.namespace));
                for workload in makers.filter(|workload| owner.is_some_and(|owner| workload.makes_pods_of(owner))) {
                    let is_cron = matches!(workload.controller, WorkloadController::CronJob { .. });
                    let at = if is_cron { CRON_TEMPLATE_LABELS } else { TEMPLATE_LABELS };
                    add(workload.key(), DocumentEdit::Text { at, key, value });
                }
                return;
            }
            Self::Selector { service, key, value } => {
                (service, DocumentEdit::Text { at: &["spec", "selector"], key, value })
            }
            Self::TargetPort { service, port, target } => (service, DocumentEdit::TargetPort { port, target }),
            Self::TrafficDistribution { service, value } => {
                (service, DocumentEdit::Text { at: &["spec"], key: &TRAFFIC_DISTRIBUTION, value })
            }
        };
        if let Some(service) = services(objects, service).next() {
            add(service.key(), edit);
        }
    }

    /// Changes what no text of the input says: the status of pods and nodes, and one of the pods that are assumed.
    fn apply(&self, objects: &mut Inventory) {
        match self {
            Self::PodReadiness { pod, to } => change_pods(objects, is_named(pod), |pod| pod.readiness = readiness(*to)),
            Self::DrainNode { node } => drain(objects, node),
            Self::LoseZone { zone } => lose(objects, zone),
            Self::PodLabel { pod, of: LabelOf::Pod, key, value } => {
                let read = objects.pods_of_input().len();
                let assumed = objects.pods.iter_mut().skip(read).filter(|one| is_named(pod)(one));
                assumed.for_each(|pod| set(Arc::make_mut(&mut pod.labels), key, value));
            }
            Self::PodLabel { of: LabelOf::Owner, .. }
            | Self::Selector { .. }
            | Self::TargetPort { .. }
            | Self::TrafficDistribution { .. } => {}
        }
    }
}

/// The objects of a text after the changes. `objects` are those before.
///
/// What the text says is changed there and read again, so that every finding is about what would be written. A drained node
/// and a lost zone do not change where pods are assumed: they are about the pods that run there.
pub(super) fn changed(
    changes: &[&Change],
    text: &str,
    objects: &Inventory,
    source: &Source<'_>,
) -> Result<Inventory, PageFault> {
    let mut edits = BTreeMap::new();
    for change in changes {
        change.edits(objects, &mut edits);
    }
    let mut after = if edits.is_empty() {
        objects.clone()
    } else {
        cluster::read_changed(text, source, |document| edited(document, &edits, source))?
    };
    for change in changes {
        change.apply(&mut after);
    }
    Ok(after)
}

/// The text of an object after its edits; `None` if it has none.
fn edited(
    document: &Document<'_>,
    edits: &BTreeMap<ObjectKey, Vec<DocumentEdit<'_>>>,
    source: &Source<'_>,
) -> Option<String> {
    let ObjectIdentity { key, group, .. } = document.identity();
    let key = key.clone().placed(source.defaults.namespace().unwrap_or_default());
    let edits = edits.get(&key)?;
    // Another group may have a kind of the same name: Knative makes a Service for each of its Services.
    let is_core = [Resource::Service, Resource::Pod].iter().any(|core| core.kind() == key.kind);
    if is_core && !group.is_empty() {
        return None;
    }
    let mut text = document.raw.get().to_owned();
    for edit in edits {
        text = edit.edited(&text).unwrap_or(text);
    }
    Some(text)
}

const LABELS: &[&str] = &["metadata", "labels"];
const TEMPLATE_LABELS: &[&str] = &["spec", "template", "metadata", "labels"];
const CRON_TEMPLATE_LABELS: &[&str] = &["spec", "jobTemplate", "spec", "template", "metadata", "labels"];
static TRAFFIC_DISTRIBUTION: Text = Text::new_static("trafficDistribution");

/// `app=web`, or that there is no such label.
fn pair_text(key: &str, value: &str) -> String {
    if value.is_empty() {
        format!("no {}", label_text(key))
    } else {
        format!("{}={}", label_text(key), label_text(value))
    }
}

/// Whether a pod has this namespace and name, joined by a slash.
fn is_named(name: &str) -> impl Fn(&Pod) -> bool {
    move |pod| name.split_once('/').is_some_and(|(namespace, name)| pod.namespace() == namespace && pod.name() == name)
}

fn readiness(to: ReadinessTo) -> PodReadiness {
    match to {
        ReadinessTo::Ready => PodReadiness::Ready,
        ReadinessTo::NotReady => not_ready(""),
    }
}

/// The condition `Ready` is false, with this reason.
fn not_ready(reason: &'static str) -> PodReadiness {
    let detail = NotReadyDetail {
        status: Text::new_static("False"),
        reason: Text::new_static(reason),
        ..NotReadyDetail::default()
    };
    PodReadiness::NotReady(Box::new(detail))
}

fn set(labels: &mut Labels, key: &Text, value: &Text) {
    if value.is_empty() {
        labels.remove(key);
    } else {
        labels.insert(key.clone(), value.clone());
    }
}

fn change_pods(objects: &mut Inventory, is_meant: impl Fn(&Pod) -> bool, change: impl Fn(&mut Pod)) {
    objects.pods.iter_mut().filter(|pod| is_meant(pod)).for_each(change);
}

/// The Services of this namespace and name, joined by a slash.
fn services<'i>(objects: &'i Inventory, name: &str) -> impl Iterator<Item = &'i Service> {
    let (namespace, name) = name.split_once('/').unwrap_or_default();
    objects.services.iter().filter(move |of| of.meta.namespace == *namespace && of.meta.name == *name)
}

/// What `kubectl drain --ignore-daemonsets` begins: the pods of the node are being deleted, but not those that its kubelet or
/// a DaemonSet runs. Where their successors start is not decided yet.
fn drain(objects: &mut Inventory, name: &Text) {
    for node in objects.nodes.iter_mut().filter(|node| node.name == *name) {
        Arc::make_mut(node).unschedulable = true;
    }
    let stays =
        |pod: &Pod| pod.owner.as_ref().is_some_and(|owner| ["DaemonSet", "Node"].contains(&owner.kind.as_str()));
    change_pods(objects, |pod| pod.node_name == *name && !stays(pod), |pod| pod.deleting = true);
}

/// What the cluster shows some minutes after a zone is lost: its nodes do not report, and their pods are not ready.
fn lose(objects: &mut Inventory, zone: &Text) {
    let mut lost: Vec<Text> = Vec::new();
    for node in objects.nodes.iter_mut().filter(|node| node.zone() == Some(zone)) {
        Arc::make_mut(node).ready = false;
        lost.push(node.name.clone());
    }
    lost.sort_unstable();
    let is_lost = |pod: &Pod| lost.binary_search(&pod.node_name).is_ok();
    change_pods(objects, is_lost, |pod| pod.readiness = not_ready("NodeNotReady"));
}
