//! The validation of workloads, autoscalers, owners and finalizers.

use roster_engine::model::ObjectKey;
use serde_json::{Value, json};

use super::{
    check,
    tests::{fields, object},
};

/// The findings about a workload with these fields of the spec beside those that it needs.
fn workload(kind: &str, more: &Value) -> Vec<String> {
    let labels = json!({ "app": "web" });
    let policy = if kind == "Job" || kind == "CronJob" { "Never" } else { "Always" };
    let pod = json!({ "containers": [{ "name": "web", "image": "web" }], "restartPolicy": policy });
    let template = json!({ "metadata": { "labels": labels }, "spec": pod });
    let (api_version, mut spec) = match kind {
        "Job" => ("batch/v1", json!({ "template": template })),
        "CronJob" => {
            ("batch/v1", json!({ "schedule": "0 * * * *", "jobTemplate": { "spec": { "template": template } } }))
        }
        "HorizontalPodAutoscaler" => {
            let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" });
            ("autoscaling/v2", json!({ "scaleTargetRef": target, "maxReplicas": 3 }))
        }
        _ => ("apps/v1", json!({ "selector": { "matchLabels": labels }, "template": template })),
    };
    for (name, value) in more.as_object().unwrap() {
        match name.split_once('.') {
            None => spec[name] = value.clone(),
            Some((of, name)) => spec[of]["spec"][name] = value.clone(),
        }
    }
    let found = fields(&object(api_version, kind, json!({ "spec": spec })));
    found.iter().map(|field| field.strip_prefix("spec.").unwrap_or(field).to_owned()).collect()
}

#[test]
fn generated_labels_of_a_job_are_its_own() {
    for (metadata, labels, want) in [
        (json!({ "name": "web" }), json!({ "app": "web", "job-name": "web" }), &[][..]),
        (json!({ "name": "web" }), json!({ "job-name": "api", "app": "x" }), &["job-name"]),
        (json!({ "generateName": "web-" }), json!({ "batch.kubernetes.io/job-name": "web-" }), &["job-name"]),
        (json!({ "name": "web" }), json!({ "batch.kubernetes.io/controller-uid": "" }), &["controller-uid"]),
        (json!({ "name": "web", "uid": "u" }), json!({ "controller-uid": "u" }), &[]),
        (json!({ "name": "web", "uid": "u" }), json!({ "controller-uid": "v" }), &["controller-uid"]),
    ] {
        let pod = json!({ "containers": [{ "name": "web", "image": "web" }], "restartPolicy": "Never" });
        let spec = json!({ "template": { "metadata": { "labels": labels }, "spec": pod } });
        let found = fields(&object("batch/v1", "Job", json!({ "metadata": metadata, "spec": spec })));
        let ends = found.iter().zip(want).all(|(field, label)| field.trim_end_matches("\"]").ends_with(label));
        assert!(found.len() == want.len() && ends, "{metadata} {labels}: {found:?}");
    }
}

#[test]
fn workloads_are_those_of_an_api_server() {
    let update = |partition: i64| json!({ "updateStrategy": { "rollingUpdate": { "partition": partition } } });
    for (kind, spec, want) in [
        ("Deployment", json!({ "template.activeDeadlineSeconds": 5 }), &["template.spec.activeDeadlineSeconds"][..]),
        ("Job", json!({ "template.activeDeadlineSeconds": 5, "activeDeadlineSeconds": 0 }), &[]),
        ("Job", json!({ "activeDeadlineSeconds": -1 }), &["activeDeadlineSeconds"]),
        ("Job", json!({ "manualSelector": true }), &["selector"]),
        ("Job", json!({ "selector": { "matchLabels": { "app": "web" } } }), &["selector"]),
        ("Job", json!({ "selector": {} }), &[]),
        ("Job", json!({ "manualSelector": true, "selector": { "matchLabels": { "app": "web" } } }), &[]),
        ("StatefulSet", json!({ "serviceName": "web", "ordinals": { "start": 3 } }), &[]),
        ("StatefulSet", json!({ "serviceName": "" }), &[]),
        ("StatefulSet", json!({ "serviceName": "a_b" }), &["serviceName"]),
        ("StatefulSet", json!({ "ordinals": { "start": -1 } }), &["ordinals.start"]),
        ("StatefulSet", update(0), &[]),
        ("StatefulSet", update(-1), &["updateStrategy.rollingUpdate.partition"]),
        ("CronJob", json!({ "timeZone": "America/Port-au-Prince" }), &[]),
        ("CronJob", json!({ "timeZone": "Etc/GMT+5" }), &[]),
        ("CronJob", json!({ "timeZone": null }), &[]),
        ("CronJob", json!({ "jobTemplate.activeDeadlineSeconds": -1 }), &["jobTemplate.spec.activeDeadlineSeconds"]),
        ("CronJob", json!({ "timeZone": "" }), &["timeZone"]),
        ("CronJob", json!({ "timeZone": "local" }), &["timeZone"]),
        ("CronJob", json!({ "timeZone": "Europe Paris" }), &["timeZone"]),
    ] {
        assert_eq!(workload(kind, &spec), want, "{kind} {spec}");
    }
}

