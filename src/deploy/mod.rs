//! What is applied to a cluster, made from the table of kinds: `cargo xtask manifests` writes it.
//!
//! ```text
//! manifests/base            namespace, permissions, Deployment, Service, webhook configurations, CRD
//! manifests/overlays/ha     three replicas, refuses while nobody answers
//! manifests/overlays/dev    one replica, every rule warns only
//! manifests/overlays/cert-manager   certificates by cert-manager instead of Roster itself
//! manifests/overlays/static webhook configurations as files of the API server (KEP-5793)
//! ```

mod access;
mod names;
mod overlays;
mod webhooks;
mod workload;

use serde_json::{Value, json};

/// A file: its path below `manifests/`, and the documents in it.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Path below `manifests/`.
    pub path: String,
    /// Documents, in order.
    pub documents: Vec<Value>,
}

impl File {
    fn new(path: &str, documents: Vec<Value>) -> Self {
        Self { path: path.to_owned(), documents }
    }
}

/// All files.
pub fn files() -> Vec<File> {
    let mut all = vec![
        File::new("base/namespace.yaml", vec![workload::namespace()]),
        File::new("base/crd.yaml", vec![webhooks::crd()]),
        File::new("base/rbac.yaml", access::all()),
        File::new("base/deployment.yaml", vec![workload::deployment(), workload::disruption_budget()]),
        File::new("base/service.yaml", vec![workload::service(), workload::network_policy()]),
        File::new("base/webhooks.yaml", vec![webhooks::mutating(), webhooks::validating()]),
    ];
    let resources: Vec<&str> = all.iter().filter_map(|f| f.path.strip_prefix("base/")).collect();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
        "images": [{ "name": names::IMAGE, "newTag": env!("CARGO_PKG_VERSION") }],
    });
    all.push(File::new("base/kustomization.yaml", vec![kustomization]));
    all.extend(overlays::all());
    all
}
