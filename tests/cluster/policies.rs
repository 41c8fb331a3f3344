//! Policies in a real API server: both versions of many of them, and what is said in their status.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use roster_admission::{
    Rule,
    convert::{ConversionTarget, convert_objects},
    policy::PolicyVersion,
};
use serde_json::{Value, json};

use super::{
    api::{ApiServer, path},
    assets,
    control_plane::ControlPlane,
    get, kubectl, start_without_controllers, wait,
    webhook::{Webhook, manifests},
};

/// How many are listed and watched.
const MANY: usize = 5000;
/// How long no write follows once every status is written.
const STILL: Duration = Duration::from_secs(2);

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn policies_are_kept_converted_and_spoken_of() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let plane = start_without_controllers(&assets, dir.path());
    let api = ApiServer::of(&plane);
    // Where the CRD is not installed there are no policies to wait for.
    Webhook::start_in(&plane, &dir.path().join("none")).wait_until_ready();
    nothing_is_lost_in_the_older_version(&plane, &api, dir.path());
    the_status_is_written_once(&plane, &api, dir.path());
    many_are_listed_and_watched_in_both_versions(&plane, &api, dir.path());
}

/// Applies the manifests for a webhook that listens here. `stored` is the version in which policies are stored.
fn install(plane: &ControlPlane, server: &Webhook, stored: PolicyVersion, more: impl Fn(&mut Value)) {
    let mut list: Value = serde_json::from_str(&manifests(&server.address, &server.bundle())).unwrap();
    for object in list["items"].as_array_mut().unwrap() {
        if object["kind"] == "CustomResourceDefinition" {
            for version in object["spec"]["versions"].as_array_mut().unwrap() {
                version["storage"] = (version["name"] == stored.name()).into();
                more(version);
            }
        }
    }
    let (well, told) = kubectl(plane, "apply -f -", &list.to_string());
    assert!(well, "{told}");
    let (well, told) =
        kubectl(plane, "wait --for=condition=Established --timeout=30s crd/endpointpolicies.roster.dev", "");
    assert!(well, "{told}");
}

/// The object in another version, as this program converts it.
fn converted(object: &Value, to: PolicyVersion) -> Value {
    let raw = serde_json::value::to_raw_value(object).unwrap();
    let done = convert_objects(&[&raw], ConversionTarget::Policy(to));
    assert!(done.failed.is_empty() && done.lost.is_empty());
    serde_json::from_str(done.items[0].get()).unwrap()
}

/// The same object under the path of another version.
fn path_in(object: &Value, version: PolicyVersion) -> String {
    path(object).replace(object["apiVersion"].as_str().unwrap(), version.api_version())
}