#[test]
fn metrics_are_those_of_an_api_server() {
    let cpu = |target: Value| json!({ "name": "cpu", "target": target });
    let half = || cpu(json!({ "type": "Utilization", "averageUtilization": 50 }));
    for (metric, want) in [
        (json!({ "type": "Resource", "resource": half() }), &[][..]),
        (json!({ "type": "resource", "resource": half() }), &["metrics[0].type"]),
        (json!({ "type": "Pods", "resource": half() }), &["metrics[0].pods"]),
        (
            json!({ "type": "Resource", "resource": half(), "pods": { "metric": { "name": "x" }, "target": { "type": "Value" } } }),
            &["metrics[0].pods"],
        ),
        (
            json!({ "type": "Resource", "resource": cpu(json!({ "type": "Utilization" })) }),
            &["metrics[0].resource.target"],
        ),
        (
            json!({ "type": "Resource", "resource": cpu(json!({ "type": "Utilization", "averageUtilization": 0 })) }),
            &["metrics[0].resource.target.averageUtilization"],
        ),
    ] {
        assert_eq!(workload("HorizontalPodAutoscaler", &json!({ "metrics": [metric] })), want, "{metric}");
    }
}

#[test]
fn owners_and_finalizers_are_those_of_an_api_server() {
    let owner = |version: &str, uid: &str| json!({ "apiVersion": version, "kind": "A", "name": "b", "uid": uid, "controller": true });
    for (metadata, want) in [
        (json!({ "ownerReferences": [owner("v1", "1")], "finalizers": ["orphan", "a.b/c"] }), &[][..]),
        (json!({ "ownerReferences": [owner("a/", "1")] }), &["ownerReferences[0].apiVersion"]),
        (json!({ "ownerReferences": [owner("v1", "")] }), &["ownerReferences[0].uid"]),
        (json!({ "ownerReferences": [owner("v1", "1"), owner("v1", "2")] }), &["ownerReferences"]),
        (json!({ "finalizers": ["x"] }), &["finalizers[0]"]),
        (json!({ "finalizers": ["a b/c"] }), &["finalizers[0]"]),
        (json!({ "finalizers": ["orphan", "foregroundDeletion"] }), &["finalizers"]),
        (json!({ "generateName": "web-" }), &[]),
        (json!({ "generateName": "Web-" }), &["generateName"]),
    ] {
        let mut config = json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": "web" } });
        config["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        let found: Vec<String> = fields(&config);
        let found: Vec<&str> = found.iter().map(|f| f.strip_prefix("metadata.").unwrap_or(f)).collect();
        assert_eq!(found, want, "{metadata}");
    }
}

/// What to write depends on the kind: the group of Deployments says nothing about a Service.
#[test]
fn the_group_of_a_scaled_kind_is_named() {
    for (target, want) in [
        (
            json!({ "apiVersion": "v1", "kind": "StatefulSet" }),
            "\"v1\" has no API group; for kind StatefulSet it is apps/v1",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Service" }),
            "\"v1\" has no API group; the kind Service cannot be scaled",
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Rollout" }),
            "\"v1\" has no API group; kinds that can be scaled have one, such as apps/v1 of Deployments",
        ),
        (
            json!({ "kind": "Deployment" }),
            "an API server needs it to find the object; for kind Deployment it is apps/v1",
        ),
    ] {
        let mut target = target.clone();
        target["name"] = json!("web");
        let spec = json!({ "scaleTargetRef": target, "maxReplicas": 3 });
        let scaler = object("autoscaling/v2", "HorizontalPodAutoscaler", json!({ "spec": spec }));
        let raw = serde_json::value::to_raw_value(&scaler).unwrap();
        let found = check(&raw, &ObjectKey::default()).findings;
        let messages: Vec<&str> = found.iter().map(|f| f.message.as_str()).collect();
        assert_eq!(messages, [want], "{target}");
    }
}
