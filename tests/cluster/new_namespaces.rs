//! Policies that select namespaces, for a namespace that was created right before the object: its watch event may not
//! have arrived yet.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{api::ApiServer, assets, get, kubectl, start_without_controllers, wait, webhook::register};

/// How many namespaces are created, half of them with the label that the policy selects.
const NAMESPACES: usize = 200;
/// Longest time of half of the writes. A second attempt of a review alone would take 250 ms.
const SHORT: Duration = Duration::from_millis(150);

fn namespace(name: &str, team: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": { "team": team } } })
}

fn service(namespace: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": namespace },
        "spec": { "externalIPs": ["203.0.113.9"], "ports": [{ "port": 80 }] } })
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_policy_holds_for_a_namespace_that_was_just_created() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let plane = start_without_controllers(&assets, dir.path());
    let server = register(&plane, dir.path());
    let policy = json!({
        "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": "team-a" },
        "spec": {
            "rules": [{ "name": "external-ip", "mode": "enforce" }],
            "match": { "namespaces": { "selector": { "matchLabels": { "team": "a" } } } },
        },
    });
    let (well, output) = kubectl(&plane, "create -f -", &policy.to_string());
    assert!(well, "{output}");
    let api = ApiServer::of(&plane);
    assert_eq!(api.create(&namespace("first", "a"), "", false).status, 201);
    wait("the policy is in force", || (api.create(&service("first"), "", true).status == 403).then_some(()));

    let mut times = Vec::new();
    for i in 0..NAMESPACES {
        let (team, want) = if i % 2 == 0 { ("a", 403) } else { ("b", 201) };
        let name = format!("new-{i}");
        assert_eq!(api.create(&namespace(&name, team), "", false).status, 201);
        let began = Instant::now();
        let answer = api.create(&service(&name), "", false);
        times.push(began.elapsed());
        assert_eq!(answer.status, want, "{name}: {answer:?}");
    }
    times.sort_unstable();
    let median = times[NAMESPACES / 2];
    let metrics = get(&server.admin, "/metrics").unwrap();
    let reads = metrics.lines().filter(|l| l.starts_with("roster_namespace_reads_total"));
    println!("median {median:?}, longest {:?}, {:?}", times[NAMESPACES - 1], reads.collect::<Vec<_>>());
    assert!(median < SHORT, "{median:?}");
}
