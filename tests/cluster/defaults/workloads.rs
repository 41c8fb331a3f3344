//! Workloads and autoscalers with values that people get wrong. Some of the values are allowed.

use serde_json::{Value, json};

use super::odd_values::{Values, metadata, names};
use crate::{fields_of_manifests::cases::set, parity::rng::Rng};

const KINDS: [&str; 7] =
    ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "HorizontalPodAutoscaler"];

/// The `index`th workload, with one or two odd values.
pub(super) fn odd_workload(seed: u64, index: u64) -> Value {
    let mut rng = Rng::new(seed, index);
    let kind = KINDS[rng.below(KINDS.len())];
    let mut object = plain(kind, index);
    for _ in 0..rng.between(1, 2) {
        let all: Values =
            if rng.percent(60) { of_kind(kind) } else { of_any().into_iter().chain(metadata()).collect() };
        let (pointer, values) = &all[rng.below(all.len())];
        set(&mut object, pointer, values[rng.below(values.len())].clone());
    }
    object
}

/// A workload that an API server accepts.
fn plain(kind: &str, index: u64) -> Value {
    let labels = json!({ "app": "web" });
    let container = json!({ "name": "web", "image": "web" });
    let template = |policy: &str| {
        let spec = json!({ "containers": [container], "restartPolicy": policy });
        json!({ "metadata": { "labels": labels }, "spec": spec })
    };
    let group = match kind {
        "Job" | "CronJob" => "batch/v1",
        "HorizontalPodAutoscaler" => "autoscaling/v2",
        _ => "apps/v1",
    };
    let spec = match kind {
        "Job" => json!({ "template": template("Never") }),
        "CronJob" => {
            json!({ "schedule": "0 * * * *", "jobTemplate": { "spec": { "template": template("OnFailure") } } })
        }
        "HorizontalPodAutoscaler" => {
            let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" });
            json!({ "scaleTargetRef": target, "maxReplicas": 3 })
        }
        _ => json!({ "selector": { "matchLabels": labels }, "template": template("Always") }),
    };
    let name = format!("{}-{index}", kind.to_lowercase());
    json!({ "apiVersion": group, "kind": kind, "metadata": { "name": name }, "spec": spec })
}

fn of_any() -> Values {
    vec![("/metadata", vec![json!({ "generateName": "web-" }), json!({ "generateName": "Web-" }), json!({})])]
}

fn of_kind(kind: &str) -> Values {
    let deadline = vec![json!(0), json!(1), json!(-1)];
    let mut all = vec![("/spec/template/spec/activeDeadlineSeconds", deadline.clone())];
    match kind {
        "StatefulSet" => all.extend(stateful_set()),
        "Job" => {
            all.extend([
                ("/spec/activeDeadlineSeconds", deadline),
                ("/spec/manualSelector", vec![json!(true), json!(false)]),
                ("/spec/selector", vec![json!({ "matchLabels": { "app": "web" } }), json!({})]),
                ("/spec/backoffLimit", vec![json!(-1), json!(0)]),
            ]);
        }
        "CronJob" => {
            all = vec![
                (
                    "/spec/timeZone",
                    [
                        "Europe/Paris",
                        "Etc/GMT+5",
                        "UTC",
                        "",
                        "Local",
                        "local",
                        "Europe Paris",
                        "/UTC",
                        "../UTC",
                        "GMT-0",
                    ]
                    .map(Value::from)
                    .to_vec(),
                ),
                ("/spec/jobTemplate/spec/activeDeadlineSeconds", deadline.clone()),
                ("/spec/jobTemplate/spec/template/spec/activeDeadlineSeconds", deadline),
                ("/spec/startingDeadlineSeconds", vec![json!(-1), json!(0)]),
            ];
        }
        "HorizontalPodAutoscaler" => all = autoscaler(),
        _ => {}
    }
    all
}

fn stateful_set() -> Values {
    let partition = |n: i64| json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": n } });
    vec![
        ("/spec/serviceName", names()),
        ("/spec/ordinals", vec![json!({ "start": 3 }), json!({ "start": -1 }), json!({})]),
        ("/spec/updateStrategy", vec![partition(0), partition(2), partition(-1), json!({ "type": "OnDelete" })]),
    ]
}

fn autoscaler() -> Values {
    let resource = |resource: Value| json!([{ "type": "Resource", "resource": resource }]);
    let cpu = |target: Value| json!({ "name": "cpu", "target": target });
    let utilization = |n: i64| cpu(json!({ "type": "Utilization", "averageUtilization": n }));
    let external = json!({ "metric": { "name": "queue" }, "target": { "type": "Value", "value": "5" } });
    vec![
        ("/spec/minReplicas", vec![json!(1), json!(3), json!(4), json!(-1)]),
        ("/spec/maxReplicas", vec![json!(1), json!(0), json!(-1)]),
        ("/spec/scaleTargetRef/name", vec![json!(""), json!("web")]),
        ("/spec/scaleTargetRef/kind", vec![json!(""), json!("StatefulSet")]),
        (
            "/spec/metrics",
            vec![
                resource(utilization(80)),
                resource(utilization(0)),
                resource(cpu(json!({ "type": "AverageValue", "averageValue": "500m" }))),
                resource(cpu(json!({ "type": "Utilization" }))),
                resource(cpu(json!({ "type": "Utilization", "averageUtilization": 5, "averageValue": "1" }))),
                resource(cpu(json!({ "type": "utilization", "averageUtilization": 5 }))),
                resource(json!({ "name": "", "target": { "type": "Utilization", "averageUtilization": 5 } })),
                json!([{ "type": "Resource" }]),
                json!([{ "type": "resource", "resource": utilization(80) }]),
                json!([{ "type": "Resource", "resource": utilization(80), "external": external }]),
                json!([{ "type": "External", "external": external }]),
                json!([]),
            ],
        ),
    ]
}
