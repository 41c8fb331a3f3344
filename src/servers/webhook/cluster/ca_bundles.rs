//! The `caBundle`s in the cluster, in Roster's own webhook configurations and CRD. Server-side apply writes them and no
//! other field. A metric says which of them do not verify the certificate.

use base64::{Engine, prelude::BASE64_STANDARD};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Client, core::DynamicObject};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use roster_engine::model::{Resource, installed::CERTS_MANAGER};
use serde_json::{Value, json};

use crate::kube_api::{WriteError, WriteOutcome, Writer};

/// The names of the objects by which API servers call the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallerNames {
    /// Name of both webhook configurations.
    pub(super) configuration: String,
    /// Name of the CRD.
    pub(super) crd: String,
}

/// An object with `caBundle`s, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BundleObject {
    /// Its resource.
    pub(super) kind: Resource,
    /// Its name.
    pub(super) name: String,
    /// Its uid and version. A request that arrives late changes no other version.
    pub(super) version: ObjectVersion,
    /// The client configurations in it.
    pub(super) callers: Vec<WebhookClientConfig>,
}

/// The version of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectVersion {
    uid: Option<String>,
    resource_version: Option<String>,
}

/// A client configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebhookClientConfig {
    /// The webhook's name; empty in a CRD, which has only one.
    pub(super) webhook: String,
    /// The name that the certificate must have.
    pub(super) server: String,
    /// CAs in PEM.
    pub(super) bundle: Vec<u8>,
}

/// The resources that have a `caBundle`.
const RESOURCES: [Resource; 3] = [
    Resource::MutatingWebhookConfiguration,
    Resource::ValidatingWebhookConfiguration,
    Resource::CustomResourceDefinition,
];

/// Reads and writes the `caBundle`s.
#[derive(Clone)]
pub(super) struct CaBundles {
    client: Client,
    configured: CallerNames,
}

impl CaBundles {
    /// The `caBundle`s of these objects.
    pub(super) fn new(client: Client, configured: CallerNames) -> Self {
        Self { client, configured }
    }

    /// The objects that exist.
    pub(super) async fn read(&self) -> Result<Vec<BundleObject>, WriteError> {
        let mut all = Vec::new();
        for kind in RESOURCES {
            let name = if kind == Resource::CustomResourceDefinition {
                &self.configured.crd
            } else {
                &self.configured.configuration
            };
            if let Some(object) = self.writer(kind).read(name).await? {
                let DynamicObject { metadata: ObjectMeta { uid, resource_version, .. }, data, .. } = object;
                let version = ObjectVersion { uid, resource_version };
                all.push(BundleObject { kind, name: name.clone(), version, callers: callers(kind, &data) });
            }
        }
        Ok(all)
    }

    /// Writes `bundle` into every `caBundle` of an object.
    pub(super) async fn write(
        &self,
        watched: &BundleObject,
        bundle: &str,
    ) -> Result<WriteOutcome<DynamicObject>, WriteError> {
        self.writer(watched.kind).apply(&watched.name, &apply(watched, bundle)).await
    }

    fn writer(&self, kind: Resource) -> Writer<DynamicObject> {
        Writer::new(self.client.clone(), kind, None, CERTS_MANAGER)
    }
}

impl BundleObject {
    /// Whether every `caBundle` is this one.
    pub(super) fn has(&self, bundle: &str) -> bool {
        self.callers.iter().all(|c| c.bundle == bundle.as_bytes())
    }
}

/// The client configurations of an object.
fn callers(kind: Resource, object: &Value) -> Vec<WebhookClientConfig> {
    let caller = |webhook: &str, config: &Value| WebhookClientConfig {
        webhook: webhook.to_owned(),
        server: server(config),
        bundle: config["caBundle"].as_str().and_then(|b| BASE64_STANDARD.decode(b).ok()).unwrap_or_default(),
    };
    if kind == Resource::CustomResourceDefinition {
        let conversion = &object["spec"]["conversion"];
        let config = &conversion["webhook"]["clientConfig"];
        return if conversion["strategy"] == "Webhook" { vec![caller("", config)] } else { Vec::new() };
    }
    let webhooks = object["webhooks"].as_array().map(Vec::as_slice).unwrap_or_default();
    webhooks.iter().map(|w| caller(w["name"].as_str().unwrap_or_default(), &w["clientConfig"])).collect()
}

