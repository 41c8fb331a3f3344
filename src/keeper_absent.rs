//! What keeps the webhook in touch with its cluster, in a build that knows none.

use std::sync::Arc;

use anyhow::bail;

use crate::{
    cache::Store,
    certs::Own,
    server::{ClusterOptions, Readiness, Tasks},
    telemetry::metrics::CacheMetrics,
    tls::{Clock, Served},
    webhook::InForce,
};

#[expect(clippy::unused_async, reason = "the same as with clusters")]
pub(crate) async fn start(
    _: &ClusterOptions,
    _: Option<Own>,
    _: &Arc<Served>,
    _: &Clock,
    _: &CacheMetrics,
    _: &mut Readiness,
    _: &mut Tasks,
) -> anyhow::Result<(Arc<Store>, Arc<InForce>)> {
    bail!("this build knows no clusters: it lacks the feature `controller`")
}
