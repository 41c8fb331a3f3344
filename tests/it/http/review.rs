//! `POST /v1/review`.

use serde_json::{Value, json};

use super::{JSON, YAML, app, document::fits, post};

const TOLERATE: &str = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

fn service(spec: &Value, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "web", "namespace": "shop", "annotations": annotations },
        "spec": spec,
    })
}

fn policy(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": name }, "spec": spec })
}

/// What an answer comes to: allowed, codes of the findings, codes and pointers of the problems.
fn told(answer: &Value) -> Value {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let findings: Value = list(&answer["decision"]["findings"]).into_iter().map(|f| f["rule"].clone()).collect();
    let problems: Value = list(&answer["problems"]).into_iter().map(|p| json!([p["code"], p["pointer"]])).collect();
    json!([answer["allowed"], findings, problems])
}

#[tokio::test]
async fn an_object_is_changed_and_validated() {
    let (_, router) = app();
    let object = service(&json!({ "ports": [{ "port": 80 }], "future": 1 }), &json!({ TOLERATE: "true" }));
    for (content_type, body) in [
        (JSON, json!({ "object": object }).to_string()),
        (YAML, json!({ "object": object }).to_string()),
        (JSON, object.to_string()),
        (JSON, json!({ "kind": "List", "items": [object] }).to_string()),
    ] {
        let answer = post(&router, "/v1/review", content_type, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        fits("/v1/review", "post", "200", JSON, &answer.json());
        let mut changed = object.clone();
        changed["spec"]["publishNotReadyAddresses"] = true.into();
        let answer = answer.json();
        assert_eq!((&answer["reviewed"], &answer["object"]), (&json!(true), &changed));
        // A webhook allows a field that it does not know, and kubectl does not.
        let refused = json!([answer["allowed"], answer["refusedByApiServer"][0]["code"], answer["decision"]["denied"]]);
        assert_eq!(refused, json!([false, "unknown-field", null]), "{answer}");
        let patch = json!([{ "op": "add", "path": "/spec/publishNotReadyAddresses", "value": true }]);
        assert_eq!((&answer["decision"]["patch"], &answer["operation"]), (&patch, &json!("CREATE")));
    }
}

#[tokio::test]
async fn what_is_known_decides() {
    let (_, router) = app();
    let external = service(&json!({ "externalIPs": ["203.0.113.9"], "ports": [{ "port": 80 }] }), &json!({}));
    let strict = policy("strict", &json!({ "defaultMode": "enforce" }));
    let selecting = service(&json!({ "selector": { "app": "web" }, "ports": [{ "port": 80 }] }), &json!({}));
    let slice = |version: &str| {
        json!({
            "apiVersion": format!("discovery.k8s.io/{version}"), "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": { "name": "web-1", "namespace": "shop", "labels": { "kubernetes.io/service-name": "web" } },
            "endpoints": [{ "addresses": ["10.0.0.9"] }],
        })
    };
    let pod = super::pod("web-1", "10.0.0.1");
    let broken = policy("broken", &json!({ "rules": [{ "name": "external-ip", "mode": 5 }] }));
    let labelled = policy(
        "labelled",
        &json!({
            "defaultMode": "enforce", "match": { "namespaces": { "selector": { "matchLabels": { "team": "a" } } } },
        }),
    );
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop", "labels": { "team": "a" } } });
    for (name, body, want) in [
        ("by default", json!({ "object": external }), json!([true, ["external-ip"], []])),
        ("a policy", json!({ "object": external, "policies": [strict] }), json!([false, ["external-ip"], []])),
        (
            "an update of it",
            json!({ "object": external, "oldObject": external, "policies": [strict] }),
            json!([true, ["external-ip"], []]),
        ),
        (
            "a controller",
            json!({ "object": external, "policies": [strict], "user": "system:kube-controller-manager" }),
            json!([true, [], []]),
        ),
        (
            "a policy that is none",
            json!({ "object": external, "policies": [broken, strict] }),
            json!([false, ["external-ip"], [["invalid-object", "/policies/0/spec/rules/0/mode"]]]),
        ),
        (
            "labels of a namespace that nobody knows",
            json!({ "object": external, "policies": [labelled] }),
            json!([true, ["external-ip"], []]),
        ),
        (
            "labels of a namespace",
            json!({ "object": external, "policies": [labelled], "namespaces": [namespace] }),
            json!([false, ["external-ip"], []]),
        ),
        ("no pods are known", json!({ "object": selecting }), json!([true, [], []])),
        ("a pod that fits", json!({ "object": selecting, "pods": [pod] }), json!([true, [], []])),
        (
            "a pod of another namespace",
            json!({ "object": selecting, "pods": [{ "metadata": { "name": "p" } }] }),
            json!([true, ["selector-matches-nothing"], []]),
        ),
        (
            "a pod that is none",
            json!({ "object": selecting, "pods": [5] }),
            json!([true, [], [["invalid-object", "/pods/0"]]]),
        ),
        ("a slice", json!({ "object": slice("v1"), "pods": [pod] }), json!([true, ["address-provenance"], []])),
        (
            "a slice of before",
            json!({ "object": slice("v1beta1"), "pods": [pod] }),
            json!([true, ["address-provenance"], []]),
        ),
        ("another kind", json!({ "object": { "kind": "Secret" } }), json!([true, [], []])),
        (
            "an object that is none",
            json!({ "object": { "apiVersion": "v1", "kind": "Service", "spec": { "ports": 5 } } }),
            json!([false, [], [["invalid-object", "/object/spec/ports"]]]),
        ),
    ] {
        let answer = post(&router, "/v1/review", JSON, body.to_string()).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        let answer = answer.json();
        fits("/v1/review", "post", "200", JSON, &answer);
        assert_eq!(told(&answer), want, "{name}: {answer}");
    }
}

/// What a program would have to read out of sentences otherwise.
#[tokio::test]
async fn findings_name_their_policy_and_what_is_only_counted_or_unchecked_has_its_field() {
    let (_, router) = app();
    let external: Vec<String> = (1..=12).map(|i| format!("203.0.113.{i}")).collect();
    let object = service(
        &json!({ "externalIPs": external, "selector": { "app": "web" }, "ports": [{ "port": 80 }] }),
        &json!({ TOLERATE: "true" }),
    );
    let policies = [policy("strict", &json!({ "rules": [{ "name": "external-ip", "mode": "enforce" }] }))];
    let body = json!({ "object": object, "policies": policies });
    let answer = post(&router, "/v1/review", JSON, body.to_string()).await.json();
    fits("/v1/review", "post", "200", JSON, &answer);
    let decision = &answer["decision"];
    let named: Vec<(&Value, &Value)> =
        decision["findings"].as_array().unwrap().iter().map(|f| (&f["rule"], &f["policy"])).collect();
    let (external, own) = (json!("external-ip"), json!("tolerate-unready-annotation"));
    assert_eq!(named[0], (&own, &Value::Null), "{answer}");
    assert_eq!(named[1..], vec![(&external, &json!("strict")); 10], "{answer}");
    assert_eq!(decision["more"], json!([{ "rule": "external-ip", "refused": true, "count": 2 }]));
    assert_eq!(decision["unchecked"], json!({ "selector-matches-nothing": "no pods were given" }));
}

#[tokio::test]
async fn a_recorded_review_is_answered_as_each_webhook_would() {
    let (_, router) = app();
    let object =
        service(&json!({ "externalIPs": ["203.0.113.9"], "ports": [{ "port": 80 }] }), &json!({ TOLERATE: "true" }));
    for version in ["v1", "v1beta1"] {
        let review = json!({
            "apiVersion": format!("admission.k8s.io/{version}"), "kind": "AdmissionReview",
            "request": {
                "uid": "u-1", "kind": { "group": "", "version": "v1", "kind": "Service" }, "operation": "UPDATE",
                "name": "web", "namespace": "shop", "userInfo": { "username": "jane" }, "object": object,
            },
        });
        let body = json!({ "object": review, "policies": [policy("strict", &json!({ "defaultMode": "enforce" }))] });
        let answer = post(&router, "/v1/review", JSON, body.to_string()).await.json();
        fits("/v1/review", "post", "200", JSON, &answer);
        let answers = &answer["answers"];
        for stage in ["mutate", "validate"] {
            assert_eq!(answers[stage]["apiVersion"], format!("admission.k8s.io/{version}"));
            assert_eq!(answers[stage]["response"]["uid"], "u-1");
        }
        assert_eq!(answers["mutate"]["response"]["allowed"], true);
        assert_eq!(answers["mutate"]["response"]["patchType"], "JSONPatch");
        assert_eq!(answers["validate"]["response"]["status"]["code"], 403);
        assert_eq!((&answer["allowed"], &answer["operation"]), (&json!(false), &json!("UPDATE")));
    }
}

/// What is not decided is not allowed.
#[tokio::test]
async fn a_recorded_review_that_cannot_be_read_is_told() {
    let (_, router) = app();
    let broken = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {} });
    for (body, pointer) in [(broken.clone(), Value::Null), (json!({ "object": broken }), json!("/object"))] {
        let answer = post(&router, "/v1/review", JSON, body.to_string()).await.json();
        fits("/v1/review", "post", "200", JSON, &answer);
        assert_eq!(told(&answer), json!([false, [], [["invalid-object", pointer]]]));
        assert_eq!(answer["decision"]["warnings"], json!(["roster: the review cannot be read: request.uid is empty"]));
    }
}