fn nothing_is_lost_in_the_older_version(plane: &ControlPlane, api: &ApiServer, dir: &Path) {
    let server = Webhook::start(&dir.join("older"), &[]);
    server.wait_until_ready();
    install(plane, &server, PolicyVersion::V1alpha1, |_| {});
    let flat = json!({
        "apiVersion": "roster.dev/v1alpha1",
        "kind": "EndpointPolicy",
        "metadata": { "name": "flat", "labels": { "team": "a" }, "annotations": { "note": "mine" } },
        "spec": {
            "defaultMode": "audit",
            "rules": [{ "name": "external-ip", "mode": "off" }],
            "namespaces": ["shop", "shop-*"],
            "namespaceSelector": { "matchLabels": { "team": "a" } },
            "serviceSelector": { "matchExpressions": [{ "key": "tier", "operator": "In", "values": ["db"] }] },
            "exemptUsers": ["jane"], "exemptGroups": ["admins"], "exemptNamespaces": ["old"],
            "exemptObjects": [{ "kind": "Service", "name": "web" }],
            "allowedCIDRs": ["192.0.2.0/24"], "deniedCIDRs": ["192.0.2.66"],
            "capacityAction": "Deny",
        },
    });
    let created = wait("policies are served", || Some(api.create(&flat, "", false)).filter(|t| t.status == 201)).body;
    assert_eq!(created["spec"], flat["spec"]);
    let in_v1 = api.get(&path_in(&flat, PolicyVersion::V1)).body;
    assert_eq!(in_v1, converted(&created, PolicyVersion::V1));

    // Edited in v1, with what only v1 can say: groups in which nothing is.
    let mut edited = in_v1;
    edited["spec"]["match"]["services"]["names"] = json!(["db"]);
    edited["spec"]["exempt"] = json!({});
    edited["spec"]["capacity"] = json!({});
    let told = api.replace(&edited, false);
    assert_eq!(told.status, 200, "{told:?}");
    let back = api.get(&path(&flat)).body;
    assert_eq!(back, converted(&told.body, PolicyVersion::V1alpha1));
    assert_eq!(back["spec"]["services"], json!(["db"]));
    assert_eq!(back["metadata"]["annotations"]["note"], "mine");
    let only = back["metadata"]["annotations"]["roster.dev/v1-only"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(only).unwrap(), json!({ "spec": { "exempt": {}, "capacity": {} } }));

    // And edited in the older one, without a thought of the newer: what it cannot say is still there.
    let told = api.patch(&back, &json!({ "spec": { "deniedCIDRs": null, "defaultMode": "warn" } }));
    assert_eq!(told.status, 200, "{told:?}");
    let mut wanted = edited["spec"].clone();
    wanted["defaultMode"] = "warn".into();
    wanted["addresses"].as_object_mut().unwrap().remove("deny");
    let last = api.get(&path_in(&flat, PolicyVersion::V1)).body;
    assert_eq!(last["spec"], wanted);
    assert_eq!(last["metadata"]["annotations"], json!({ "note": "mine" }));
    assert_eq!(last["metadata"]["labels"], json!({ "team": "a" }));

    // With nobody who converts, it can be read in the version in which it is stored, and in no other.
    drop(server);
    assert_eq!(api.get(&path(&flat)).status, 200);
    assert_eq!(api.get(&path_in(&flat, PolicyVersion::V1)).status, 500);
}

