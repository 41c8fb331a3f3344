//! What an API server refuses of workloads and autoscalers: strategies, policies, schedules and limits.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    cron,
    faults::{Faults, quoted},
    values::{lenient, one_of},
};
use crate::{
    engine::reason::Reason,
    model::{dns, json::pointer::Pointer},
};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Manifest {
    #[serde(deserialize_with = "lenient")]
    metadata: Metadata,
    #[serde(deserialize_with = "lenient")]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    #[serde(deserialize_with = "lenient")]
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JobTemplate {
    #[serde(deserialize_with = "lenient")]
    spec: Spec,
}

/// Labels that an API server gives to a Job and its pods.
const JOB_LABELS: [&str; 4] =
    ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];

/// The fields of all kinds.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    #[serde(deserialize_with = "lenient")]
    strategy: Strategy,
    #[serde(deserialize_with = "lenient")]
    update_strategy: Strategy,
    #[serde(deserialize_with = "lenient")]
    pod_management_policy: String,
    #[serde(deserialize_with = "lenient")]
    completion_mode: String,
    #[serde(deserialize_with = "lenient")]
    concurrency_policy: String,
    #[serde(deserialize_with = "lenient")]
    schedule: Option<String>,
    #[serde(deserialize_with = "lenient")]
    min_replicas: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    max_replicas: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    min_ready_seconds: i64,
    #[serde(deserialize_with = "lenient")]
    progress_deadline_seconds: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    parallelism: i64,
    #[serde(deserialize_with = "lenient")]
    completions: i64,
    #[serde(deserialize_with = "lenient")]
    backoff_limit: i64,
    #[serde(deserialize_with = "lenient")]
    revision_history_limit: i64,
    #[serde(deserialize_with = "lenient")]
    starting_deadline_seconds: i64,
    #[serde(deserialize_with = "lenient")]
    successful_jobs_history_limit: i64,
    #[serde(deserialize_with = "lenient")]
    failed_jobs_history_limit: i64,
    #[serde(deserialize_with = "lenient")]
    ttl_seconds_after_finished: i64,
    #[serde(deserialize_with = "lenient")]
    active_deadline_seconds: i64,
    #[serde(deserialize_with = "lenient")]
    service_name: String,
    #[serde(deserialize_with = "lenient")]
    ordinals: Ordinals,
    #[serde(deserialize_with = "lenient")]
    time_zone: Option<String>,
    #[serde(deserialize_with = "lenient")]
    manual_selector: bool,
    #[serde(deserialize_with = "lenient")]
    selector: Option<JobSelector>,
    #[serde(deserialize_with = "lenient")]
    job_template: Option<Box<JobTemplate>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JobSelector {
    #[serde(deserialize_with = "lenient")]
    match_labels: BTreeMap<String, Value>,
}

/// The numbers of the pods of a StatefulSet.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Ordinals {
    #[serde(deserialize_with = "lenient")]
    start: i64,
}

impl JobSelector {
    /// Whether it has labels besides those that an API server puts into it.
    fn has_other_labels(&self) -> bool {
        self.match_labels.keys().any(|key| !JOB_LABELS.contains(&key.as_str()))
    }
}

/// How pods are replaced.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Strategy {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: String,
    #[serde(deserialize_with = "lenient")]
    rolling_update: Option<RollingUpdate>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RollingUpdate {
    #[serde(deserialize_with = "lenient")]
    max_unavailable: Value,
    #[serde(deserialize_with = "lenient")]
    max_surge: Value,
    #[serde(deserialize_with = "lenient")]
    partition: i64,
}

/// Checks the spec of a workload or of an autoscaler.
pub(super) fn check(object: &RawValue, kind: &str, faults: &mut Faults<'_>) {
    if !matches!(
        kind,
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" | "CronJob" | "HorizontalPodAutoscaler"
    ) {
        return;
    }
    let Ok(Manifest { metadata, spec }) = serde_json::from_str::<Manifest>(object.get()) else { return };
    let root = Pointer::At("/spec");
    match kind {
        "Deployment" => check_deployment(&spec, &root, faults),
        "DaemonSet" => check_daemon_set(&spec.update_strategy, &Pointer::Key(&root, "updateStrategy"), faults),
        "StatefulSet" => check_stateful_set(&spec, &root, faults),
        "Job" => {
            check_job_name(&metadata.name, &spec, faults);
            check_job(&spec, &root, faults);
        }
        "CronJob" => check_cron_job(&spec, &root, faults),
        "HorizontalPodAutoscaler" => check_autoscaler(&spec, &root, faults),
        _ => {}
    }
    check_not_negative(&spec, &root, faults);
}

