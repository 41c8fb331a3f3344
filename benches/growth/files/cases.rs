//! Files of test cases, with their inputs.

use serde_json::{Value, json};

use super::{documents, files};
use crate::{
    objects::{NAMESPACE, list, meta, node, pod, policy, range, service},
    plans::yaml,
    sizes::{Input, Sizes},
};

/// The dimensions of a file of cases, and of its inputs.
pub(crate) const CASES: &[(&str, usize)] = &[
    ("Services", 1),
    // Of the first Service.
    ("pods", 1),
    ("findings", 0),
    ("policies", 0),
    ("cases", 1),
    ("failing cases", 0),
    ("cases of a pod", 0),
    ("cases of a plan", 0),
    ("cases of a review", 0),
    ("cases without a Service", 0),
];

/// What says nothing of them: cases do not know of each other, and only reviews read policies.
pub(crate) const OF_CASES: &[(&str, &str)] = crate::sizes::pairs! {
    "cases": "policies", "failing cases", "cases of a pod", "cases of a plan", "cases of a review", "cases without a Service";
    "failing cases": "policies", "cases of a pod", "cases of a plan", "cases of a review", "cases without a Service";
    "cases of a pod": "policies", "cases of a plan", "cases of a review", "cases without a Service";
    "cases of a plan": "policies", "cases of a review", "cases without a Service";
    "cases of a review": "cases without a Service";
    "cases without a Service": "policies";
    "policies": "pods", "findings";
};

/// A file of cases, each about the next Service.
pub(crate) fn test_files(s: &Sizes) -> Input {
    let services = s.get("Services");
    let mut all = list(services, |i| {
        let mut service = service(&format!("web-{i}"), 1);
        service["spec"]["selector"]["app"] = format!("web-{i}").into();
        service
    });
    let pods = s.get("pods");
    all.extend(list(pods + services - 1, |i| {
        let mut pod = pod(i, 1);
        pod["metadata"]["labels"]["app"] = format!("web-{}", i.saturating_sub(pods - 1)).into();
        pod
    }));
    all.extend(list(7, node));
    all.extend(list(s.get("findings"), |i| {
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta(&format!("bad-{i}")),
            "spec": { "selector": { "app": "none" }, "ports": [{ "port": 99999 }] } })
    }));
    all.extend(list(s.get("policies"), |i| {
        policy(i, &json!({ "defaultMode": "warn", "addresses": { "allow": [range(i)] } }))
    }));
    let of = |i: usize| format!("{NAMESPACE}/web-{}", i % services);
    let expected = |i: usize| if i.is_multiple_of(services) { pods } else { 1 };
    let cases = |dimension: &str, what: &str, make: &dyn Fn(usize) -> Value| {
        list(s.get(dimension), |i| json!({ "name": format!("{dimension} {i}"), what: make(i) }))
    };
    let mut tests = cases("cases", "serves", &|i| json!({ "service": of(i), "pods": expected(i) }));
    tests.extend(cases("failing cases", "serves", &|i| json!({ "service": of(i), "pods": expected(i) + 1 })));
    tests.extend(cases("cases of a pod", "pod", &|i| {
        json!({ "service": of(i), "name": format!("web-{}", if i % services == 0 { 0 } else { i % services + pods - 1 }), "served": true })
    }));
    tests.extend(cases("cases of a plan", "plan", &|i| json!({ "service": of(i), "changes": "none" })));
    tests.extend(cases(
        "cases of a review",
        "review",
        &|i| json!({ "object": format!("Service {}", of(i)), "allowed": true }),
    ));
    tests.extend(cases("cases without a Service", "serves", &|i| json!({ "service": format!("gone-{i}"), "pods": 1 })));
    let file = json!({ "apiVersion": "roster.dev/v1alpha1", "kind": "Test", "inputs": ["all.yaml"], "options": { "complete": true }, "tests": tests });
    let parts = [("roster-test.yaml".to_owned(), yaml(&file, 0)), ("all.yaml".to_owned(), documents(&all))];
    Input { way: "cli test DIR".to_owned(), body: files(&parts), ..Input::default() }
}
