//! Configurations that an API server reads from files (KEP-5793): those of `manifests/overlays/static`.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    assets,
    control_plane::{ControlPlane, Setup},
    kubectl,
    webhook::Webhook,
};

/// Where the files say that they are.
const FOLDER: &str = "/etc/kubernetes/admission";
/// Where they say that Roster is.
const ADDRESS: &str = "127.0.0.1:9443";

/// Writes the files below `dir`, for this webhook: its address, its CA, and the folder are an installation's own.
fn install(dir: &Path, server: &Webhook) -> String {
    for file in roster::deploy::files(&roster::cli::server_permissions()) {
        let Some(path) = file.path.strip_prefix("overlays/static/") else { continue };
        let documents: Vec<String> = file.documents.into_iter().map(|d| here(d, dir, server).to_string()).collect();
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, documents.join("\n---\n")).unwrap();
    }
    format!("--admission-control-config-file={}", dir.join("admission-configuration.yaml").display())
}

fn here(mut document: Value, dir: &Path, server: &Webhook) -> Value {
    let replace = |value: &mut Value, from: &str, to: &str| {
        let text = value.as_str().unwrap();
        assert!(text.contains(from), "{text} is not in {from}");
        *value = text.replace(from, to).into();
    };
    for plugin in document.get_mut("plugins").and_then(Value::as_array_mut).into_iter().flatten() {
        replace(&mut plugin["configuration"]["staticManifestsDir"], FOLDER, dir.to_str().unwrap());
    }
    for webhook in document.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten() {
        replace(&mut webhook["clientConfig"]["url"], ADDRESS, &server.address);
        webhook["clientConfig"]["caBundle"] = server.bundle().into();
    }
    document
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn files_of_the_api_server_hold_from_its_first_request() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let server = Webhook::start(dir.path(), &[]);
    server.wait_until_ready();
    let flags = [install(&dir.path().join("admission"), &server)];
    let setup = Setup { assets: &assets, dir: dir.path(), api_server: &flags, controllers: false };
    let plane = ControlPlane::start(&setup).unwrap();

    let service = |metadata: Value| json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": { "ports": [{ "port": 80 }] } });
    for (name, object, well, words) in [
        (
            "changed",
            service(json!({ "name": "a", "annotations": {
                "service.alpha.kubernetes.io/tolerate-unready-endpoints": "true" } })),
            true,
            "; set to true (tolerate-unready-annotation)",
        ),
        (
            "refused",
            service(json!({ "name": "b", "labels": { "service.kubernetes.io/headless": "" } })),
            false,
            "admission webhook \"services.validate.roster.dev\" denied the request",
        ),
        (
            "warned",
            json!({ "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": { "name": "c" },
                "addressType": "IPv4", "endpoints": [{ "addresses": ["10.0.0.1"] }] }),
            true,
            "Warning: metadata.labels[kubernetes.io/service-name]: is missing, so no consumer uses the slice (slice-labels)",
        ),
        ("nothing is wrong", service(json!({ "name": "d" })), true, "service/d created\n"),
    ] {
        let (done, told) = kubectl(&plane, "create -n default -f -", &object.to_string());
        assert_eq!(done, well, "{name}: {told}");
        assert!(told.contains(words), "{name}: {told}");
    }
    let field = "get service a -n default -o jsonpath={.spec.publishNotReadyAddresses}";
    assert_eq!(kubectl(&plane, field, ""), (true, "true".to_owned()));
    // Nobody sees them, so that nobody can delete them; and nobody makes others of their name.
    let (_, told) = kubectl(&plane, "get mutatingwebhookconfigurations,validatingwebhookconfigurations", "");
    assert!(told.contains("No resources found"), "{told}");
    let another = json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": "roster.static.k8s.io" } });
    let (done, told) = kubectl(&plane, "create -f -", &another.to_string());
    assert!(!done && told.contains(".static.k8s.io"), "{told}");
}
