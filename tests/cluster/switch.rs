//! `roster disable` and `roster enable`, at a real API server whose webhooks nobody answers.

use std::{fs, path::Path, process::Output};

use serde_json::{Value, json};

use super::{assets, control_plane::ControlPlane, kubectl, roster, start_without_controllers};

/// What a run came to: exit code, and all that it printed.
fn run(kubeconfig: &Path, line: &str) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        roster().args(line.split_whitespace()).arg("--kubeconfig").arg(kubeconfig).output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

const CONFIGURATIONS: [&str; 2] = ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"];

/// The configurations of this repository, called where nobody listens; the first webhook of each refuses then, the
/// others let pass. One of somebody else is beside them.
fn configurations() -> String {
    let mut items = Vec::new();
    let files = roster::deploy::files(&roster::cli::server_permissions());
    let documents = files.iter().filter(|f| f.path == "base/webhooks.yaml").flat_map(|f| &f.documents);
    for mut document in documents.cloned() {
        for (i, webhook) in document["webhooks"].as_array_mut().unwrap().iter_mut().enumerate() {
            webhook["clientConfig"] = json!({ "url": "https://127.0.0.1:1/" });
            webhook["failurePolicy"] = if i == 0 { "Fail".into() } else { "Ignore".into() };
        }
        let mut foreign = document.clone();
        foreign["metadata"]["name"] = "somebody-else".into();
        for webhook in foreign["webhooks"].as_array_mut().unwrap() {
            webhook["objectSelector"] = json!({ "matchLabels": { "nobody": "has-this" } });
        }
        items.extend([document, foreign]);
    }
    json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()
}

/// All configurations, without what every write changes.
fn stored(plane: &ControlPlane) -> Value {
    let line = format!("get {} -o json", CONFIGURATIONS.join(","));
    let mut list: Value = serde_json::from_str(&kubectl(plane, &line, "").1).unwrap();
    for item in list["items"].as_array_mut().unwrap() {
        let metadata = item["metadata"].as_object_mut().unwrap();
        metadata.remove("generation");
        metadata.remove("resourceVersion");
    }
    list
}

fn versions(plane: &ControlPlane) -> String {
    let line = format!("get {} -o jsonpath={{.items[*].metadata.resourceVersion}}", CONFIGURATIONS.join(","));
    kubectl(plane, &line, "").1
}

const SERVICE: &str =
    r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"ports":[{"port":80}]}}"#;
const TRY: &str = "create -f - --dry-run=server";

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn writes_pass_while_it_is_disabled_and_nothing_else_changes() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let plane = start_without_controllers(&assets, dir.path());
    let admin = plane.kubeconfig();
    let (code, told) = run(&admin, "disable");
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("no webhook configuration roster found"), "{told}");

    let (well, told) = kubectl(&plane, "create -f -", &configurations());
    assert!(well, "{told}");
    let (before, at) = (stored(&plane), versions(&plane));
    assert!(!kubectl(&plane, TRY, SERVICE).0, "nobody answers, and the policy is Fail");

    let (code, told) = run(&admin, "disable --dry-run");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("2 webhooks would be changed (dry run)"), "{told}");
    assert_eq!(versions(&plane), at);

    let (code, told) = run(&admin, "disable -o json");
    assert_eq!(code, Some(0), "{told}");
    let change = |kind: &str, webhook: &str| json!({ "kind": kind, "name": "roster", "webhook": webhook, "before": "Fail", "after": "Ignore" });
    let want = [
        change("MutatingWebhookConfiguration", "services.mutate.roster.dev"),
        change("ValidatingWebhookConfiguration", "services.validate.roster.dev"),
    ];
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), json!({ "items": want, "dryRun": false }));
    super::wait("the API server knows", || kubectl(&plane, TRY, SERVICE).0.then_some(()));
    let mut disabled = before.clone();
    for item in disabled["items"].as_array_mut().unwrap().iter_mut().filter(|i| i["metadata"]["name"] == "roster") {
        let name = item["webhooks"][0]["name"].as_str().unwrap().to_owned();
        item["webhooks"][0]["failurePolicy"] = "Ignore".into();
        let annotation = json!({ name: "Fail" }).to_string();
        item["metadata"]["annotations"] = json!({ roster::servers::webhook::emergency::ANNOTATION: annotation });
    }
    assert_eq!(stored(&plane), disabled);

    let at = versions(&plane);
    let nothing = "nothing to do: no webhook has the failurePolicy Fail\n".to_owned();
    assert_eq!(run(&admin, "disable"), (Some(0), nothing));
    assert_eq!(versions(&plane), at);

    let (code, told) = run(&admin, "enable");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.ends_with("\n2 webhooks changed\n"), "{told}");
    assert_eq!(stored(&plane), before);
    assert_eq!(run(&admin, "enable"), (Some(0), "nothing to do: no webhook is disabled\n".to_owned()));

    refusals(&plane, dir.path());
}

/// Who may not, and what the guard rests on: an API server refuses the patch of an older version.
fn refusals(plane: &ControlPlane, dir: &Path) {
    let nobody = dir.join("nobody.kubeconfig");
    let mut config: Value = serde_saphyr::from_str(&fs::read_to_string(plane.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"]["as"] = "nobody".into();
    fs::write(&nobody, config.to_string()).unwrap();
    let (code, told) = run(&nobody, "disable");
    assert_eq!(code, Some(2), "{told}");
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        assert!(told.contains(&format!("error: {kind} roster: cannot read it")), "{told}");
    }
    assert!(told.contains("is forbidden: User \"nobody\" cannot get resource"), "{told}");

    let stale = r#"patch validatingwebhookconfiguration roster -p {"metadata":{"resourceVersion":"1","annotations":{"a":"b"}}}"#;
    let (well, told) = kubectl(plane, stale, "");
    assert!(!well && told.contains("the object has been modified"), "{told}");

    let (well, told) = kubectl(plane, "delete mutatingwebhookconfiguration roster", "");
    assert!(well, "{told}");
    let (code, told) = run(&plane.kubeconfig(), "disable");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("warning: MutatingWebhookConfiguration roster does not exist"), "{told}");
    assert!(told.contains("1 webhook changed"), "{told}");
}
