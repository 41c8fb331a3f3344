//! Policies that select namespaces, for a namespace that was created right before the object: its watch event may not
//! have arrived yet.

use std::time::{Duration, Instant};

use roster_engine::model::installed::{NAME, NAMESPACE};
use serde_json::{Value, json};

use super::{
    account::account,
    api::ApiServer,
    assets, get, kubectl, start_without_controllers, wait,
    webhook::{Webhook, manifests, register},
};

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

fn policy() -> Value {
    json!({
        "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": "team-a" },
        "spec": {
            "rules": [{ "name": "external-ip", "mode": "enforce" }],
            "match": { "namespaces": { "selector": { "matchLabels": { "team": "a" } } } },
        },
    })
}

/// Creates namespaces, each with a Service. `refused`: the teams whose Services are refused. Returns the times of these
/// writes, sorted.
fn create(api: &ApiServer, prefix: &str, count: usize, refused: &[&str]) -> Vec<Duration> {
    let mut times = Vec::new();
    for (i, team) in ["a", "b"].into_iter().cycle().take(count).enumerate() {
        let name = format!("{prefix}-{i}");
        assert_eq!(api.create(&namespace(&name, team), "", false).status, 201);
        let began = Instant::now();
        let answer = api.create(&service(&name), "", false);
        times.push(began.elapsed());
        let want = if refused.contains(&team) { 403 } else { 201 };
        assert_eq!(answer.status, want, "{name} of team {team}: {answer:?}");
    }
    times.sort_unstable();
    println!("{prefix}: median {:?}, longest {:?}", times[count / 2], times[count - 1]);
    times
}

/// How many namespaces were read, with this result.
fn reads(server: &Webhook, result: &str) -> usize {
    let metrics = get(&server.admin, "/metrics").unwrap();
    let name = format!("roster_namespace_reads_total{{result=\"{result}\"}} ");
    metrics.lines().find_map(|l| l.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn a_policy_holds_for_a_namespace_that_was_just_created() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let plane = start_without_controllers(&assets, dir.path());
    let server = register(&plane, dir.path());
    let (well, output) = kubectl(&plane, "create -f -", &policy().to_string());
    assert!(well, "{output}");
    let api = ApiServer::of(&plane);
    assert_eq!(api.create(&namespace("first", "a"), "", false).status, 201);
    wait("the policy is in force", || (api.create(&service("first"), "", true).status == 403).then_some(()));

    // With the watch, which is quick where nothing else happens.
    let times = create(&api, "watched", NAMESPACES, &["a"]);
    assert!(times[NAMESPACES / 2] < SHORT, "{times:?}");
    drop(server);

    // The watch delivers nothing.
    let role = |rule: Value| {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": NAME },
            "rules": [
                rule,
                { "apiGroups": ["roster.dev"], "resources": ["endpointpolicies"], "verbs": ["list", "watch"] },
            ],
        });
        let (well, output) = kubectl(&plane, "replace -f -", &role.to_string());
        assert!(well, "{output}");
    };
    let namespaces = |verbs: &[&str]| json!({ "apiGroups": [""], "resources": ["namespaces"], "verbs": verbs });
    role(namespaces(&["get"]));
    let account = account(&plane, dir.path());
    let server = Webhook::start(&dir.path().join("blind"), &["--cluster", "--kubeconfig", account.to_str().unwrap()]);
    wait("the policies are read", || get(&server.admin, "/readyz?verbose").filter(|a| a.contains("[+]policies ok")));
    let (well, output) = kubectl(&plane, "apply -f -", &configurations(&server));
    assert!(well, "{output}");
    wait("the API server calls it", || (api.create(&service("first"), "", true).status == 403).then_some(()));
    let times = create(&api, "read", NAMESPACES, &["a"]);
    assert!(times[NAMESPACES / 2] < SHORT, "{times:?}");
    assert_eq!(reads(&server, "found"), NAMESPACES + 1, "each is read once");

    // Nothing can be read: the policy applies to every namespace, so that none escapes it.
    role(namespaces(&["delete"]));
    wait("the namespace cannot be read", || {
        let (well, output) =
            kubectl(&plane, &format!("auth can-i get namespaces --as=system:serviceaccount:{NAMESPACE}:{NAME}"), "");
        (!well && output.contains("no")).then_some(())
    });
    create(&api, "unread", 20, &["a", "b"]);
    assert!(reads(&server, "failed") >= 20);
}

/// The webhook configurations, for this webhook.
fn configurations(server: &Webhook) -> String {
    let mut list: Value = serde_json::from_str(&manifests(&server.address, &server.bundle())).unwrap();
    list["items"].as_array_mut().unwrap().retain(|i| i["kind"].as_str().unwrap().ends_with("WebhookConfiguration"));
    list.to_string()
}
