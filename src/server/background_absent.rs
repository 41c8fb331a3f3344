//! What keeps the webhook up to date, in a build without clusters: its certificate.

use std::sync::Arc;

use anyhow::{Context, bail};
use tokio::task::JoinSet;

use super::{Certificates, ServeOptions, WebhookOptions, ready::Readiness};
use crate::{
    admission::{Knowledge, Nothing},
    tls::{self, Served},
};

pub(super) async fn start(
    options: &ServeOptions,
    webhook: &WebhookOptions,
    served: &Arc<Served>,
    _: &mut Readiness,
    tasks: &mut JoinSet<anyhow::Error>,
) -> anyhow::Result<Arc<dyn Knowledge>> {
    if options.cluster.is_some() {
        bail!("this build knows no clusters: it lacks the feature `controller`");
    }
    let Certificates::Files(files) = &webhook.certificates;
    let pair = files.read().await.context("the certificate")?;
    served.replace(&pair)?;
    let watch = tls::watch(files.clone(), Some(pair), served.clone());
    tasks.spawn(async move {
        watch.await;
        anyhow::anyhow!("the watch of the certificate ended")
    });
    Ok(Arc::new(Nothing))
}
