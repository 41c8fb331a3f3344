//! What an API server refuses of workloads, apart from their pod templates.

use super::{
    autoscaler, cron_job,
    faults::Faults,
    field::{Field, FieldRule, FieldRules, NOT_NEGATIVE, Presence, check_fields},
    job, rollout, volume_claim,
};

const DEPLOYMENT: &FieldRules = &[
    ("minReadySeconds", Presence::Optional, NOT_NEGATIVE),
    ("revisionHistoryLimit", Presence::Optional, NOT_NEGATIVE),
];

const DAEMON_SET: &FieldRules = DEPLOYMENT;

const REPLICA_SET: &FieldRules = &[("minReadySeconds", Presence::Optional, NOT_NEGATIVE)];

/// A negative revisionHistoryLimit is allowed here: no revision is removed.
const STATEFUL_SET: &FieldRules = &[
    ("minReadySeconds", Presence::Optional, NOT_NEGATIVE),
    ("podManagementPolicy", Presence::Optional, FieldRule::OneOf(&["OrderedReady", "Parallel"])),
    ("serviceName", Presence::Optional, FieldRule::Label),
];

const RETENTION: &FieldRules = &[
    ("whenDeleted", Presence::Optional, FieldRule::OneOf(&["Retain", "Delete"])),
    ("whenScaled", Presence::Optional, FieldRule::OneOf(&["Retain", "Delete"])),
];

/// Checks a workload or an autoscaler.
pub(super) fn check(object: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let (metadata, spec) = (object.key("metadata"), object.key("spec"));
    match kind {
        "Deployment" => check_deployment(&spec, faults),
        "DaemonSet" => {
            check_fields(&spec, DAEMON_SET, faults);
            rollout::check_daemon_set(&spec.key("updateStrategy"), faults);
        }
        "StatefulSet" => check_stateful_set(&spec, faults),
        "ReplicaSet" | "ReplicationController" => check_fields(&spec, REPLICA_SET, faults),
        "Job" => {
            job::check_selector(&spec, faults);
            job::check_generated_labels(&metadata, &spec, faults);
            job::check_name(&metadata.key("name"), &spec, faults);
            job::check(&spec, false, faults);
        }
        "CronJob" => cron_job::check(&spec, faults),
        "HorizontalPodAutoscaler" => autoscaler::check(object, faults),
        _ => {}
    }
}

fn check_deployment(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_fields(spec, DEPLOYMENT, faults);
    rollout::check_deployment(&spec.key("strategy"), faults);
    let limit = spec.key("progressDeadlineSeconds");
    // The default of an API server.
    let seconds = limit.number().unwrap_or(600);
    if seconds <= spec.key("minReadySeconds").number().unwrap_or(0) {
        limit.refuse(format!("{seconds} seconds are not more than minReadySeconds"), faults);
    }
}

fn check_stateful_set(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_fields(spec, STATEFUL_SET, faults);
    NOT_NEGATIVE.check(&spec.key("ordinals").key("start"), Presence::Optional, faults);
    check_fields(&spec.key("persistentVolumeClaimRetentionPolicy"), RETENTION, faults);
    rollout::check_stateful_set(&spec.key("updateStrategy"), faults);
    for claim in spec.key("volumeClaimTemplates").items() {
        let metadata = claim.key("metadata");
        let name = metadata.key("name");
        FieldRule::Label.check(&name, Presence::Required, faults);
        volume_claim::check(&claim.key("spec"), faults);
    }
}
