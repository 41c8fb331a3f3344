//! Overlays: variants of the base.

use serde_json::{Value, json};

use super::{
    ISSUING, ManifestFile,
    names::{NAME, SECRET, cluster_meta},
    tls, webhooks,
    workload::SELF_SIGNED,
};

/// The files of all overlays.
pub(super) fn all() -> Vec<ManifestFile> {
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
    // kustomize expects the operations as text; JSON is valid YAML.
    json!({ "target": { "kind": kind, "name": NAME }, "patch": Value::from(operations).to_string() })
}

/// One replica and debug logs, for experiments.
fn dev() -> Vec<ManifestFile> {
    let deployment = patch(
        "Deployment",
        &[
            json!({ "op": "replace", "path": "/spec/replicas", "value": 1 }),
            json!({ "op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--log=roster=debug,info" }),
        ],
    );
    vec![ManifestFile::new("overlays/dev/kustomization.yaml", vec![kustomization(&[deployment], &[])])]
}

/// Three replicas. API servers then refuse writes that the webhook did not validate, so that nobody bypasses a rule.
///
/// The cluster must not depend on the webhook for that: the base already exempts the built-in controllers, kube-system and
/// Roster's own namespace. Service accounts of kube-system may write endpoints into other namespaces.
fn ha() -> Vec<ManifestFile> {
    let deployment = patch("Deployment", &[json!({ "op": "replace", "path": "/spec/replicas", "value": 3 })]);
    let webhooks = webhooks::validating()["webhooks"].as_array().map_or(0, Vec::len);
    let closed = |i: usize| {
        [
            json!({ "op": "replace", "path": format!("/webhooks/{i}/failurePolicy"), "value": "Fail" }),
            json!({ "op": "add", "path": format!("/webhooks/{i}/matchConditions/-"), "value": webhooks::not_of_the_system() }),
        ]
    };
    let closed: Vec<Value> = (0..webhooks).flat_map(closed).collect();
    let validating = patch("ValidatingWebhookConfiguration", &closed);
    vec![ManifestFile::new("overlays/ha/kustomization.yaml", vec![kustomization(&[deployment, validating], &[])])]
}

/// Certificates from cert-manager, whose CA injector sets every `caBundle`.
fn cert_manager() -> Vec<ManifestFile> {
    let inject = json!({
        "op": "add",
        "path": "/metadata/annotations",
        "value": tls::injected(),
    });
    let mut patches: Vec<Value> = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
        .map(|kind| patch(kind, std::slice::from_ref(&inject)))
        .into();
    patches.push(json!({
        "target": { "kind": "CustomResourceDefinition", "name": "endpointpolicies.roster.dev" },
        "patch": Value::from(vec![inject]).to_string(),
    }));
    // The webhook issues nothing, and may not.
    patches.extend(["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map(|kind| {
        let version = "rbac.authorization.k8s.io/v1";
        let patch = json!({ "apiVersion": version, "kind": kind, "metadata": { "name": ISSUING }, "$patch": "delete" });
        json!({ "target": { "kind": kind, "name": ISSUING }, "patch": patch.to_string() })
    }));
    let [certificate_flag, key_flag] = tls::FLAGS;
    let mount = json!([
        { "op": "test", "path": "/spec/template/spec/containers/0/args/4", "value": SELF_SIGNED },
        { "op": "replace", "path": "/spec/template/spec/containers/0/args/4", "value": certificate_flag },
        { "op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": key_flag },
        { "op": "add", "path": "/spec/template/spec/containers/0/volumeMounts", "value": [tls::mount()] },
        { "op": "add", "path": "/spec/template/spec/volumes", "value": [tls::volume(SECRET)] },
    ]);
    patches.push(json!({ "target": { "kind": "Deployment", "name": NAME }, "patch": mount.to_string() }));
    vec![
        ManifestFile::new("overlays/cert-manager/certificate.yaml", vec![tls::issuer(), tls::certificate()]),
        ManifestFile::new(
            "overlays/cert-manager/kustomization.yaml",
            vec![kustomization(&patches, &["certificate.yaml"])],
        ),
    ]
}

/// The address of a Roster next to an API server. On a node, port 10250 belongs to the kubelet.
const LOCAL_ADDRESS: &str = "127.0.0.1:9443";

/// Configurations that an API server reads from files (`staticManifestsDir`, on by default from 1.37). They apply from the
/// first request, and cannot be deleted. They contain a URL, since no Service exists yet, and their names must end in
/// `.static.k8s.io`.
fn static_files() -> Vec<ManifestFile> {
    let name = format!("{NAME}.static.k8s.io");
    let make = |mut configuration: Value| {
        configuration["metadata"] = cluster_meta(&name);
        for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default().to_owned();
            webhook["clientConfig"] = json!({ "url": format!("https://{LOCAL_ADDRESS}{path}") });
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
        ManifestFile::new("overlays/static/admission-configuration.yaml", vec![admission]),
        ManifestFile::new("overlays/static/mutatingadmissionwebhook/roster.yaml", vec![make(webhooks::mutating())]),
        ManifestFile::new("overlays/static/validatingadmissionwebhook/roster.yaml", vec![make(webhooks::validating())]),
    ]
}
