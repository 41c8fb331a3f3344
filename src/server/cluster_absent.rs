//! The cluster behind the webhook, in a build that knows none.

use std::sync::Arc;

use anyhow::bail;
use tokio::task::JoinSet;

use super::{ClusterOptions, ready::Readiness};
use crate::{
    cache::Store,
    certs::Own,
    tls::{Clock, Served},
    webhook::InForce,
};

#[expect(clippy::unused_async, reason = "the same as with clusters")]
pub(super) async fn start(
    _: &ClusterOptions,
    _: Option<Own>,
    _: &Arc<Served>,
    _: &Clock,
    _: &mut Readiness,
    _: &mut JoinSet<anyhow::Error>,
) -> anyhow::Result<(Arc<Store>, Arc<InForce>)> {
    bail!("this build knows no clusters: it lacks the feature `controller`")
}
