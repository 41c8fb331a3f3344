//! Variants of the base.

use serde_json::{Value, json};

use super::{
    File,
    names::{NAME, NAMESPACE, SECRET, SERVICE, cluster_meta, meta},
    webhooks,
};

/// All of them.
pub(super) fn all() -> Vec<File> {
    [dev(), ha(), cert_manager(), static_files()].concat()
}

fn kustomization(patches: &[Value], resources: &[&str]) -> Value {
    let mut all = vec!["../../base"];
    all.extend_from_slice(resources);
    let mut value = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": all,
    });
    if !patches.is_empty() {
        value["patches"] = patches.into();
    }
    value
}

/// A JSON patch for the objects of a kind.
fn patch(kind: &str, operations: &[Value]) -> Value {
    // kustomize takes the operations as text; JSON is YAML.
    json!({ "target": { "kind": kind, "name": NAME }, "patch": Value::from(operations).to_string() })
}

/// One replica and debug logs, to try things.
fn dev() -> Vec<File> {
    let deployment = patch(
        "Deployment",
        &[
            json!({ "op": "replace", "path": "/spec/replicas", "value": 1 }),
            json!({ "op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--log=roster=debug,info" }),
        ],
    );
    vec![File::new("overlays/dev/kustomization.yaml", vec![kustomization(&[deployment], &[])])]
}

/// Three replicas. With that many, validation may refuse while nobody answers: rules that protect are then never
/// gone round. Slices stay as they are: kube-proxy needs them more than anybody needs a rule.
fn ha() -> Vec<File> {
    let deployment = patch("Deployment", &[json!({ "op": "replace", "path": "/spec/replicas", "value": 3 })]);
    let closed: Vec<Value> = webhooks::validating()["webhooks"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, w)| w["rules"][0]["resources"][0] != "endpointslices")
        .map(|(i, _)| json!({ "op": "replace", "path": format!("/webhooks/{i}/failurePolicy"), "value": "Fail" }))
        .collect();
    let validating = patch("ValidatingWebhookConfiguration", &closed);
    vec![File::new("overlays/ha/kustomization.yaml", vec![kustomization(&[deployment, validating], &[])])]
}

/// Certificates by cert-manager; its CA injector fills in the bundles.
fn cert_manager() -> Vec<File> {
    let inject = json!({
        "op": "add",
        "path": "/metadata/annotations",
        "value": { "cert-manager.io/inject-ca-from": format!("{NAMESPACE}/{SERVICE}") },
    });
    let mut patches: Vec<Value> = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
        .map(|kind| patch(kind, std::slice::from_ref(&inject)))
        .into();
    patches.push(json!({
        "target": { "kind": "CustomResourceDefinition", "name": "endpointpolicies.roster.dev" },
        "patch": Value::from(vec![inject]).to_string(),
    }));
    let mount = json!([
        { "op": "test", "path": "/spec/template/spec/containers/0/args/4", "value": "--self-signed" },
        { "op": "replace", "path": "/spec/template/spec/containers/0/args/4", "value": "--tls-cert-file=/tls/tls.crt" },
        { "op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--tls-private-key-file=/tls/tls.key" },
        { "op": "add", "path": "/spec/template/spec/containers/0/volumeMounts",
          "value": [{ "name": "tls", "mountPath": "/tls", "readOnly": true }] },
        { "op": "add", "path": "/spec/template/spec/volumes",
          "value": [{ "name": "tls", "secret": { "secretName": SECRET, "defaultMode": 0o440 } }] },
    ]);
    patches.push(json!({ "target": { "kind": "Deployment", "name": NAME }, "patch": mount.to_string() }));
    let host = format!("{SERVICE}.{NAMESPACE}.svc");
    let issuer = json!({
        "apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": meta(NAME), "spec": { "selfSigned": {} },
    });
    let certificate = json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": meta(SERVICE),
        "spec": {
            "secretName": SECRET,
            "dnsNames": [host, format!("{host}.cluster.local")],
            "issuerRef": { "name": NAME },
            "privateKey": { "algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always" },
        },
    });
    vec![
        File::new("overlays/cert-manager/certificate.yaml", vec![issuer, certificate]),
        File::new("overlays/cert-manager/kustomization.yaml", vec![kustomization(&patches, &["certificate.yaml"])]),
    ]
}

/// Where Roster listens beside an API server: in a network of nodes 10250 is the kubelet's.
const BESIDE: &str = "127.0.0.1:9443";

/// Configurations that an API server reads from a folder of its own (`staticManifestsDir`, on by default from 1.37):
/// they hold from its first request, and nobody can delete them. They name an URL, since there is no Service yet, and
/// their names end in `.static.k8s.io`, as they must.
fn static_files() -> Vec<File> {
    let name = format!("{NAME}.static.k8s.io");
    let make = |mut configuration: Value| {
        configuration["metadata"] = cluster_meta(&name);
        for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default().to_owned();
            webhook["clientConfig"] = json!({ "url": format!("https://{BESIDE}{path}") });
        }
        configuration
    };
    let plugin = |name: &str| {
        json!({
            "name": name,
            "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "WebhookAdmissionConfiguration",
                "kubeConfigFile": "",
                "staticManifestsDir": format!("/etc/kubernetes/admission/{}", name.to_lowercase()),
            },
        })
    };
    let admission = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [plugin("MutatingAdmissionWebhook"), plugin("ValidatingAdmissionWebhook")],
    });
    vec![
        File::new("overlays/static/admission-configuration.yaml", vec![admission]),
        File::new("overlays/static/mutatingadmissionwebhook/roster.yaml", vec![make(webhooks::mutating())]),
        File::new("overlays/static/validatingadmissionwebhook/roster.yaml", vec![make(webhooks::validating())]),
    ]
}
