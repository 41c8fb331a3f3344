//! The templates of monitoring: who scrapes the pods, the alerts, and the dashboard.

use roster_engine::model::installed::{CONTROLLER, SHADOW};
use serde_json::{Value, json};

use super::{
    expression::{items_if, more, value},
    servers::{REST_ENABLED, compares, writes},
    template::Template,
    webhook,
};
use crate::deploy::{
    alerts::{ALERTS, Alert, AlertedServer},
    controller,
    names::{ADMIN_PORT, NAME, meta},
    rest,
};

/// The templates, by the names of their files.
pub(super) fn templates() -> Vec<(&'static str, Vec<Template>)> {
    let any = format!("or {} .Values.controller.enabled", webhook::ENABLED);
    let rules = Template::new(format!("and .Values.monitoring.rules.enabled ({any})"), rules());
    let dashboard = Template::new(".Values.monitoring.dashboard.enabled", dashboard());
    vec![
        ("monitoring-pods", scraped().flat_map(|(meta, condition)| pod_monitor(&meta, &condition)).collect()),
        ("monitoring-services", scraped().flat_map(|(meta, condition)| service_monitor(&meta, &condition)).collect()),
        ("monitoring-rules", vec![rules]),
        ("monitoring-dashboard", vec![dashboard]),
    ]
}

/// The pods with an admin listener that others reach, by the metadata of their workload, and whether they run.
fn scraped() -> impl Iterator<Item = (Value, String)> {
    [
        (meta(NAME), webhook::ENABLED.to_owned()),
        (rest::meta(), REST_ENABLED.to_owned()),
        (controller::meta(CONTROLLER), writes()),
        (controller::meta(SHADOW), compares()),
    ]
    .into_iter()
}

/// Adds the labels by which a monitoring stack finds an object.
fn found(mut object: Value, values: &str) -> Value {
    object["metadata"]["labels"][more(&format!(".Values.monitoring.{values}.labels"))] = Value::Null;
    object
}

fn pod_monitor(meta: &Value, condition: &str) -> [Template; 1] {
    let condition = format!("and .Values.monitoring.podMonitor.enabled ({condition})");
    [Template::new(condition, found(controller::pod_monitor(meta), "podMonitor"))]
}

fn service_monitor(meta: &Value, condition: &str) -> [Template; 2] {
    let condition = format!("and .Values.monitoring.serviceMonitor.enabled ({condition})");
    let mut meta = meta.clone();
    let workload = meta["name"].take();
    meta["name"] = json!(format!("{}-metrics", workload.as_str().unwrap_or_default()));
    // Beside the Service of the same pods, whose labels are those of the workload.
    meta["labels"]["app.kubernetes.io/component"] = json!("metrics");
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta,
        "spec": {
            "clusterIP": "None",
            // The metrics of a pod that is not ready say why.
            "publishNotReadyAddresses": true,
            "selector": { "app.kubernetes.io/name": workload },
            "ports": [{ "name": "admin", "port": ADMIN_PORT, "protocol": "TCP", "targetPort": "admin" }],
        },
    });
    let labels = json!({ "app.kubernetes.io/name": workload, "app.kubernetes.io/component": "metrics" });
    let monitor = json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": meta,
        "spec": { "selector": { "matchLabels": labels }, "endpoints": [{ "port": "admin", "path": "/metrics" }] },
    });
    [Template::new(&condition, service), Template::new(&condition, found(monitor, "serviceMonitor"))]
}

fn rules() -> Value {
    let of = |part: AlertedServer| {
        let rules: Vec<Value> = ALERTS.iter().filter(|alert| alert.part == part).map(rule).collect();
        json!({ "name": part.group(), "rules": rules })
    };
    let mut groups = vec![of(AlertedServer::Any)];
    for (part, condition) in [
        (AlertedServer::Webhook, webhook::ENABLED.to_owned()),
        (AlertedServer::Controller, writes()),
        (AlertedServer::Shadow, compares()),
    ] {
        groups.extend(items_if(&condition, [of(part)]));
    }
    let rules = json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": meta(NAME),
        "spec": { "groups": groups },
    });
    found(rules, "rules")
}

fn rule(alert: &Alert) -> Value {
    let page = format!("printf \"%s#{}\" .Values.monitoring.rules.runbookUrl | quote", alert.anchor());
    json!({
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.lasts,
        "labels": { "severity": alert.severity },
        "annotations": { "summary": alert.summary, "description": alert.meaning, "runbook_url": value(&page) },
    })
}

fn dashboard() -> Value {
    let config_map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta("roster-dashboard"),
        "data": { "roster.json": value(".Files.Get \"dashboards/roster.json\" | toJson") },
    });
    found(config_map, "dashboard")
}
