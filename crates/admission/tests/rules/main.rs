//! The rules as tables: an object, the findings in it, and its changed form.
#![expect(clippy::unwrap_used, reason = "tests")]

mod admission_review;
mod endpoints;
mod messages;
mod offline_review;
mod properties;
mod ratchet;
mod service;
mod slice;

use roster_admission::{
    offline_review::{ReviewResult, Writer, review_object},
    patch::{PatchOp, apply},
    *,
};
use roster_engine::model::{Cidr, Resource};
use roster_manifests::inventory::{Answers, Inventory, Snapshot};
use serde_json::{Value, json};

/// Ranges that a policy `strict` allows and denies.
fn ranges(allowed: &[&str], denied: &[&str]) -> Ranges {
    let read = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Cidr>>();
    Ranges::of(&[("strict", &read(allowed), &read(denied))])
}

fn all<T: serde::de::DeserializeOwned>(values: Vec<Value>) -> Vec<T> {
    values.into_iter().map(|v| serde_json::from_value(v).unwrap()).collect()
}

/// What the tests' cluster holds: in namespace `shop`
/// - Service `web` with selector `app: web`, `byhand` and the headless `db` without, `alias` an `ExternalName`,
/// - pods `10.0.0.1` and `10.0.0.2` of `web`, whose port `http` differs; `10.0.0.9` has ended,
/// - pod `node-1` of the host network, with address `192.168.0.1`,
/// - slice `web-a` with `10.0.0.1` and port `http`; a pod `10.9.0.1` in another namespace; a node in zone `a`.
fn cluster() -> Inventory {
    let meta =
        |namespace: &str, name: &str, labels: Value| json!({ "namespace": namespace, "name": name, "labels": labels });
    let pod = |namespace: &str, name: &str, ip: &str, port: i32, phase: &str| {
        json!({
            "metadata": meta(namespace, name, json!({ "app": "web" })),
            "spec": { "containers": [{ "ports": [{ "name": "http", "containerPort": port, "protocol": "TCP" }] }] },
            "status": { "phase": phase, "podIP": ip, "podIPs": [{ "ip": ip }] },
        })
    };
    let service = |name: &str, spec: Value| json!({ "metadata": meta("shop", name, Value::Null), "spec": spec });
    let mut inventory = Inventory::default();
    inventory.services = all(vec![
        service("web", json!({ "selector": { "app": "web" }, "clusterIP": "10.96.0.1" })),
        service("byhand", json!({ "clusterIP": "10.96.0.2" })),
        service("unstored", json!({})),
        service("db", json!({ "clusterIP": "None" })),
        service("alias", json!({ "type": "ExternalName", "externalName": "example.com" })),
    ]);
    inventory.pods = all(vec![
        pod("shop", "web-1", "10.0.0.1", 8080, "Running"),
        pod("shop", "web-2", "10.0.0.2", 8081, "Pending"),
        pod("shop", "done", "10.0.0.9", 8082, "Succeeded"),
        pod("other", "web-1", "10.9.0.1", 8080, "Running"),
        json!({
            "metadata": meta("shop", "node-1", json!({ "app": "node" })),
            "spec": { "hostNetwork": true },
            "status": { "phase": "Running", "podIP": "192.168.0.1", "podIPs": [{ "ip": "192.168.0.1" }] },
        }),
    ]);
    inventory.nodes =
        all(vec![json!({ "metadata": { "name": "n", "labels": { "topology.kubernetes.io/zone": "a" } } })]);
    inventory.slices = all(vec![json!({
        "metadata": meta("shop", "web-a", json!({ "kubernetes.io/service-name": "web" })),
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.0.0.1"] }],
        "ports": [{ "name": "http", "port": 8080 }],
    })]);
    inventory
}

/// Settings with these rules in these modes, and all others off.
fn only(modes: &[(Rule, Mode)]) -> Settings {
    let mut settings = Settings::default();
    for rule in Rule::ALL {
        settings.set(*rule, Mode::Off);
    }
    for (rule, mode) in modes {
        settings.set(*rule, *mode);
    }
    settings
}

/// Every rule, enforced.
fn strict() -> Settings {
    let mut settings = Settings::default();
    for rule in Rule::ALL {
        settings.set(*rule, Mode::Enforce);
    }
    settings
}

