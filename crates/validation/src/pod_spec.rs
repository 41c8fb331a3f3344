//! What an API server refuses of the Pods and pod templates of an object.

use std::collections::BTreeSet;

use roster_engine::reason::Reason;

use super::{
    faults::Faults,
    field::{Field, FieldRule, NOT_NEGATIVE, Presence},
    labels::{check_annotations, check_labels, check_selector},
    pod::{self, PodPlace},
};

const ANY: &[&str] = &["Always", "OnFailure", "Never"];
const ALWAYS: &[&str] = &["Always"];
const OF_JOBS: &[&str] = &["OnFailure", "Never"];

/// Checks the pod or the pod template of an object, if its kind has one.
pub(super) fn check(object: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let spec = object.key("spec");
    let policies = match kind {
        "Pod" => {
            let metadata = object.key("metadata");
            pod::check_annotations(&metadata.key("annotations"), &spec, faults);
            if !spec.is_set() {
                return spec.require("the Pod has no spec", faults);
            }
            pod::check_own_labels(&spec, &metadata.key("labels"), faults);
            check_restart_policy(&spec, ANY, faults);
            return check_pod(&spec, PodPlace::Pod, &BTreeSet::new(), faults);
        }
        "Job" | "CronJob" => OF_JOBS,
        "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet" | "DaemonSet" => ALWAYS,
        _ => return,
    };
    if kind == "Job" && !spec.is_set() {
        return spec.require("the Job has no spec", faults);
    }
    NOT_NEGATIVE.check(&spec.key("replicas"), Presence::Optional, faults);
    let job_template = spec.key("jobTemplate");
    let job = job_template.key("spec");
    let template = if kind == "CronJob" { job.key("template") } else { spec.key("template") };
    if policies == ALWAYS {
        check_pod_selector(&spec.key("selector"), kind, &template, faults);
    }
    // The schema reports a template that is missing.
    if !template.is_set() {
        return;
    }
    let (metadata, pod) = (template.key("metadata"), template.key("spec"));
    check_labels(&metadata.key("labels"), faults);
    let annotations = metadata.key("annotations");
    check_annotations(&annotations, faults);
    pod::check_annotations(&annotations, &pod, faults);
    if !pod.is_set() {
        return pod.require("the template has no spec", faults);
    }
    check_restart_policy(&pod, policies, faults);
    let deadline = pod.key("activeDeadlineSeconds");
    if policies == ALWAYS && deadline.is_set() {
        deadline.refuse(format!("the pods of a {kind} cannot have it"), faults);
    }
    let place = if kind == "StatefulSet" { PodPlace::StatefulSet } else { PodPlace::Template };
    check_pod(&pod, place, &claims(&spec), faults);
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
    FieldRule::OneOf(policies).check(&policy, Presence::Optional, faults);
    if policies == OF_JOBS && policy.text().is_empty() && spec.key("containers").is_set() {
        policy.require("the pods of a Job need restartPolicy: OnFailure or Never", faults);
    }
}

/// A selector with `matchLabels`, or the plain one of a `ReplicationController`, for which an API server takes the
/// labels of the template if it is empty. The schema reports a selector that is missing.
fn check_pod_selector(selector: &Field<'_, '_>, kind: &str, template: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if kind == "ReplicationController" {
        check_labels(selector, faults);
        let metadata = template.key("metadata");
        if selector.is_empty() && metadata.key("labels").is_empty() {
            selector.require("it is empty, and so are the labels of the template", faults);
        }
        return;
    }
    check_selector(selector, faults);
    let parts = ["matchLabels", "matchExpressions"].map(|name| selector.key(name));
    if selector.is_set() && parts.iter().all(Field::is_empty) {
        selector.refuse(format!("the selector of a {kind} cannot be empty"), faults);
    }
}

/// The names of the volumes that a StatefulSet adds to its pods.
fn claims<'v>(spec: &Field<'v, '_>) -> BTreeSet<&'v str> {
    let templates = spec.key("volumeClaimTemplates");
    templates.items().map(|claim| name_of(&claim)).collect()
}

fn name_of<'v>(claim: &Field<'v, '_>) -> &'v str {
    claim.key("metadata").key("name").text()
}
