//! Takes one Service after the other from the queue: plan, write, and say how it ended.

use std::{panic::AssertUnwindSafe, pin::pin, sync::Arc};

use futures::FutureExt;
use kube::Client;

use super::{
    applier::Applier,
    apply_error::ApplyError,
    cluster_copy::ClusterCopy,
    event_sender::Events,
    queue::{DueService, MANY_FAILURES, ServiceKey, SyncEnd},
    shadow::Shadow,
    trigger_times::SeenTimes,
};
use crate::runtime::aside::aside;

/// A Service that was taken from the queue. If its sync is dropped, it is due again: nobody knows what became of its writes.
struct Taken<'a> {
    copy: &'a ClusterCopy,
    due: DueService,
    has_ended: bool,
}

impl<'a> Taken<'a> {
    fn new(copy: &'a ClusterCopy, due: DueService) -> Self {
        Self { copy, due, has_ended: false }
    }

    fn end(mut self, end: SyncEnd, seen: Option<SeenTimes>) {
        self.has_ended = true;
        self.copy.end(&self.due, end, seen);
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.copy.doubt(&self.due.key);
            self.copy.end(&self.due, SyncEnd::Interrupted, None);
        }
    }
}

/// What a worker does with a Service.
#[derive(Clone)]
pub(super) enum Duty {
    /// It writes what the plan says.
    Keep,
    /// It compares.
    Compare(Arc<Shadow>, Client),
}

/// Syncs Services, one after the other, until `stop`.
pub(super) async fn work(
    copy: Arc<ClusterCopy>,
    duty: Duty,
    applier: Arc<Applier>,
    events: Events,
    stop: impl Future<Output = ()>,
) {
    let mut stop = pin!(stop);
    loop {
        let due = tokio::select! {
            biased;
            () = &mut stop => return,
            due = copy.next() => due,
        };
        let taken = Taken::new(&copy, due);
        // A plan that panics must not keep the other Services from being synced.
        let synced = async {
            match &duty {
                Duty::Keep => sync(&copy, &applier, &events, &taken.due).await,
                Duty::Compare(shadow, client) => {
                    (shadow.look(client, &copy, &applier, &events, &taken.due).await, None)
                }
            }
        };
        if let Ok((errors, seen)) = AssertUnwindSafe(synced).catch_unwind().await {
            let end = end(&taken.due, &errors);
            taken.end(end, seen);
        } else {
            let ServiceKey { namespace, name } = &taken.due.key;
            tracing::error!(%namespace, service = %name, "the sync of a Service has panicked");
            taken.end(SyncEnd::Failed(None), None);
        }
    }
}

async fn sync(
    copy: &ClusterCopy,
    applier: &Applier,
    events: &Events,
    due: &DueService,
) -> (Vec<ApplyError>, Option<SeenTimes>) {
    if copy.is_doubted(&due.key)
        && let Err(error) = applier.read(&due.key).await
    {
        return (vec![error], None);
    }
    let input = copy.input(&due.key);
    let make = || copy.plan_of(&input, due.cause);
    let (mut plan, seen) = if input.is_large() { aside(make) } else { make() };
    events.say_planned(std::mem::take(&mut plan.events), &due.key, &input, copy.profile());
    // A pod whose node is missing, say. The plan depends on the copy alone, so that only a change of it helps: to plan again after
    // a pause would be in vain, and the pause would keep other changes of the Service from being served.
    for error in std::mem::take(&mut plan.errors) {
        let ServiceKey { namespace, name } = &due.key;
        tracing::info!(%namespace, service = %name, error, "a plan leaves something out");
    }
    let errors = applier.apply(&due.key, &input, plan).await;
    for event in errors.iter().filter_map(ApplyError::event) {
        events.say(event, &input);
    }
    (errors, seen)
}

/// The end of a sync with these errors, which are logged: the first time, and when the reference would give up.
fn end(due: &DueService, errors: &[ApplyError]) -> SyncEnd {
    let (namespace, service, failures) = (&due.key.namespace, &due.key.name, due.failures + 1);
    for error in errors {
        if due.failures == 0 || due.failures == MANY_FAILURES {
            tracing::warn!(%namespace, %service, failures, %error, "a write has failed");
        } else {
            tracing::debug!(%namespace, %service, failures, %error, "a write has failed again");
        }
    }
    if errors.is_empty() { SyncEnd::Settled } else { SyncEnd::Failed(errors.iter().filter_map(ApplyError::wait).max()) }
}
