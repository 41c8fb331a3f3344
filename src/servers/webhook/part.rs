//! The webhook as a part of a server: its certificate, its copy of the cluster, its policies and its routes.

use std::{sync::Arc, time::Duration};

use anyhow::anyhow;
use roster_admission::{Knowledge, Nothing};
use roster_manifests::inventory::Answers;

use super::{
    ActivePolicies, AdmissionMetrics, CertificateSource, Webhook, WebhookOptions, app::LISTENER, cluster,
    cluster::CopyMetrics, policy_file, router,
};
use crate::runtime::{
    certificates::{CertificateLifetimes, in_memory},
    clock::Clock,
    net::{Health, Readiness, ServerPart, Tasks, TlsOptions},
    status_error::StatusError,
    telemetry::traces::CallerSampling,
    tls::{CertificateFiles, ClientCaFile, TlsNames},
};

/// How long a connection without a request yet may still send its first one after the stop. An API server that has
/// just connected sends at once.
const FIRST_REQUEST_GRACE: Duration = Duration::from_secs(1);

/// The names of the listener.
pub(super) const TLS: TlsNames = TlsNames {
    listener: "the webhook",
    connections: "roster_webhook_connections",
    reloads: "roster_certificate_reloads",
    handshake_errors: "roster_tls_handshake_errors",
    expiration: "roster_certificate_expiration_seconds",
    certificate_check: "certificate",
    handshake_check: "tls",
};

/// The webhook as a part of a server.
pub struct WebhookPart {
    /// The part.
    pub part: ServerPart,
    /// The CA of a certificate that is not stored, in PEM.
    pub in_memory_ca: Option<String>,
}

/// Loads what the webhook needs, and starts the tasks that keep it up to date. A task that ends is an error.
pub async fn part(options: &WebhookOptions, clock: &Clock, health: &Health) -> anyhow::Result<WebhookPart> {
    let (admission, copy) = (AdmissionMetrics::default(), CopyMetrics::default());
    health.metrics.register(|registry| {
        admission.register(registry);
        copy.register(registry);
    });
    let (mut readiness, mut tasks) = (Readiness::default(), Tasks::default());
    let tls = TlsOptions::registered(&TLS, clock, health);
    if let Some(path) = options.client_ca.clone() {
        tls.load(CertificateFiles::ClientCa(ClientCaFile::Required(path)), &mut tasks).await?;
    }
    let in_memory_ca = load_certificate(options, &tls, clock, &mut tasks).await?;
    let (knowledge, policies): (Arc<dyn Knowledge>, _) = match &options.cluster {
        Some(cluster) => {
            let self_signed = match &options.certificates {
                CertificateSource::SelfSigned(options) => Some(options.clone()),
                _ => None,
            };
            let (store, policies) =
                cluster::start(cluster, self_signed, &tls.certificate, clock, &copy, &mut readiness, &mut tasks)
                    .await?;
            (Arc::new(Answers(store)), policies)
        }
        None if matches!(options.certificates, CertificateSource::SelfSigned(_)) => {
            return Err(anyhow!("--self-signed needs --cluster: the certificate is stored in a Secret"));
        }
        None => (Arc::new(Nothing), Arc::new(ActivePolicies::default())),
    };
    if let Some(path) = &options.policy {
        let watch = policy_file::serve(path, &policies).await?;
        tasks.endless("the watch of the policy file", watch);
    }
    let webhook = Webhook::new(knowledge, policies, admission, options.limits.clone(), options.failure_mode, health);
    let first_request_grace = FIRST_REQUEST_GRACE;
    let part = ServerPart {
        no_place: StatusError::no_place,
        tls: Some(tls),
        first_request_grace,
        sampling: CallerSampling::Decides,
        readiness,
        tasks,
        ..ServerPart::new(LISTENER, router(webhook))
    };
    Ok(WebhookPart { part, in_memory_ca })
}

/// Loads the certificate, unless it is in the cluster. Returns the CA of one that is not stored.
async fn load_certificate(
    options: &WebhookOptions,
    tls: &TlsOptions,
    clock: &Clock,
    tasks: &mut Tasks,
) -> anyhow::Result<Option<String>> {
    match &options.certificates {
        CertificateSource::Files { certificate, key } => {
            let files = CertificateFiles::KeyPair { certificate: certificate.clone(), key: key.clone() };
            tls.load(files, tasks).await?;
            Ok(None)
        }
        CertificateSource::SelfSigned(_) => Ok(None),
        CertificateSource::InMemory(names) => {
            let lifetimes = CertificateLifetimes::default();
            let (first, renewal) = in_memory(tls.certificate.clone(), clock.clone(), names.clone(), lifetimes)?;
            tasks.spawn(async move { renewal.await.into() });
            Ok(Some(first.bundle))
        }
    }
}
