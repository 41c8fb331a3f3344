//! What keeps the webhook up to date: its certificate, and its copy of the cluster.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use tokio::task::JoinSet;

use super::{Certificates, ClusterOptions, ServeOptions, WebhookOptions, ready::Readiness};
use crate::{
    admission::{Knowledge, Nothing},
    cache::{self, Store},
    live,
    tls::{self, Served},
};

/// Starts all of it; the tasks run until they are dropped, and one that ends is an error.
pub(super) async fn start(
    options: &ServeOptions,
    webhook: &WebhookOptions,
    served: &Arc<Served>,
    readiness: &mut Readiness,
    tasks: &mut JoinSet<anyhow::Error>,
) -> anyhow::Result<Arc<dyn Knowledge>> {
    match &webhook.certificates {
        Certificates::Files(files) => {
            let pair = files.read().await.context("the certificate")?;
            served.replace(&pair)?;
            let watch = tls::watch(files.clone(), Some(pair), served.clone());
            tasks.spawn(async move {
                watch.await;
                anyhow::anyhow!("the watch of the certificate ended")
            });
        }
    }
    let Some(cluster) = &options.cluster else { return Ok(Arc::new(Nothing)) };
    let client = connect(cluster).await?;
    let store = Arc::new(Store::new());
    let filled = store.clone();
    readiness.add("cache", move || {
        if filled.synced() { Ok(()) } else { Err("the copy of the cluster is not complete yet".to_owned()) }
    });
    let kept = store.clone();
    tasks.spawn(async move {
        match cache::run(client, kept).await {
            Ok(()) => anyhow::anyhow!("the watches ended"),
            Err(error) => error.into(),
        }
    });
    Ok(store)
}

async fn connect(cluster: &ClusterOptions) -> anyhow::Result<kube::Client> {
    let mut config = live::config(cluster.context.as_deref(), cluster.kubeconfig.as_deref()).await?;
    // Watches are read for minutes: only connecting has a limit of its own here.
    config.connect_timeout = Some(Duration::from_secs(10));
    let address = config.cluster_url.to_string();
    kube::Client::try_from(config).with_context(|| format!("the client of {address}"))
}
