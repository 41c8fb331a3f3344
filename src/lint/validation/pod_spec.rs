//! What an API server refuses of the Pods and pod templates of an object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    faults::Faults,
    field::{Field, Presence, Rule},
    object_meta::{Metadata, check_labels, check_map},
    pod::{self, PodPlace},
};
use crate::{engine::reason::Reason, model::json::pointer::Pointer};

const ANY: &[&str] = &["Always", "OnFailure", "Never"];
const ALWAYS: &[&str] = &["Always"];
const OF_JOBS: &[&str] = &["OnFailure", "Never"];

/// Checks the pod or the pod template of an object, if its kind has one.
pub(super) fn check(object: &Value, kind: &str, faults: &mut Faults<'_>) {
    let root = Field::new(object, Pointer::At(""));
    let spec = root.key("spec");
    let policies = match kind {
        "Pod" => {
            check_restart_policy(&spec, ANY, faults);
            return check_pod(&spec, PodPlace::Pod, &BTreeSet::new(), faults);
        }
        "Job" | "CronJob" => OF_JOBS,
        "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet" | "DaemonSet" => ALWAYS,
        _ => return,
    };
    Rule::Range(0, i64::MAX).check(&spec.key("replicas"), Presence::Optional, faults);
    check_selector(&spec.key("selector"), faults);
    let job_template = spec.key("jobTemplate");
    let job = job_template.key("spec");
    let template = if kind == "CronJob" { job.key("template") } else { spec.key("template") };
    // The schema reports a template that is missing.
    if !template.is_set() {
        return;
    }
    let metadata = template.key("metadata");
    check_labels(&metadata.read::<Metadata>(), &metadata.at, faults);
    let pod = template.key("spec");
    if !pod.is_set() {
        return pod.require("the template has no spec", faults);
    }
    check_restart_policy(&pod, policies, faults);
    let deadline = pod.key("activeDeadlineSeconds");
    if policies == ALWAYS && deadline.is_set() {
        deadline.refuse(format!("the pods of a {kind} cannot have it"), faults);
    }
    check_pod(&pod, PodPlace::Template, &claims(&spec), faults);
}

fn check_pod(spec: &Field<'_, '_>, place: PodPlace, claims: &BTreeSet<&str>, faults: &mut Faults<'_>) {
    let containers = spec.key("containers");
    // The schema reports a list that is missing.
    if containers.is_set() && containers.is_empty() {
        faults.add(Reason::MissingField, containers.at, "a pod needs a container");
    }
    pod::check(spec, place, claims, faults);
}

/// A missing policy is Always.
fn check_restart_policy(spec: &Field<'_, '_>, policies: &'static [&'static str], faults: &mut Faults<'_>) {
    let policy = spec.key("restartPolicy");
    Rule::OneOf(policies).check(&policy, Presence::Optional, faults);
    if policies == OF_JOBS && policy.text().is_empty() && spec.key("containers").is_set() {
        policy.require("the pods of a Job need restartPolicy: OnFailure or Never", faults);
    }
}

/// A selector with `matchLabels`, or the plain one of a ReplicationController.
fn check_selector(selector: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let labels = selector.key("matchLabels");
    let is_plain = !labels.is_set() && !selector.key("matchExpressions").is_set();
    let labels = if is_plain { selector } else { &labels };
    check_map(&labels.read::<BTreeMap<String, Value>>(), &labels.at, faults);
}

/// The names of the volumes that a StatefulSet adds to its pods.
fn claims<'v>(spec: &Field<'v, '_>) -> BTreeSet<&'v str> {
    let templates = spec.key("volumeClaimTemplates");
    templates.items().map(|claim| name_of(&claim)).collect()
}

fn name_of<'v>(claim: &Field<'v, '_>) -> &'v str {
    claim.key("metadata").key("name").text()
}
