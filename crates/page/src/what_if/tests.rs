//! Changes that are refused, the forms, and what the box says of changes.

use serde_json::{Value, json};

use crate::tests::{shown, text};

#[test]
fn a_change_of_what_the_input_does_not_have_is_refused() {
    for (change, want) in [
        (json!({ "change": "drain-node", "node": "node-z" }), "node node-z not found; did you mean node-a?"),
        (json!({ "change": "lose-zone", "zone": "mars" }), "zone mars not found "),
        (
            json!({ "change": "pod-readiness", "pod": "shop/db-9", "to": "ready" }),
            "pod shop/db-9 not found; did you mean shop/db-0?",
        ),
        (
            json!({ "change": "target-port", "service": "shop/web", "port": "admin", "target": "80" }),
            "shop/web has no port admin",
        ),
        (
            json!({ "change": "traffic-distribution", "service": "shop/webb" }),
            "Service shop/webb not found; did you mean shop/web?",
        ),
    ] {
        let good = json!({ "change": "drain-node", "node": "node-a" });
        for (changes, kept) in [(json!([change]), json!([])), (json!([change, good]), json!([good]))] {
            let request = json!({ "example": "shop", "service": "shop/web", "tab": "what-if", "changes": changes });
            let answer = shown(&request);
            let panel = text(&answer.panel);
            assert!(panel.starts_with(&format!(" {want}")), "{want:?} in {panel}");
            assert_eq!(panel.contains("node-a is drained"), kept != json!([]));
            assert_eq!(serde_json::to_value(&answer.changes).unwrap(), kept);
        }
    }
}

#[test]
fn a_few_choices_are_a_list_and_many_are_suggestions() {
    let node = |n: usize| json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("n{n}") } });
    let service =
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a", "namespace": "n" }, "spec": {} });
    for (nodes, want) in [(0, "<input name=\"node\""), (50, "<select name=\"node\""), (51, "<input name=\"node\"")] {
        let items: Vec<Value> = (0..nodes).map(node).chain([service.clone()]).collect();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        let panel = shown(&json!({ "text": list.to_string(), "tab": "what-if" })).panel;
        assert!(panel.as_str().contains(want), "{nodes} nodes");
    }
}

/// The words of a pod port name its neighbours, which change.
#[test]
fn a_pod_port_that_stays_as_it_is_is_not_counted() {
    let port = |name: &str, port: usize| json!({ "name": name, "port": port, "targetPort": name });
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": "d" },
        "spec": { "selector": { "app": "web" }, "ports": [port("a", 80), port("b", 81), port("c", 82)] } });
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "namespace": "d", "labels": { "app": "web" } },
        "spec": { "nodeName": "n", "containers": [{ "name": "c" }] },
        "status": { "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }], "conditions": [{ "type": "Ready", "status": "True" }] } });
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [service, pod] }).to_string();
    let change = json!({ "change": "target-port", "service": "d/web", "port": "a", "target": "8080" });
    let panel = text(&shown(&json!({ "text": list, "tab": "what-if", "changes": [change] })).panel);
    assert!(panel.contains("1 pod port with traffic now") && !panel.contains("in another state"), "{panel}");
}

#[test]
fn the_box_names_what_a_change_broke_first() {
    for (service, changes, why, reasons) in [
        (
            "shop/catalog",
            json!([{ "change": "drain-node", "node": "node-a" }]),
            "Why: 2 pod ports lose their traffic: terminating (",
            &["named-port-missing", "terminating"][..],
        ),
        (
            "shop/catalog",
            json!([{ "change": "target-port", "service": "shop/catalog", "port": "http", "target": "http" }]),
            "Why: named-port-missing : 1 pod port.",
            &[],
        ),
        (
            "shop/web",
            json!([{ "change": "selector", "service": "shop/web", "key": "app", "value": "nothing" }]),
            "Why: 3 pods lose their traffic: the selector does not match any more.",
            &[],
        ),
    ] {
        let answer = shown(&json!({ "example": "shop", "service": service, "tab": "what-if", "changes": changes }));
        let (lead, of_list) =
            (text(&answer.lead), answer.reasons.as_str().split("<h3>Pods").next().unwrap_or_default());
        let lead = lead.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(lead.contains(why), "{why} in {lead}");
        assert!(!lead.contains("Do this:"), "{lead}");
        for code in reasons {
            assert!(of_list.contains(&format!("<code>{code}</code>")), "{code} in {of_list}");
        }
    }
}
