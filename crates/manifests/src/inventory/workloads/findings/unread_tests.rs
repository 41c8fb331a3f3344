//! What is not concluded beside objects that cannot be read.

use roster_engine::model::{ObjectKey, Resource};
use serde_json::{Value, json};

use crate::inventory::workloads::UnreadText;

use super::{
    super::unread::{UnreadObject, UnreadPods},
    tests::{found_beside, service, spec},
    *,
};

fn unread(kind: &str, name: &str, pods: UnreadPods) -> UnreadObjects {
    let mut unread = UnreadObjects::default();
    unread.add(UnreadObject { key: ObjectKey::new(kind, &"shop".into(), &name.into()), pods });
    unread
}

fn labelled(app: &str) -> UnreadPods {
    let template = json!({ "metadata": { "labels": { "app": app } } });
    let object = json!({ "metadata": { "name": app }, "spec": { "template": template } });
    UnreadPods::Labelled(Box::new(Workload::read(Resource::Deployment, object).unwrap()))
}

fn broken() -> UnreadObjects {
    let mut unread = UnreadObjects::default();
    unread.add_text(UnreadText { file: "web.yaml".into(), line: Some(7), text: None, reach: 0..0 });
    unread
}

#[test]
fn nothing_is_concluded_from_the_absence_of_what_cannot_be_read() {
    let db = json!({ "app": "db" });
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" });
    let by = |app: &str| ("Service", "web", service(json!({ "app": app }), json!("http")));
    let deployment = |more: Value| ("Deployment", "db", spec(db.clone(), more));
    let scaler = ("HorizontalPodAutoscaler", "web", json!({ "scaleTargetRef": target, "maxReplicas": 3 }));
    let set = ("StatefulSet", "set", spec(json!({ "app": "set" }), json!({ "serviceName": "governing" })));
    let unlike =
        "Warning the selector matches no workload and no pod; nearest: Deployment db, which has app=db instead of web";
    let not_checked = |what: &str, why: &str| {
        let text = "the selector matches no workload and no pod; nearest: Deployment db, which has app=db instead of";
        format!("Info {text} {what}; not checked: whether it matches pods of {why}, which cannot be read")
    };
    let no_target = "Deployment web is not among the manifests of the namespace; nearest: Deployment db";
    let no_service = "the Service governing in serviceName is not among the manifests of the namespace";
    let scaled_down = "Info Deployment db is the only workload behind the Service and makes no pods: it is scaled to 0";
    for (unread, given, want) in [
        (UnreadObjects::default(), vec![by("web"), deployment(json!({}))], vec![unlike.to_owned()]),
        // The labels of its template say that it is the one that is meant.
        (unread("Deployment", "web", labelled("web")), vec![by("web"), deployment(json!({}))], vec![]),
        (unread("Deployment", "api", labelled("api")), vec![by("web"), deployment(json!({}))], vec![unlike.to_owned()]),
        (
            unread("Deployment", "web", UnreadPods::AnyLabels),
            vec![by("web"), deployment(json!({}))],
            vec![not_checked("web", "Deployment web")],
        ),
        // What looks like a typo may be right.
        (broken(), vec![by("dbs"), deployment(json!({}))], vec![not_checked("dbs", "web.yaml:7")]),
        (broken(), vec![by("db"), deployment(json!({}))], vec![]),
        (UnreadObjects::default(), vec![scaler.clone(), deployment(json!({}))], vec![format!("Warning {no_target}")]),
        // A kind that exists is not a misspelt Deployment.
        (
            unread("StatefulSet", "web", labelled("web")),
            vec![scaler.clone(), deployment(json!({}))],
            vec![format!("Warning {no_target}")],
        ),
        (unread("Deploymnet", "web", labelled("web")), vec![scaler.clone(), deployment(json!({}))], vec![]),
        (unread("Deployment", "web", labelled("x")), vec![scaler.clone(), deployment(json!({}))], vec![]),
        (
            broken(),
            vec![scaler, deployment(json!({}))],
            vec![format!("Info {no_target}; not checked: whether it is in web.yaml:7, which cannot be read")],
        ),
        (
            UnreadObjects::default(),
            vec![set.clone(), by("db"), deployment(json!({}))],
            vec![format!("Warning {no_service}")],
        ),
        (unread("Service", "governing", UnreadPods::None), vec![set.clone(), by("db"), deployment(json!({}))], vec![]),
        (
            broken(),
            vec![set, by("db"), deployment(json!({}))],
            vec![format!("Info {no_service}; not checked: whether it is in web.yaml:7, which cannot be read")],
        ),
        (UnreadObjects::default(), vec![by("db"), deployment(json!({ "replicas": 0 }))], vec![scaled_down.to_owned()]),
        (unread("Deployment", "x", labelled("db")), vec![by("db"), deployment(json!({ "replicas": 0 }))], vec![]),
    ] {
        let found = found_beside(unread.clone(), &given);
        let found: Vec<_> = found.iter().map(|f| format!("{:?} {}", f.severity, f.message)).collect();
        assert_eq!(found, want, "{unread:?} {given:?}");
    }
}