/// A stored object is compared with what is posted of its cluster.
#[tokio::test]
async fn what_does_not_hold_any_more_is_a_problem() {
    let (_, router) = app();
    let slice = |pod: &str, node: &str| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": { "name": "web-1", "namespace": "shop", "labels": { "kubernetes.io/service-name": "web" } },
            "ports": [{ "name": "", "port": 80, "protocol": "TCP" }],
            "endpoints": [{
                "addresses": ["10.0.0.1"], "conditions": { "ready": true }, "nodeName": node,
                "targetRef": { "kind": "Pod", "namespace": "shop", "name": pod },
            }],
        })
    };
    let by_hand = service(&json!({ "ports": [{ "port": 80 }] }), &json!({}));
    let pods = json!([super::pod("web-1", "10.0.0.1")]);
    let nodes = json!([{ "metadata": { "name": "node-1" } }]);
    for (name, object, known, want) in [
        (
            "all is there",
            slice("web-1", "node-1"),
            json!({ "services": [by_hand], "pods": pods, "nodes": nodes }),
            json!([]),
        ),
        (
            "the pod is gone",
            slice("web-2", "node-1"),
            json!({ "services": [by_hand], "pods": pods, "nodes": nodes }),
            json!(["target-gone"]),
        ),
        ("pods are unknown", slice("web-2", "node-1"), json!({ "services": [by_hand], "nodes": nodes }), json!([])),
        ("the node is gone", slice("web-1", "node-2"), json!({ "pods": pods, "nodes": nodes }), json!(["node-gone"])),
        (
            "the Service is gone",
            slice("web-1", "node-1"),
            json!({ "services": [{ "metadata": { "name": "other", "namespace": "shop" } }] }),
            json!(["endpoints-orphaned"]),
        ),
    ] {
        let mut body = known;
        body["object"] = object;
        let answer = post(&router, "/v1/review", JSON, body.to_string()).await.json();
        fits("/v1/review", "post", "200", JSON, &answer);
        let problems = answer["problems"].as_array().unwrap().iter().map(|p| p["code"].clone());
        let stale: Value = problems.filter(|code| code != "missing-protocol" && code != "assumed").collect();
        assert_eq!(stale, want, "{name}: {answer}");
    }
}