/// A file for `--kubeconfig` of the account of the manifests: what it must not do, the API server refuses.
fn as_the_account(plane: &ControlPlane, dir: &Path) -> String {
    let text = fs::read_to_string(plane.kubeconfig()).unwrap();
    let text = text.replace("    token: ", "    as: system:serviceaccount:roster-system:roster\n    token: ");
    let path = dir.join("account.kubeconfig");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn the_status_is_written_once(plane: &ControlPlane, api: &ApiServer, dir: &Path) {
    let account = as_the_account(plane, dir);
    let replicas = ["one", "two"].map(|name| Webhook::start(&dir.join(name), &["--cluster", "--kubeconfig", &account]));
    // One is stored in the older version, and nobody converts it: who waited for it here would wait for himself.
    for replica in &replicas {
        let ready = || get(&replica.admin, "/readyz?verbose").filter(|checks| checks.contains("[+]policies ok"));
        wait("nobody waits for a conversion of his own", ready);
    }
    // A rule of a later release: this one cannot read it.
    install(plane, &replicas[0], PolicyVersion::V1, |version| {
        let rules = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["rules"];
        rules["items"]["properties"]["name"]["enum"].as_array_mut().unwrap().push("rule-of-tomorrow".into());
    });
    let policy = |name: &str, rule: &str| {
        json!({ "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": name },
            "spec": { "rules": [{ "name": rule, "mode": "warn" }] } })
    };
    let (good, bad) = (policy("good", "external-ip"), policy("bad", "rule-of-tomorrow"));
    wait("a rule of tomorrow is taken", || (api.create(&bad, "", false).status == 201).then_some(()));
    assert_eq!(api.create(&good, "", false).status, 201);
    let flat = "/apis/roster.dev/v1/endpointpolicies/flat";

    let conditions = |path: &str, generation: i64| {
        wait(&format!("{path} has a status"), || {
            let object = api.get(path).body;
            (object["status"]["observedGeneration"] == generation).then(|| object["status"]["conditions"].clone())
        })
    };
    let brief = |conditions: &Value| -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let one = |c: &Value| format!("{}={} {}", text(&c["type"]), text(&c["status"]), text(&c["reason"]));
        conditions.as_array().unwrap().iter().map(one).collect()
    };
    let first = conditions(&path(&good), 1);
    assert_eq!(brief(&first), ["Accepted=True Valid", "Ready=True InForce"]);
    let refused = conditions(&path(&bad), 1);
    assert_eq!(brief(&refused), ["Accepted=False Invalid", "Ready=False Invalid"]);
    assert!(
        refused[0]["message"].as_str().unwrap().starts_with("spec.rules[0].name is \"rule-of-tomorrow\""),
        "{refused}"
    );
    // Stored in the older version, and converted by those who wait for it.
    assert_eq!(brief(&conditions(flat, 3)), ["Accepted=True Valid", "Ready=True InForce"]);
    let (well, told) = kubectl(plane, "wait --for=condition=Ready --timeout=30s epol/good epol/flat", "");
    assert!(well, "{told}");

    // A change is seen, and the time of a condition is that of its last change.
    assert_eq!(api.patch(&good, &json!({ "spec": { "defaultMode": "audit" } })).status, 200);
    let second = conditions(&path(&good), 2);
    assert_eq!(brief(&second), brief(&first));
    assert_eq!(second[0]["lastTransitionTime"], first[0]["lastTransitionTime"]);
    let writers: Vec<Value> = api.get(&path(&good)).body["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["manager"] == "roster-policies")
        .map(|m| json!([m["operation"], m["subresource"]]))
        .collect();
    assert_eq!(writers, [json!(["Apply", "status"])]);

    // Somebody disagrees. The replica that has not spoken about this generation yet does so, and then nobody does.
    let disagree = || {
        let patch = "patch epol good --subresource=status --type=merge -p {\"status\":{\"observedGeneration\":1}}";
        let (well, told) = kubectl(plane, patch, "");
        assert!(well, "{told}");
    };
    let versions = || -> Vec<Value> {
        let mut all = api.get("/apis/roster.dev/v1/endpointpolicies").body;
        all["items"].as_array_mut().unwrap().iter_mut().map(|o| o["metadata"]["resourceVersion"].take()).collect()
    };
    disagree();
    conditions(&path(&good), 2);
    disagree();
    let before = versions();
    std::thread::sleep(STILL);
    assert_eq!(versions(), before, "nobody writes any more");
    // Both of them saw it all. The second has a certificate of its own, which no caBundle knows.
    for replica in &replicas {
        let checks = get(&replica.admin, "/readyz?verbose").unwrap();
        assert!(checks.contains("[+]cache ok") && checks.contains("[+]policies ok"), "{checks}");
    }
    replicas[0].wait_until_ready();
}

/// A policy with some of what a policy can say.
fn policy(i: usize) -> Value {
    let mut spec = json!({});
    let mut set = |every: usize, pointer: &[&str], value: Value| {
        if !i.is_multiple_of(every) {
            let place = pointer.iter().fold(&mut spec, |at, name| &mut at[name]);
            *place = value;
        }
    };
    set(7, &["match"], json!({}));
    set(3, &["defaultMode"], json!(["enforce", "warn", "audit", "off"][i % 4]));
    set(4, &["rules"], json!([{ "name": Rule::ALL[i % Rule::COUNT], "mode": "warn" }]));
    set(2, &["match", "namespaces", "names"], json!([format!("shop-{i}"), "shop-*"]));
    set(5, &["match", "services", "selector"], json!({ "matchLabels": { "tier": format!("t{i}") } }));
    set(6, &["exempt", "users"], json!([format!("user-{i}")]));
    set(3, &["exempt", "objects"], json!([{ "kind": "Endpoints", "name": format!("old-{i}") }]));
    set(5, &["addresses", "allow"], json!([format!("10.{}.{}.0/24", i / 250, i % 250)]));
    set(4, &["addresses", "deny"], json!(["192.0.2.66"]));
    set(2, &["capacity", "action"], json!("Deny"));
    json!({
        "apiVersion": "roster.dev/v1",
        "kind": "EndpointPolicy",
        "metadata": { "name": format!("many-{i}"), "annotations": { "i": i.to_string() } },
        "spec": spec,
    })
}

