//! `POST /v1/lint`.

use serde_json::{Value, json};

use super::{JSON, YAML, app, document::fits, post};

const SERVICE: &str =
    "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n";

/// Line, severity and code of each finding, and the counts of documents, errors and warnings.
fn told(answer: &Value) -> (Vec<String>, Value) {
    let items = answer["items"].as_array().unwrap().iter();
    let line = |f: &Value| format!("{} {} {}", f["line"], f["severity"].as_str().unwrap(), f["code"].as_str().unwrap());
    let summary = &answer["summary"];
    (items.map(line).collect(), json!([summary["documents"], summary["errors"], summary["warnings"]]))
}

#[tokio::test]
async fn manifests_are_linted_by_lines() {
    let (_, router) = app();
    let misspelt = SERVICE.replace("selector", "selektor");
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: api}}\n  template:\n    metadata: {labels: {app: api}}\n    spec: {containers: [{name: a, image: b, readinessProbe: {exec: {command: [a]}}}]}\n";
    let waived = SERVICE.replace(
        "metadata: {name: web}",
        "metadata: {name: web, annotations: {roster.dev/ignore: selector-matches-no-template=it comes later}}",
    );
    for (name, body, items, summary) in [
        ("well", SERVICE.to_owned(), &[][..], json!([1, 0, 0])),
        ("a misspelt field", misspelt, &["4 error unknown-field"], json!([1, 1, 0])),
        (
            "together",
            format!("{SERVICE}---\n{deployment}"),
            &["4 warning selector-matches-no-template"],
            json!([2, 0, 1]),
        ),
        ("waived", format!("{waived}---\n{deployment}"), &[], json!([2, 0, 0])),
        (
            "a broken document",
            format!("a: [\n---\n{}", SERVICE.replace("port: 80", "port: 0")),
            &["1 error invalid-object", "6 error invalid-port"],
            json!([1, 2, 0]),
        ),
        ("another document", "a: b\n".to_owned(), &[], json!([0, 0, 0])),
    ] {
        let answer = post(&router, "/v1/lint", YAML, body).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        let answer = answer.json();
        fits("/v1/lint", "post", "200", JSON, &answer);
        assert_eq!(told(&answer), (items.iter().map(|&i| i.to_owned()).collect(), summary), "{name}: {answer}");
    }
}

#[tokio::test]
async fn what_cannot_be_linted_is_refused() {
    let (_, router) = app();
    for (content_type, query, body, status, want) in [
        (YAML, "", "a: [\n", 400, "malformed-body"),
        (JSON, "", "{", 400, "malformed-body"),
        (JSON, "", "", 400, "malformed-body"),
        (JSON, "?compat=1.30", "{}", 400, "invalid-query"),
        (JSON, "?ipFamilies=IPv5", "{}", 400, "invalid-query"),
    ] {
        let answer = post(&router, &format!("/v1/lint{query}"), content_type, body).await;
        let problem = answer.json();
        assert_eq!(answer.status, status, "{body}: {problem}");
        assert_eq!(problem["type"], format!("urn:roster:problem:{want}"), "{body}: {problem}");
    }
}

/// Each policy is asked about each object.
#[tokio::test]
async fn the_number_of_policies_is_limited() {
    let (_, router) = app();
    for (count, status) in [(500, 200), (501, 413)] {
        let policy = |i| json!({ "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": format!("p{i}") }, "spec": { "defaultMode": "warn" } });
        let items: Vec<Value> = (0..count).map(policy).collect();
        let answer = post(&router, "/v1/lint", JSON, json!({ "kind": "List", "items": items }).to_string()).await;
        assert_eq!(answer.status, status, "{count}: {}", answer.text());
        assert!(
            status == 200 || answer.json()["detail"].as_str().unwrap().starts_with("more than 500 EndpointPolicies")
        );
    }
}

/// Half a million objects, each with faults, have an answer of bounded size.
#[tokio::test]
async fn many_findings_are_counted() {
    let (_, router) = app();
    let item = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "A" }, "spec": { "prots": [] } });
    let items: Vec<&Value> = std::iter::repeat_n(&item, 20_000).collect();
    let answer = post(&router, "/v1/lint", JSON, json!({ "kind": "List", "items": items }).to_string()).await;
    assert_eq!(answer.status, 200);
    let answer = answer.json();
    assert!(answer["items"].as_array().unwrap().len() < 40_000);
    let unlisted = answer["items"][0]["message"].as_str().unwrap();
    assert!(unlisted.ends_with("are not listed: a run lists 10000"), "{unlisted}");
}
