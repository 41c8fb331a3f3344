//! The cluster behind the webhook, in a build that knows none.

use std::sync::Arc;

use anyhow::bail;
use tokio::task::JoinSet;

use super::{ClusterOptions, ready::Readiness};
use crate::{
    admission::Knowledge,
    certs::Own,
    tls::{Clock, Served},
};

#[expect(clippy::unused_async, reason = "the same as with clusters")]
pub(super) async fn start(
    _: &ClusterOptions,
    _: Option<Own>,
    _: &Arc<Served>,
    _: &Clock,
    _: &mut Readiness,
    _: &mut JoinSet<anyhow::Error>,
) -> anyhow::Result<Arc<dyn Knowledge>> {
    bail!("this build knows no clusters: it lacks the feature `controller`")
}