fn many_are_listed_and_watched_in_both_versions(plane: &ControlPlane, api: &ApiServer, dir: &Path) {
    let server = Webhook::start(&dir.join("many"), &[]);
    server.wait_until_ready();
    install(plane, &server, PolicyVersion::V1, |_| {});
    wait("it is asked to convert", || {
        (api.get("/apis/roster.dev/v1alpha1/endpointpolicies/good").status == 200).then_some(())
    });
    let mut clock = Instant::now();
    let mut took = |what: &str| {
        println!("{MANY} policies {what}: {:.1} s", clock.elapsed().as_secs_f64());
        clock = Instant::now();
    };
    api.create_all(&(0..MANY).map(policy).collect::<Vec<_>>());
    took("created");
    let named = |object: &Value| object["metadata"]["name"].as_str().is_some_and(|n| n.starts_with("many-"));
    let sorted = |mut all: Vec<Value>| {
        all.retain(named);
        all.sort_by_key(|o| o["metadata"]["name"].to_string());
        all
    };
    let mut listed = Vec::new();
    for version in [PolicyVersion::V1, PolicyVersion::V1alpha1] {
        let path = format!("/apis/{version}/endpointpolicies");
        let whole = api.get(&path);
        assert_eq!(whole.status, 200);
        let whole = sorted(whole.body["items"].as_array().unwrap().clone());
        took(&format!("listed in {version}"));
        let mut paged = Vec::new();
        let mut next = String::new();
        loop {
            let page = api.get(&format!("{path}?limit=500{next}")).body;
            paged.extend(page["items"].as_array().unwrap().iter().cloned());
            match page["metadata"]["continue"].as_str() {
                Some(token) if !token.is_empty() => next = format!("&continue={token}"),
                _ => break,
            }
        }
        took(&format!("listed in pages in {version}"));
        assert!(sorted(paged) == whole, "{version}: pages and the whole differ");
        assert!(watched(api, &path, "resourceVersion=0", &sorted) == whole, "{version}: a watch and a list differ");
        took(&format!("watched in {version}"));
        let streamed = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        assert!(watched(api, &path, streamed, &sorted) == whole, "{version}: a streamed list and a list differ");
        took(&format!("listed by a watch in {version}"));
        listed.push(whole);
    }
    assert_eq!(listed[0].len(), MANY);
    for (v1, v1alpha1) in listed[0].iter().zip(&listed[1]) {
        assert_eq!(*v1alpha1, converted(v1, PolicyVersion::V1alpha1));
        assert_eq!(*v1, converted(v1alpha1, PolicyVersion::V1));
    }
}

/// What a watch adds: all that was created, or all before its bookmark.
fn watched(api: &ApiServer, path: &str, query: &str, sorted: &dyn Fn(Vec<Value>) -> Vec<Value>) -> Vec<Value> {
    let streamed = query.contains("sendInitialEvents");
    let mut left = MANY;
    let events = api.watch(&format!("{path}?watch=true&{query}"), |event| {
        let meta = &event["object"]["metadata"];
        if event["type"] == "ADDED" && meta["name"].as_str().is_some_and(|n| n.starts_with("many-")) {
            left -= 1;
        }
        if streamed { meta["annotations"]["k8s.io/initial-events-end"] == "true" } else { left == 0 }
    });
    let added = events.into_iter().filter(|e| e["type"] == "ADDED").map(|mut e| e["object"].take());
    sorted(added.collect())
}
