//! What a real API server asked of every rule in every mode, asked again: `cargo xtask cluster record-reviews` wrote
//! questions and answers to `tests/data/reviews`.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use roster::{
    runtime::net::Health,
    servers::webhook::{ActivePolicies, AdmissionMetrics, FailureMode, Webhook, WebhookLimits, router},
};
use roster_admission::{Remedy, Rule, policy};
use roster_manifests::inventory::{Answers, Snapshot};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::rules::examples::{LABEL, MODES, case, cluster, policy};

/// A line of the record.
#[derive(Deserialize)]
struct RecordedReview {
    path: String,
    review: Value,
    answer: String,
}

fn recorded() -> Vec<RecordedReview> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/reviews/rules.jsonl");
    fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The webhook, with the cluster and the policies of the examples.
fn webhook() -> Router {
    let policies = ActivePolicies::default();
    let read = |(rule, mode)| {
        let raw = serde_json::value::to_raw_value(&policy(rule, mode)).unwrap();
        let (policy, problems) = policy::read(&raw);
        assert_eq!(problems, vec![]);
        policy.unwrap()
    };
    let all = Rule::ALL.iter().flat_map(|rule| MODES.map(|mode| (*rule, mode)));
    assert_eq!(policies.set_file(all.map(read).collect()), vec![]);
    // The snapshot lives as long as the tests.
    let snapshot = Snapshot::of(Box::leak(Box::new(cluster())));
    let (metrics, limits) = (AdmissionMetrics::default(), WebhookLimits::default());
    router(Webhook::new(
        Arc::new(Answers(snapshot)),
        Arc::new(policies),
        metrics,
        limits,
        FailureMode::Open,
        &Health::default(),
    ))
}

async fn ask(webhook: &Router, path: &str, review: &Value) -> String {
    let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(review.to_string())).unwrap();
    let response = webhook.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn what_an_api_server_asked_is_answered_as_it_was_in_both_versions() {
    const V1: &str = "\"admission.k8s.io/v1\"";
    let webhook = webhook();
    for RecordedReview { path, mut review, answer } in recorded() {
        let name = review["request"]["uid"].clone();
        assert_eq!(answer.matches(V1).count(), 1, "{name}");
        for version in ["v1", "v1beta1"] {
            review["apiVersion"] = format!("admission.k8s.io/{version}").into();
            let wanted = answer.replace(V1, &format!("\"admission.k8s.io/{version}\""));
            assert_eq!(ask(&webhook, &path, &review).await, wanted, "{name} at {path} in {version}");
        }
    }
}

const GIVEN: &[(&str, &str)] = &[
    ("/metadata", "creationTimestamp"),
    ("/spec", "clusterIP"),
    ("/spec", "clusterIPs"),
    ("/spec", "ipFamilies"),
    ("/spec", "ipFamilyPolicy"),
];

/// The API server showed the validating webhook what it had made of the patch of the mutating one.
#[test]
fn an_api_server_applies_a_patch_as_json_patch_does() {
    let all = recorded();
    let mut patched = 0;
    for pair in all.windows(2) {
        let [asked, next] = pair else { continue };
        let answer: Value = serde_json::from_str(&asked.answer).unwrap();
        let Some(patch) = answer["response"]["patch"].as_str() else { continue };
        let patch: json_patch::Patch = serde_json::from_slice(&BASE64_STANDARD.decode(patch).unwrap()).unwrap();
        let mut object = asked.review["request"]["object"].clone();
        json_patch::patch(&mut object, &patch).unwrap();
        let name = &asked.review["request"]["uid"];
        assert_eq!((next.path.as_str(), &next.review["request"]["uid"]), ("/validate", name));
        // What the API server gives it between the two webhooks.
        let mut stored = next.review["request"]["object"].clone();
        for (parent, field) in GIVEN {
            for object in [&mut object, &mut stored] {
                object.pointer_mut(parent).and_then(Value::as_object_mut).map(|o| o.remove(*field));
            }
        }
        // An API server writes no empty map.
        if object["metadata"]["annotations"] == json!({}) {
            object["metadata"].as_object_mut().unwrap().remove("annotations");
        }
        assert_eq!(stored, object, "{name}");
        patched += 1;
    }
    let changing = Rule::ALL.iter().filter(|r| r.remedy() == Remedy::Change).count();
    assert!(patched >= changing, "{patched} patches for {changing} rules that change objects");
}

/// A rule that comes is recorded as well.
#[test]
fn every_rule_is_on_record_in_every_mode() {
    let recorded: BTreeSet<String> = recorded()
        .iter()
        .map(|r| r.review["request"]["object"]["metadata"]["labels"][LABEL].as_str().unwrap().to_owned())
        .collect();
    for rule in Rule::ALL {
        // The API server refuses these itself, and asks nobody.
        let asked = *rule != Rule::SliceOverCapacity;
        for mode in MODES {
            assert_eq!(recorded.contains(&case(*rule, mode)), asked, "{rule} {mode:?}: {COMMAND}");
        }
    }
    assert_eq!(recorded.len(), (Rule::COUNT - 1) * MODES.len(), "{COMMAND}");
}

const COMMAND: &str = "cargo xtask cluster record-reviews writes them anew";
