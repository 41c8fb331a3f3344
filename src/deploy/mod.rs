//! The manifests of an installation, generated from the table of kinds; `cargo xtask manifests` writes them.
//!
//! ```text
//! manifests/base            namespace, permissions and their limits, Deployment, Service, webhook configurations, CRD
//! manifests/overlays/ha     three replicas; API servers refuse writes without an answer
//! manifests/overlays/dev    one replica, debug logs
//! manifests/overlays/cert-manager   certificates from cert-manager
//! manifests/overlays/static webhook configurations as files of the API server (KEP-5793)
//! manifests/controller      the controller
//! manifests/shadow          the controller in shadow, which only watches
//! manifests/overlays/shadow-events, shadow-healing   the same with Events, or with healing as well
//! manifests/rest            the REST API
//! manifests/edge            the node proxy on each node
//! manifests/overlays/edge-client-certificates   the same for clients with certificates
//! ```
//!
//! The chart is made of the same documents ([`chart_files`]).

mod access;
mod account_policy;
mod alerts;
mod chart;
mod controller;
mod edge;
mod hardening;
mod names;
mod network;
mod overlays;
mod rest;
mod tls;
mod webhooks;
mod workload;

use roster_engine::model::permission::Permission;
use serde_json::{Value, json};

use self::{access::ServiceAccount, alerts::runbooks_url};
pub use self::{
    alerts::{ALERTS, Alert, runbooks},
    chart::{ChartFile, chart_files, values_markdown},
};

/// What the servers of an installation may do.
#[derive(Clone, Debug)]
pub struct ServerPermissions {
    /// The webhook.
    pub webhook: Vec<Permission>,
    /// What the webhook may do besides if it issues its certificate.
    pub webhook_that_issues: Vec<Permission>,
    /// The controller, with all its parts.
    pub controller: Vec<Permission>,
    /// The controller in shadow.
    pub shadow: ShadowPermissions,
    /// The node proxy.
    pub edge: Vec<Permission>,
    /// The node proxy with OpenYurt's scheme.
    pub edge_of_openyurt: Vec<Permission>,
    /// What the node proxy may do besides where its clients may have certificates.
    pub edge_with_client_certificates: Vec<Permission>,
}

/// What a controller in shadow may do.
#[derive(Clone, Debug)]
pub struct ShadowPermissions {
    /// It watches, and holds its Lease.
    pub watching: Vec<Permission>,
    /// Besides, to send Events.
    pub events: Vec<Permission>,
    /// Besides, to heal.
    pub healing: Vec<Permission>,
}

/// A generated file: its path, and its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestFile {
    /// Path below `manifests/`.
    pub path: String,
    /// Documents, in order.
    pub documents: Vec<Value>,
}

impl ManifestFile {
    fn new(path: &str, documents: Vec<Value>) -> Self {
        Self { path: path.to_owned(), documents }
    }
}

/// The roles of a webhook that issues its certificate.
const ISSUING: &str = "roster-certificates";

/// The account of the webhook.
fn account() -> ServiceAccount {
    ServiceAccount { name: names::NAME, namespace: names::NAMESPACE, labels: names::labels }
}

/// The kustomization of these files, with the image of this version.
fn kustomization(resources: &[&str]) -> Value {
    json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
        "images": [{ "name": names::IMAGE, "newTag": env!("CARGO_PKG_VERSION") }],
    })
}

/// All manifests, for servers that need these permissions.
pub fn files(permissions: &ServerPermissions) -> Vec<ManifestFile> {
    let account = account();
    let mut all = vec![
        ManifestFile::new("base/namespace.yaml", vec![workload::namespace()]),
        ManifestFile::new("base/crd.yaml", vec![webhooks::crd()]),
        ManifestFile::new(
            "base/rbac.yaml",
            [
                account.cluster_wide(&permissions.webhook),
                account.another_role(ISSUING, &permissions.webhook_that_issues),
            ]
            .concat(),
        ),
        ManifestFile::new(
            "base/deployment.yaml",
            vec![workload::deployment(), workload::disruption_budget(names::NAME, &names::meta(names::NAME))],
        ),
        ManifestFile::new("base/service.yaml", vec![workload::service(), network::network_policy()]),
        ManifestFile::new("base/account-policy.yaml", account_policy::all()),
        ManifestFile::new("base/webhooks.yaml", vec![webhooks::mutating(), webhooks::validating()]),
    ];
    let resources: Vec<&str> = all.iter().filter_map(|f| f.path.strip_prefix("base/")).collect();
    all.push(ManifestFile::new("base/kustomization.yaml", vec![kustomization(&resources)]));
    all.extend(overlays::all());
    all.extend(controller::all(&permissions.controller));
    all.extend(controller::shadow(&permissions.shadow));
    all.extend(edge::all(&permissions.edge));
    all.extend(rest::all());
    all.extend(edge::client_certificates(&permissions.edge_with_client_certificates));
    all
}
