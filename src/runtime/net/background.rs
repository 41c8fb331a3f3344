//! What keeps the webhook up to date: its certificate, and its copy of the cluster.

use std::sync::Arc;

use anyhow::anyhow;

use super::{Certificates, ServeOptions, Tasks, WebhookOptions, policies, ready::Readiness};
use crate::{
    admission::{Knowledge, Nothing},
    runtime::{
        certificates::{Life, in_memory},
        telemetry::metrics::CacheMetrics,
        tls::{Files, Served},
    },
    servers::webhook::{InForce, cluster},
};

/// What the webhook is built from.
pub(super) struct Started {
    pub(super) knowledge: Arc<dyn Knowledge>,
    pub(super) policies: Arc<InForce>,
    /// The CA of a certificate in memory.
    pub(super) dev_bundle: Option<String>,
}

/// Starts all of it; the tasks run until they are dropped, and one that ends is an error.
pub(super) async fn start(
    options: &ServeOptions,
    webhook: &WebhookOptions,
    served: &Arc<Served>,
    copy: &CacheMetrics,
    readiness: &mut Readiness,
    tasks: &mut Tasks,
) -> anyhow::Result<Started> {
    if let Some(path) = &webhook.client_ca {
        let files = Files::ClientCa(path.clone()).serve(served.clone()).await?;
        tasks.endless("the watch of the client CA", files);
    }
    let (mut own, mut dev_bundle) = (None, None);
    match &webhook.certificates {
        Certificates::Files { certificate, key } => {
            let files = Files::Pair { certificate: certificate.clone(), key: key.clone() };
            let watch = files.serve(served.clone()).await?;
            tasks.endless("the watch of the certificate", watch);
        }
        Certificates::SelfSigned(wanted) => own = Some(wanted.clone()),
        Certificates::InMemory(names) => {
            let (first, renew) = in_memory(served.clone(), options.clock.clone(), names.clone(), Life::default())?;
            dev_bundle = Some(first.bundle);
            tasks.spawn(async move { renew.await.into() });
        }
    }
    let (knowledge, in_force): (Arc<dyn Knowledge>, _) = match &options.cluster {
        Some(cluster) => {
            let (store, policies) =
                cluster::start(cluster, own, served, &options.clock, copy, readiness, tasks).await?;
            (store, policies)
        }
        None if own.is_some() => {
            return Err(anyhow!("certificates are kept in a cluster: --self-signed needs --cluster"));
        }
        None => (Arc::new(Nothing), Arc::new(InForce::default())),
    };
    if let Some(path) = &webhook.policy {
        let kept = policies::of_file(path, &in_force).await?;
        tasks.endless("the watch of the file of policies", kept);
    }
    Ok(Started { knowledge, policies: in_force, dev_bundle })
}
