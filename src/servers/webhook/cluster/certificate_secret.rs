//! The Secret in which replicas share the CA and the certificate.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::Client;
use roster_engine::model::Resource;
use roster_engine::model::installed::{CERTS_MANAGER, NAME};

use crate::{
    kube_api::{WriteError, WriteOutcome, Writer},
    runtime::certificates::Material,
};

/// The annotation of a Secret that Roster writes. It never writes to a Secret of cert-manager or of a person.
const OURS: &str = "roster.dev/self-signed";

/// Why the Secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum SecretError {
    #[error(
        "Roster did not write the data of the Secret {0}: remove the Secret, or serve its certificate with --tls-cert-file"
    )]
    Foreign(String),
    #[error("the Secret {0}: {1}")]
    Request(String, #[source] WriteError),
}

/// The content of the Secret, and its version.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredMaterial {
    pub(super) material: Material,
    version: Option<String>,
}

pub(super) struct CertificateSecret {
    writer: Writer<Secret>,
    name: String,
}

impl CertificateSecret {
    pub(super) fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self { writer: Writer::new(client, Resource::Secret, Some(namespace), CERTS_MANAGER), name: name.to_owned() }
    }

    /// The content of the Secret; `None` if there is no Secret.
    pub(super) async fn read(&self) -> Result<Option<StoredMaterial>, SecretError> {
        let secret = self.writer.read(&self.name).await.map_err(|e| self.failed(e))?;
        let Some(secret) = secret else { return Ok(None) };
        open(secret).ok_or_else(|| SecretError::Foreign(self.name.clone())).map(Some)
    }

    /// Replaces what was read. `false`: it is not there any more, as another replica was quicker.
    pub(super) async fn write(&self, material: &Material, found: Option<&StoredMaterial>) -> Result<bool, SecretError> {
        let secret = close(&self.name, material, found.and_then(|f| f.version.clone()));
        let written = match found {
            Some(_) => self.writer.replace(&self.name, &secret).await,
            None => self.writer.create(&secret).await,
        };
        Ok(matches!(written.map_err(|e| self.failed(e))?, WriteOutcome::Done(_)))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn failed(&self, error: WriteError) -> SecretError {
        SecretError::Request(self.name.clone(), error)
    }
}

/// `None` if Roster did not write it.
fn open(secret: Secret) -> Option<StoredMaterial> {
    let ours = secret.metadata.annotations.is_some_and(|a| a.contains_key(OURS));
    let data = secret.data.unwrap_or_default();
    let filled = data.values().any(|v| !v.0.is_empty());
    if filled && !ours {
        return None;
    }
    let text = |key: &str| data.get(key).map(|v| String::from_utf8_lossy(&v.0).into_owned()).unwrap_or_default();
    let material =
        Material { bundle: text("ca.crt"), ca_key: text("ca.key"), certificate: text("tls.crt"), key: text("tls.key") };
    Some(StoredMaterial { material, version: secret.metadata.resource_version })
}

fn close(name: &str, material: &Material, version: Option<String>) -> Secret {
    let data = [
        ("ca.crt", &material.bundle),
        ("ca.key", &material.ca_key),
        ("tls.crt", &material.certificate),
        ("tls.key", &material.key),
    ];
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            resource_version: version,
            labels: Some(BTreeMap::from([("app.kubernetes.io/name".to_owned(), NAME.to_owned())])),
            annotations: Some(BTreeMap::from([(OURS.to_owned(), "true".to_owned())])),
            ..ObjectMeta::default()
        },
        type_: Some("kubernetes.io/tls".to_owned()),
        data: Some(data.map(|(k, v)| (k.to_owned(), ByteString(v.clone().into_bytes()))).into()),
        ..Secret::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_secret_that_roster_wrote_or_an_empty_one_is_read() {
        let text = |s: &str| s.to_owned();
        let material = Material { bundle: text("a"), ca_key: text("b"), certificate: text("c"), key: text("d") };
        let mut secret = close("s", &material, None);
        assert_eq!(open(secret.clone()).map(|f| f.material), Some(material));
        secret.metadata.annotations = None;
        assert!(open(secret.clone()).is_none());
        // An empty Secret, made for Roster to fill.
        secret.data = None;
        assert_eq!(open(secret).map(|f| f.material), Some(Material::default()));
    }
}