fn check_not_negative(spec: &Spec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    for (field, number) in [
        ("minReadySeconds", spec.min_ready_seconds),
        ("parallelism", spec.parallelism),
        ("completions", spec.completions),
        ("backoffLimit", spec.backoff_limit),
        ("revisionHistoryLimit", spec.revision_history_limit),
        ("startingDeadlineSeconds", spec.starting_deadline_seconds),
        ("successfulJobsHistoryLimit", spec.successful_jobs_history_limit),
        ("failedJobsHistoryLimit", spec.failed_jobs_history_limit),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished),
        ("activeDeadlineSeconds", spec.active_deadline_seconds),
    ] {
        if number < 0 {
            faults.add(Reason::InvalidValue, Pointer::Key(root, field), "it is negative");
        }
    }
}

fn check_deployment(spec: &Spec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    let Strategy { kind, rolling_update } = &spec.strategy;
    let at = Pointer::Key(root, "strategy");
    one_of(kind, &["Recreate", "RollingUpdate"], Pointer::Key(&at, "type"), faults);
    let update = Pointer::Key(&at, "rollingUpdate");
    match rolling_update {
        Some(_) if kind == "Recreate" => {
            faults.add(Reason::InvalidValue, update, "a strategy of type Recreate cannot have it");
        }
        Some(RollingUpdate { max_unavailable, max_surge, .. }) => {
            check_share(max_unavailable, 100, &Pointer::Key(&update, "maxUnavailable"), faults);
            check_share(max_surge, i64::MAX, &Pointer::Key(&update, "maxSurge"), faults);
            if share(max_unavailable) == Some(0) && share(max_surge) == Some(0) {
                let message = "it cannot be 0 when maxSurge is 0: no pod could be replaced";
                faults.add(Reason::InvalidValue, Pointer::Key(&update, "maxUnavailable"), message);
            }
        }
        None => {}
    }
    // The default of an API server.
    let deadline = spec.progress_deadline_seconds.unwrap_or(600);
    if deadline <= spec.min_ready_seconds {
        let message = format!("{deadline} seconds are not more than minReadySeconds");
        faults.add(Reason::InvalidValue, Pointer::Key(root, "progressDeadlineSeconds"), message);
    }
}

fn check_daemon_set(Strategy { kind, rolling_update }: &Strategy, at: &Pointer<'_>, faults: &mut Faults<'_>) {
    one_of(kind, &["RollingUpdate", "OnDelete"], Pointer::Key(at, "type"), faults);
    let Some(RollingUpdate { max_unavailable, max_surge, .. }) = rolling_update.as_ref().filter(|_| kind != "OnDelete")
    else {
        return;
    };
    let at = Pointer::Key(at, "rollingUpdate");
    check_share(max_unavailable, 100, &Pointer::Key(&at, "maxUnavailable"), faults);
    check_share(max_surge, 100, &Pointer::Key(&at, "maxSurge"), faults);
    // An API server fills in 1 for maxUnavailable, and 0 for maxSurge.
    let unavailable = if max_unavailable.is_null() { Some(1) } else { share(max_unavailable) };
    let surge = if max_surge.is_null() { Some(0) } else { share(max_surge) };
    match (unavailable, surge) {
        (Some(0), Some(0)) => {
            let message = "it cannot be 0 when maxSurge is 0: no pod could be replaced";
            faults.add(Reason::InvalidValue, Pointer::Key(&at, "maxUnavailable"), message);
        }
        (Some(1..), Some(1..)) => {
            let message = "it needs maxUnavailable: 0, which is 1 where it is missing";
            faults.add(Reason::InvalidValue, Pointer::Key(&at, "maxSurge"), message);
        }
        _ => {}
    }
}

fn check_stateful_set(spec: &Spec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    let policy = &spec.pod_management_policy;
    one_of(policy, &["OrderedReady", "Parallel"], Pointer::Key(root, "podManagementPolicy"), faults);
    if !spec.service_name.is_empty() && !dns::is_label(spec.service_name.as_bytes()) {
        let message = format!("{} is not the name of a Service", quoted(&spec.service_name));
        faults.add(Reason::InvalidValue, Pointer::Key(root, "serviceName"), message);
    }
    if spec.ordinals.start < 0 {
        let ordinals = Pointer::Key(root, "ordinals");
        faults.add(Reason::InvalidValue, Pointer::Key(&ordinals, "start"), "it is negative");
    }
    let Strategy { kind, rolling_update } = &spec.update_strategy;
    let at = Pointer::Key(root, "updateStrategy");
    one_of(kind, &["RollingUpdate", "OnDelete"], Pointer::Key(&at, "type"), faults);
    let update = Pointer::Key(&at, "rollingUpdate");
    match rolling_update {
        Some(_) if kind == "OnDelete" => {
            faults.add(Reason::InvalidValue, update, "a strategy of type OnDelete cannot have it");
        }
        Some(RollingUpdate { max_unavailable, partition, .. }) => {
            if *partition < 0 {
                faults.add(Reason::InvalidValue, Pointer::Key(&update, "partition"), "it is negative");
            }
            let field = Pointer::Key(&update, "maxUnavailable");
            check_share(max_unavailable, 100, &field, faults);
            if share(max_unavailable) == Some(0) {
                faults.add(Reason::InvalidValue, field, "it cannot be 0: no pod could be replaced");
            }
        }
        None => {}
    }
}

