//! Takes one Service after the other from the queue: plan, write, and say how it ended.

use std::sync::Arc;

use roster_engine::state::Plan;

use super::{
    applier::{Applier, ApplyError},
    cluster_copy::ClusterCopy,
    queue::{DueService, MANY_FAILURES, SyncEnd},
    trigger_times::SeenTimes,
};
use crate::runtime::aside::aside;

/// Pods of a Service whose plan takes so long that other tasks of the thread should not wait for it.
const MANY_PODS: usize = 500;

/// Syncs Services, forever.
pub(super) async fn work(copy: Arc<ClusterCopy>, applier: Arc<Applier>) {
    loop {
        let due = copy.next().await;
        let (errors, seen) = sync(&copy, &applier, &due).await;
        let end = end(&due, &errors);
        copy.end(&due, end, seen);
    }
}

async fn sync(copy: &ClusterCopy, applier: &Applier, due: &DueService) -> (Vec<ApplyError>, Option<SeenTimes>) {
    if copy.is_doubted(&due.key)
        && let Err(error) = applier.read(&due.key).await
    {
        return (vec![error], None);
    }
    let input = copy.input(&due.key);
    let make = || input.plan(copy.controllers(), copy.plan(), due.cause);
    let (plan, seen) = if input.pods.len() > MANY_PODS { aside(make) } else { make() };
    let Plan { errors, .. } = &plan;
    for error in errors {
        tracing::debug!(namespace = %due.key.namespace, service = %due.key.name, error, "the plan is not complete");
    }
    (applier.apply(&due.key, &input, plan).await, seen)
}

/// The end of a sync with these errors, which are logged.
fn end(due: &DueService, errors: &[ApplyError]) -> SyncEnd {
    let (namespace, service) = (&due.key.namespace, &due.key.name);
    for error in errors {
        if due.failures == 0 || due.failures == MANY_FAILURES {
            tracing::warn!(%namespace, %service, failures = due.failures + 1, %error, "a write has failed");
        } else {
            tracing::debug!(%namespace, %service, failures = due.failures + 1, %error, "a write has failed again");
        }
    }
    if errors.is_empty() { SyncEnd::Settled } else { SyncEnd::Failed(errors.iter().filter_map(|e| e.wait).max()) }
}
