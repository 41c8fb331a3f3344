//! Options of the webhook.

use std::{net::SocketAddr, path::PathBuf};

use roster_engine::model::installed::{LEASE, SECRET, SERVICE};

use super::{FailureMode, WebhookLimits};
use crate::{
    kube_api::ClusterChoice,
    runtime::certificates::{CertificateLifetimes, SelfSignedOptions},
};

/// Options of the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookOptions {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Listen on another port if this one is taken: the address is only a default.
    pub any_port: bool,
    /// The source of its certificate.
    pub certificates: CertificateSource,
    /// A PEM file: CAs whose clients may connect. `None`: every client may.
    pub client_ca: Option<PathBuf>,
    /// The cluster that the rules ask about.
    pub cluster: Option<ClusterOptions>,
    /// A YAML or JSON file with policies, besides those of the cluster. Read again when it changes.
    pub policy: Option<PathBuf>,
    /// The answer of the validating webhook to a review that it could not check in time.
    pub failure_mode: FailureMode,
    /// The limits of a review.
    pub limits: WebhookLimits,
}

/// The source of the webhook's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// Files that another program renews.
    Files {
        /// A PEM file: the certificate, and those between it and its CA.
        certificate: PathBuf,
        /// A PEM file: its key.
        key: PathBuf,
    },
    /// Issued by Roster, and shared with other replicas in a Secret of the cluster.
    SelfSigned(SelfSignedOptions),
    /// Issued by Roster for these names, and not stored.
    InMemory(Vec<String>),
}

/// The cluster of the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterOptions {
    /// Which one it is.
    pub cluster: ClusterChoice,
    /// The name of the webhook configurations that call Roster. Their caBundles are compared with the certificate, and
    /// written if Roster issues it.
    pub configuration: String,
}

/// Certificates for the webhook's Service in `namespace`, and for `more` names.
pub fn self_signed(
    namespace: &str,
    identity: &str,
    more: &[String],
    lifetimes: CertificateLifetimes,
) -> SelfSignedOptions {
    let service = format!("{SERVICE}.{namespace}.svc");
    let mut names = vec![service.clone(), format!("{service}.cluster.local")];
    names.extend(more.iter().cloned());
    SelfSignedOptions {
        namespace: namespace.to_owned(),
        secret: SECRET.to_owned(),
        lease: LEASE.to_owned(),
        identity: identity.to_owned(),
        names,
        life: lifetimes,
    }
}