fn check_job(spec: &Spec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    one_of(&spec.completion_mode, &["NonIndexed", "Indexed"], Pointer::Key(root, "completionMode"), faults);
    let at = Pointer::Key(root, "selector");
    match &spec.selector {
        None if spec.manual_selector => {
            faults.add(Reason::MissingField, at, "with manualSelector, a Job needs a selector");
        }
        Some(selector) if !spec.manual_selector && selector.has_other_labels() => {
            let message = "an API server makes the selector of a Job, unless it has manualSelector: true";
            faults.add(Reason::InvalidValue, at, message);
        }
        _ => {}
    }
}

/// The name of a Job is a label of its pods, unless it says how these are selected.
fn check_job_name(name: &str, spec: &Spec, faults: &mut Faults<'_>) {
    if name.len() > dns::MAX_LABEL && !spec.manual_selector {
        let message = format!("the name has {} characters; {} are allowed", name.len(), dns::MAX_LABEL);
        faults.add(Reason::InvalidName, "/metadata/name", message);
    }
}

fn check_cron_job(spec: &Spec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    let policies = ["Allow", "Forbid", "Replace"];
    one_of(&spec.concurrency_policy, &policies, Pointer::Key(root, "concurrencyPolicy"), faults);
    if let Some(schedule) = &spec.schedule
        && let Some(why) = cron::not_schedule(schedule)
    {
        let message = format!("{} is not a schedule: {why}", quoted(schedule));
        faults.add(Reason::InvalidValue, Pointer::Key(root, "schedule"), message);
    }
    if let Some(job) = &spec.job_template {
        let template = Pointer::Key(root, "jobTemplate");
        let of_job = Pointer::Key(&template, "spec");
        check_not_negative(&job.spec, &of_job, faults);
    }
    if let Some(zone) = spec.time_zone.as_deref().filter(|zone| !may_be_time_zone(zone)) {
        let message = format!("{} is not the name of a time zone, such as Europe/Paris", quoted(zone));
        faults.add(Reason::InvalidValue, Pointer::Key(root, "timeZone"), message);
    }
}

/// Whether a text has the form of a name in the database of time zones. Each release has a newer one, so that the names
/// are not compared.
fn may_be_time_zone(name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"_+-/".contains(&b);
    !name.is_empty() && !name.starts_with('/') && name.bytes().all(is_allowed) && !name.eq_ignore_ascii_case("Local")
}

fn check_autoscaler(spec: &Spec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    // The schema reports a maximum that is missing. Scaling to 0 depends on the metrics.
    let least = spec.min_replicas.unwrap_or(1);
    let Some(most) = spec.max_replicas else { return };
    if least < 0 {
        faults.add(Reason::InvalidValue, Pointer::Key(root, "minReplicas"), "it is negative");
    } else if most < 1 {
        faults.add(Reason::InvalidValue, Pointer::Key(root, "maxReplicas"), format!("{most} is less than 1"));
    } else if most < least {
        let message = format!("{most} is less than minReplicas, which is {least}");
        faults.add(Reason::InvalidValue, Pointer::Key(root, "maxReplicas"), message);
    }
}

/// A number of pods, or a percentage; `None` for anything else.
fn share(value: &Value) -> Option<i64> {
    let percentage = |text: &str| {
        let digits = text.strip_suffix('%')?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    value.as_i64().or_else(|| percentage(value.as_str()?))
}

/// Reports a value that is neither a number of pods nor a percentage up to `most`.
fn check_share(value: &Value, most: i64, at: &Pointer<'_>, faults: &mut Faults<'_>) {
    match share(value) {
        // The schema reports other types.
        None if !value.is_string() => {}
        None => faults.add(Reason::InvalidValue, at, "it is neither a number nor a percentage such as 25%"),
        Some(share) if share < 0 => faults.add(Reason::InvalidValue, at, "it is negative"),
        Some(share) if value.is_string() && share > most => {
            faults.add(Reason::InvalidValue, at, format!("it is more than {most}%"));
        }
        Some(_) => {}
    }
}