/// A valid object of this name, with other values at these pointers; `null` removes a field.
fn object(kind: &str, name: &str, changes: &[(&str, Value)]) -> Value {
    let meta = json!({ "namespace": "shop", "name": name });
    let mut object = match kind {
        "Service" => json!({
            "apiVersion": "v1", "kind": kind, "metadata": meta,
            "spec": { "clusterIP": "10.96.0.7", "ports": [{ "name": "http", "port": 80, "protocol": "TCP" }] },
        }),
        "Endpoints" => json!({
            "apiVersion": "v1", "kind": kind, "metadata": meta,
            "subsets": [{
                "addresses": [{ "ip": "10.0.0.1" }],
                "ports": [{ "name": "http", "port": 80, "protocol": "TCP" }],
            }],
        }),
        _ => json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": meta, "addressType": "IPv4",
            "endpoints": [{ "addresses": ["10.0.0.2"] }],
            "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }],
        }),
    };
    object["metadata"]["labels"] = json!({});
    object["metadata"]["annotations"] = json!({});
    if kind == "EndpointSlice" {
        object["metadata"]["labels"]["kubernetes.io/service-name"] = "web".into();
    }
    for (pointer, value) in changes {
        let op = if value.is_null() { PatchOp::remove(*pointer) } else { PatchOp::add(*pointer, value.clone()) };
        apply(&[op], &mut object).unwrap();
    }
    object
}

/// The decision about an object, and about the stored one.
fn ask(object: &Value, old: Option<&Value>, stage: Stage, settings: &Settings, cluster: &dyn Knowledge) -> Decision {
    let raw = |v: &Value| serde_json::value::to_raw_value(v).unwrap();
    let (group, version) = object["apiVersion"].as_str().unwrap().rsplit_once('/').unwrap_or(("", "v1"));
    let (object_text, old_text) = (raw(object), old.map(raw));
    let request = AdmissionRequest {
        group: group.into(),
        version: version.into(),
        kind: object["kind"].as_str().unwrap().into(),
        namespace: "shop".into(),
        name: object["metadata"]["name"].as_str().unwrap_or_default().into(),
        operation: Some(if old.is_some() { Operation::Update } else { Operation::Create }),
        user: "jane".into(),
        object: Some(&object_text),
        old_object: old_text.as_deref(),
        ..AdmissionRequest::default()
    };
    decide(&request, stage, settings, cluster).unwrap()
}

/// The findings of a rule in an object, as `field: message`.
fn found(rule: Rule, object: &Value, change: impl FnOnce(&mut Settings)) -> Vec<String> {
    let inventory = cluster();
    let mut settings = only(&[(rule, Mode::Enforce)]);
    change(&mut settings);
    let decision = ask(object, None, Stage::Validate, &settings, &Answers(Snapshot::of(&inventory)));
    assert_eq!(decision.allowed(), !decision.findings.iter().any(|f| f.refused), "{decision:?}");
    decision.findings.iter().map(|f| format!("{}: {}", f.field, f.message)).collect()
}

/// A row: a name, the rule, the changes of the object, and the findings.
type Row<'a> = (&'a str, Rule, Vec<(&'a str, Value)>, &'a [&'a str]);

fn check(kind: &str, object_name: &str, rows: &[Row<'_>]) {
    for (name, rule, changes, want) in rows {
        let got = found(*rule, &object(kind, object_name, changes), |_| {});
        assert_eq!(got, *want, "{rule}: {name}");
    }
}

/// The patch for an object with every rule enforced, and the patched object. A second patch is empty.
fn patched(object: &Value, change: impl FnOnce(&mut Settings)) -> (Value, Value) {
    let (inventory, mut settings) = (cluster(), strict());
    change(&mut settings);
    let cluster = Answers(Snapshot::of(&inventory));
    let decision = ask(object, None, Stage::Mutate, &settings, &cluster);
    assert!(decision.allowed());
    let patch = serde_json::to_value(&decision.patch).unwrap();
    let mut after = object.clone();
    let operations: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
    json_patch::patch(&mut after, &operations).unwrap();
    let again = ask(&after, None, Stage::Mutate, &settings, &cluster);
    assert_eq!(again, Decision::default(), "{patch} on {object}");
    (patch, after)
}

#[test]
fn every_rule_has_its_own_code_that_is_a_key_of_the_audit_log() {
    let codes: std::collections::BTreeSet<&str> = Rule::ALL.iter().map(|r| r.code()).collect();
    assert_eq!(codes.len(), Rule::COUNT);
    for rule in Rule::ALL {
        let code = rule.code();
        assert!(code.len() <= 63 && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{code}");
        assert!(!code.starts_with('-') && !code.ends_with('-'), "{code}");
        assert_eq!(serde_json::from_value::<Rule>(code.into()).unwrap(), *rule);
        assert!(!rule.meaning().is_empty() && !rule.fix().is_empty());
        assert!(rule.kinds().iter().all(|k| KINDS.iter().any(|row| row.resource.kind() == *k)));
        let changes = rule.remedy() == Remedy::Change;
        assert!(
            !changes || KINDS.iter().all(|row| row.mutates || !rule.kinds().contains(&row.resource.kind())),
            "{code}"
        );
    }
    assert!(serde_json::from_str::<Rule>("\"nonsense\"").is_err());
}
