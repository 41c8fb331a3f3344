//! Patches of kustomizations, beside what `kubectl kustomize` makes of them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use roster_manifests::{
    decode::{self, Source},
    lint::{CustomizedObject, Kustomizations, Overlays, PatchRoom},
};
use serde_json::{Value, json};

use crate::parity::rng::Rng;

/// How many random kustomizations are compared.
const CASES: u64 = 150;

/// A base and an overlay with random patches become the objects that `kubectl kustomize` prints.
#[test]
#[ignore = "needs kubectl: cargo xtask test cluster"]
fn patches_make_what_kubectl_makes() {
    let (mut compared, mut removed, mut refused, mut unknown) = (0, 0, 0, 0);
    for case in 0..CASES {
        let mut rng = Rng::new(1, case);
        let objects = objects(&mut rng);
        let (base, overlay) = (kustomization(&mut rng, "web.yaml"), kustomization(&mut rng, "../base"));
        let folder = tempfile::tempdir().unwrap();
        let text = objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
        for (path, text) in [
            ("base/web.yaml", text),
            ("base/kustomization.yaml", base.to_string()),
            ("prod/kustomization.yaml", overlay.to_string()),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let ours = patched(&objects, [&base, &overlay]);
        let Some(theirs) = rendered(&folder.path().join("prod")) else {
            // A patch may name an object that another one has removed.
            refused += 1;
            continue;
        };
        let Some(ours) = ours else {
            unknown += 1;
            continue;
        };
        removed += objects.len() - ours.len();
        compared += ours.len();
        assert_eq!(ours, theirs, "{case}: {objects:?} {base} {overlay}");
    }
    println!(
        "{compared} objects are equal, {removed} are removed; {refused} of {CASES} kustomizations are refused, {unknown} are not judged"
    );
    assert!(compared > 150 && removed > 5 && unknown < 30);
}

/// What `kubectl kustomize` prints, by kind; `None` if it refuses the kustomization.
fn rendered(folder: &Path) -> Option<BTreeMap<String, Value>> {
    let output = Command::new("kubectl").arg("kustomize").arg(folder).output().unwrap();
    if !output.status.success() {
        return None;
    }
    let json = decode::text(&*output.stdout, &Source::file("")).unwrap();
    let all = serde_json::Deserializer::from_str(&json).into_iter::<Value>().map(Result::unwrap);
    Some(all.map(|object| (kind(&object), without_unread(object))).collect())
}

/// What the patches make of the objects, by kind; `None` if that is not known of one of them.
fn patched(objects: &[Value], [base, overlay]: [&Value; 2]) -> Option<BTreeMap<String, Value>> {
    let raw = |value: &Value| serde_json::value::to_raw_value(value).unwrap();
    let mut all = Kustomizations::new(|text| Some(vec![serde_json::from_str(text).unwrap()]), PathBuf::new());
    all.add("base/kustomization.yaml", &raw(base));
    all.add("prod/kustomization.yaml", &raw(overlay));
    let overlays = Overlays::of(&all);
    let mut patched = BTreeMap::new();
    for object in objects {
        let value = match overlays.patch("base/web.yaml", &raw(object), &mut PatchRoom::default()) {
            CustomizedObject::Same => object.clone(),
            CustomizedObject::Changed(raw) => serde_json::from_str(raw.get()).unwrap(),
            CustomizedObject::Removed => continue,
            CustomizedObject::Unknown => return None,
        };
        patched.insert(kind(object), without_unread(value));
    }
    Some(patched)
}

fn kind(object: &Value) -> String {
    object["kind"].as_str().unwrap().to_owned()
}

/// The object without what no comparison reads, which is not patched.
fn without_unread(mut object: Value) -> Value {
    let containers = object.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
    if let Some(containers) = containers {
        let read = ["name", "ports", "resources"];
        for container in containers.iter_mut() {
            container.as_object_mut().unwrap().retain(|field, _| read.contains(&&**field));
        }
        containers.retain(|container| container.as_object().unwrap().len() > 1);
        // Those that a patch names come first, even if it changes nothing that is read.
        containers.sort_by_key(|container| container["name"].as_str().unwrap().to_owned());
    }
    object
}

fn one_of<T: Clone>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len())].clone()
}