#[tokio::test]
async fn what_cannot_be_reviewed_is_refused() {
    let (_, router) = app();
    for (path, body, status, slug, pointer) in [
        ("", "", 400, "malformed-body", ""),
        ("", "{", 400, "malformed-body", ""),
        ("", "[]", 400, "malformed-body", ""),
        ("?x=1", "{}", 400, "invalid-query", ""),
        ("", "{}", 422, "invalid-object", "/object"),
        ("", r#"{"object":5}"#, 422, "invalid-object", "/object"),
        ("", r#"{"object":{"kind":5}}"#, 422, "invalid-object", "/object"),
        ("", r#"{"object":{"kind":"Service"},"oldObject":{}}"#, 422, "invalid-object", "/oldObject"),
        ("", r#"{"object":{"kind":"AdmissionReview"},"oldObject":5}"#, 422, "invalid-object", "/oldObject"),
        ("", r#"{"kind":null}"#, 422, "invalid-object", ""),
        ("", r#"{"object":{"apiVersion":"v1"}}"#, 422, "invalid-object", "/object"),
        ("", r#"{"kind":"Service","metadata":[]}"#, 422, "invalid-object", ""),
        ("", r#"{"object":{},"Pods":[]}"#, 422, "invalid-object", "/Pods"),
        ("", r#"{"object":{},"user":5}"#, 422, "invalid-object", "/user"),
        ("", r#"{"object":{},"pods":5}"#, 422, "invalid-object", "/pods"),
        ("", r#"{"kind":"List","items":[{"kind":"A"},{"kind":"B"}]}"#, 422, "invalid-object", ""),
    ] {
        let answer = post(&router, &format!("/v1/review{path}"), JSON, body.to_owned()).await;
        let problem: Value = answer.json();
        assert_eq!(answer.status, status, "{body}: {problem}");
        assert_eq!(problem["type"], format!("urn:roster:problem:{slug}"), "{body}");
        assert_eq!(problem["errors"][0]["pointer"].as_str().unwrap_or_default(), pointer, "{body}: {problem}");
        fits("/v1/review", "post", &status.to_string(), "application/problem+json", &problem);
    }
}

/// What rules and policies read as a whole is bounded, whatever the limit of a body is.
#[tokio::test]
async fn what_is_too_large_is_refused() {
    let (_, router) = app();
    let long = " ".repeat(8 << 20);
    let policy = format!(r#"{{"apiVersion":"roster.dev/v1","kind":"EndpointPolicy",{long}"metadata":{{}}}}"#);
    let slice = |i: usize| format!(r#"{{"endpoints":[{}]}}"#, vec!["{}"; i].join(","));
    for (name, body) in [
        ("the object", format!(r#"{{"object":{{"kind":"Service"{long}}}}}"#)),
        ("what is stored", format!(r#"{{"object":{{"kind":"Service"}},"oldObject":{{{long}}}}}"#)),
        ("an object alone", format!(r#"{{"kind":"Service"{long}}}"#)),
        ("a recorded review", format!(r#"{{"kind":"AdmissionReview"{long}}}"#)),
        ("a policy", format!(r#"{{"object":{{"kind":"Service"}},"policies":[{policy}]}}"#)),
        ("policies", format!(r#"{{"object":{{"kind":"Service"}},"policies":[{}]}}"#, vec!["{}"; 10_001].join(","))),
        ("what is known", format!(r#"{{"object":{{"kind":"Service"}},"endpointSlices":[{}]}}"#, slice(2_000_000))),
    ] {
        let answer = post(&router, "/v1/review", JSON, body).await;
        assert_eq!(answer.status, 413, "{name}: {:.300}", answer.text());
        assert_eq!(answer.json()["type"], "urn:roster:problem:too-large", "{name}");
    }
}

/// A parser that takes the first of two fields would see another object than one that takes the last.
#[tokio::test]
async fn a_field_that_is_there_twice_is_not_allowed() {
    let (_, router) = app();
    let head = r#""apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview""#;
    let kind = r#""kind":{"group":"","version":"v1","kind":"Service"},"operation":"CREATE""#;
    let spec = r#""spec":{},"spec":{"externalIPs":["8.8.8.8"]}"#;
    for body in [
        format!(r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"a"}},{spec}}}"#),
        format!(r#"{{{head},"request":{{"uid":"a","uid":"b",{kind}}}}}"#),
        format!(r#"{{{head},"request":{{"uid":"a",{kind},"object":{{}},"object":{{}}}}}}"#),
        format!(r#"{{{head},"request":{{"uid":"a",{kind},"object":{{{spec}}}}}}}"#),
    ] {
        let answer = post(&router, "/v1/review", JSON, body.clone()).await.json();
        fits("/v1/review", "post", "200", JSON, &answer);
        let denied = answer["decision"]["denied"]["message"].as_str().unwrap_or_default();
        assert!(answer["allowed"] == false && denied.contains("duplicate field"), "{body}: {answer}");
    }
}