/// The server name that an API server verifies.
fn server(config: &Value) -> String {
    if let Some(service) = config.get("service").filter(|s| s.is_object()) {
        let text = |key: &str| service[key].as_str().unwrap_or_default();
        return format!("{}.{}.svc", text("name"), text("namespace"));
    }
    let url = config["url"].as_str().unwrap_or_default();
    url.parse::<http::Uri>()
        .ok()
        .and_then(|u| u.host().map(|h| h.trim_matches(['[', ']']).to_owned()))
        .unwrap_or_default()
}

/// The object to apply: the bundle, and the keys that lead to it.
fn apply(watched: &BundleObject, bundle: &str) -> Value {
    let config = json!({ "caBundle": BASE64_STANDARD.encode(bundle) });
    let mut object = json!({
        "apiVersion": watched.kind.api_version(),
        "kind": watched.kind.kind(),
        "metadata": {
            "name": watched.name,
            "uid": watched.version.uid,
            "resourceVersion": watched.version.resource_version,
        },
    });
    if watched.kind == Resource::CustomResourceDefinition {
        object["spec"] = json!({ "conversion": { "webhook": { "clientConfig": config } } });
    } else {
        let webhooks = watched.callers.iter().map(|c| json!({ "name": c.webhook, "clientConfig": config }));
        object["webhooks"] = webhooks.collect();
    }
    object
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConfigurationLabels {
    configuration: String,
}

/// Whether the `caBundle`s of each configuration verify the certificate. A clone counts into the same metric.
#[derive(Clone, Debug, Default)]
pub(super) struct BundleMetrics {
    mismatch: Family<ConfigurationLabels, Gauge>,
}

impl BundleMetrics {
    /// Registers it.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "roster_ca_bundle_mismatch",
            "1 where the caBundle of a configuration does not verify the served certificate",
            self.mismatch.clone(),
        );
    }

    /// Sets whether a `caBundle` of the configuration does not verify the certificate.
    pub(super) fn mismatch(&self, configuration: &str, yes: bool) {
        let labels = ConfigurationLabels { configuration: configuration.to_owned() };
        self.mismatch.get_or_create(&labels).set(yes.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bundle_is_applied() {
        let found = json!({ "webhooks": [
            { "name": "a.roster.dev", "sideEffects": "None", "clientConfig": {
                "service": { "name": "roster-webhook", "namespace": "roster-system", "port": 443 } } },
            { "name": "b.roster.dev", "clientConfig": { "url": "https://[::1]:8443/validate", "caBundle": "Q0E=" } },
        ]});
        let callers = callers(Resource::ValidatingWebhookConfiguration, &found);
        let caller = |webhook: &str, server: &str, bundle: &str| WebhookClientConfig {
            webhook: webhook.to_owned(),
            server: server.to_owned(),
            bundle: bundle.as_bytes().to_vec(),
        };
        assert_eq!(
            callers,
            [caller("a.roster.dev", "roster-webhook.roster-system.svc", ""), caller("b.roster.dev", "::1", "CA")],
        );
        let version = ObjectVersion { uid: Some("u".to_owned()), resource_version: Some("7".to_owned()) };
        let kind = Resource::ValidatingWebhookConfiguration;
        let watched = BundleObject { kind, name: "roster".to_owned(), version, callers };
        assert!(!watched.has("CA"));
        assert_eq!(
            apply(&watched, "CA"),
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": { "name": "roster", "uid": "u", "resourceVersion": "7" },
                "webhooks": [
                    { "name": "a.roster.dev", "clientConfig": { "caBundle": "Q0E=" } },
                    { "name": "b.roster.dev", "clientConfig": { "caBundle": "Q0E=" } },
                ],
            }),
        );
    }

    #[test]
    fn a_crd_has_one_caller_or_none() {
        let found = |strategy: &str| {
            json!({ "spec": { "conversion": { "strategy": strategy, "webhook": { "clientConfig": {
                "service": { "name": "s", "namespace": "n" }, "caBundle": "Q0E=" } } } } })
        };
        let callers = callers(Resource::CustomResourceDefinition, &found("Webhook"));
        assert_eq!(callers.iter().map(|c| c.server.as_str()).collect::<Vec<_>>(), ["s.n.svc"]);
        let (kind, version) = (Resource::CustomResourceDefinition, ObjectVersion::default());
        let watched = BundleObject { kind, name: "p.roster.dev".to_owned(), version, callers };
        assert!(watched.has("CA"));
        assert_eq!(
            apply(&watched, "X")["spec"],
            json!({ "conversion": { "webhook": { "clientConfig": { "caBundle": "WA==" } } } })
        );
        assert!(super::callers(Resource::CustomResourceDefinition, &found("None")).is_empty());
    }
}