/// Ports of a container (`containerPort`) or of a Service (`port`), some with a protocol.
fn ports(rng: &mut Rng, number: &str) -> Value {
    let count = 1 + rng.below(2);
    let mut ports: Vec<Value> = Vec::new();
    for i in 0..count {
        let mut port = json!({ number: 80 + i, "name": one_of(rng, &["http", "web", "admin"]) });
        // What only some of them have makes the result hard to predict.
        if rng.percent(3) {
            port["protocol"] = json!("UDP");
        }
        ports.push(port);
    }
    json!(ports)
}

fn container(rng: &mut Rng) -> Value {
    let mut container = json!({ "name": one_of(rng, &["web", "web", "side"]), "image": one_of(rng, &["a", "b"]) });
    if rng.below(3) > 0 {
        container["ports"] = ports(rng, "containerPort");
    }
    if rng.below(3) == 0 {
        container["args"] = json!([one_of(rng, &["x", "y"])]);
    }
    if rng.below(3) == 0 {
        container["resources"] = json!({ "requests": { one_of(rng, &["cpu", "memory"]): "1" } });
    }
    container
}

fn objects(rng: &mut Rng) -> Vec<Value> {
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "labels": { "app": "web" } },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [container(rng)] } },
        },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
        "spec": { "selector": { "app": "web" }, "ports": ports(rng, "port") },
    });
    vec![deployment, service]
}

/// A kustomization with some patches and numbers of replicas.
fn kustomization(rng: &mut Rng, resource: &str) -> Value {
    let patches: Vec<Value> = (0..rng.below(3)).map(|_| patch(rng)).collect();
    let mut kustomization = json!({ "resources": [resource], "patches": patches });
    if rng.below(4) == 0 {
        kustomization["replicas"] = json!([{ "name": "web", "count": rng.below(5) }]);
    }
    kustomization
}

fn patch(rng: &mut Rng) -> Value {
    let of = |api_version: &str, kind: &str, spec: Value| json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "web" }, "spec": spec });
    match rng.below(8) {
        0 | 1 => {
            let template = json!({ "spec": { "containers": [container(rng)] } });
            json!({ "patch": of("apps/v1", "Deployment", json!({ "template": template })).to_string() })
        }
        2 => json!({ "patch": of("v1", "Service", json!({ "ports": ports(rng, "port") })).to_string() }),
        3 => {
            let selector = one_of(
                rng,
                &[json!({ "app": "api" }), json!({ "app": null, "x": "y" }), json!({ "$patch": "replace", "z": "1" })],
            );
            json!({ "patch": of("v1", "Service", json!({ "selector": selector })).to_string() })
        }
        4 => {
            let port = one_of(rng, &[json!({ "port": 80, "$patch": "delete" }), json!({ "$patch": "replace" })]);
            let added = json!({ "port": 443, "name": "tls" });
            json!({ "patch": of("v1", "Service", json!({ "ports": [port, added] })).to_string() })
        }
        5 => {
            let path = one_of(
                rng,
                &["/spec/replicas", "/spec/replicas", "/spec/template/metadata/labels/app", "/spec/none/x"],
            );
            let value = if path == "/spec/replicas" { json!(7) } else { json!("other") };
            let operations = json!([{ "op": one_of(rng, &["add", "replace"]), "path": path, "value": value }]);
            json!({ "target": { "kind": "Deployment", "name": one_of(rng, &["web", "w.*", ".*"]) }, "patch": operations.to_string() })
        }
        6 => {
            let labels = json!({ "metadata": { "labels": { "env": "prod" } } });
            json!({ "target": { "labelSelector": one_of(rng, &["app=web", "app!=web"]) }, "patch": labels.to_string() })
        }
        _ if rng.below(3) == 0 => {
            json!({ "patch": json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" }, "$patch": "delete" }).to_string() })
        }
        _ => json!({ "patch": of("apps/v1", "Deployment", json!({ "replicas": rng.below(4) })).to_string() }),
    }
}
