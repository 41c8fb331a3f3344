//! What keeps the webhook up to date: its certificate, and its copy of the cluster.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use tokio::task::JoinSet;

use super::{Certificates, ServeOptions, WebhookOptions, cluster, ready::Readiness};
use crate::{
    admission::{Knowledge, Nothing},
    certs::{Life, in_memory},
    tls::{Files, Served},
};

/// What the webhook is built from.
pub(super) struct Started {
    pub(super) knowledge: Arc<dyn Knowledge>,
    /// The CA of a certificate in memory.
    pub(super) dev_bundle: Option<String>,
}

/// Starts all of it; the tasks run until they are dropped, and one that ends is an error.
pub(super) async fn start(
    options: &ServeOptions,
    webhook: &WebhookOptions,
    served: &Arc<Served>,
    readiness: &mut Readiness,
    tasks: &mut JoinSet<anyhow::Error>,
) -> anyhow::Result<Started> {
    if let Some(path) = &webhook.client_ca {
        let files = Files::ClientCa(path.clone()).serve(served.clone()).await.context("the client CA")?;
        endless(tasks, files, "the watch of the client CA");
    }
    let (mut own, mut dev_bundle) = (None, None);
    match &webhook.certificates {
        Certificates::Files { certificate, key } => {
            let files = Files::Pair { certificate: certificate.clone(), key: key.clone() };
            let watch = files.serve(served.clone()).await.context("the certificate")?;
            endless(tasks, watch, "the watch of the certificate");
        }
        Certificates::SelfSigned(wanted) => own = Some(wanted.clone()),
        Certificates::InMemory(names) => {
            let (first, renew) = in_memory(served.clone(), options.clock.clone(), names.clone(), Life::default())?;
            dev_bundle = Some(first.bundle);
            tasks.spawn(async move { renew.await.into() });
        }
    }
    let knowledge = match &options.cluster {
        Some(cluster) => cluster::start(cluster, own, served, &options.clock, readiness, tasks).await?,
        None if own.is_some() => {
            return Err(anyhow!("certificates are kept in a cluster: --self-signed needs --cluster"));
        }
        None => Arc::new(Nothing),
    };
    Ok(Started { knowledge, dev_bundle })
}

/// A task that has no end; if it has one all the same, that is an error.
pub(super) fn endless(
    tasks: &mut JoinSet<anyhow::Error>,
    task: impl Future<Output = ()> + Send + 'static,
    name: &'static str,
) {
    tasks.spawn(async move {
        task.await;
        anyhow!("{name} ended")
    });
}
