//! Takes one Service after the other from the queue: plan, write, and say how it ended.

use std::{panic::AssertUnwindSafe, pin::pin, sync::Arc};

use futures::FutureExt;
use tokio::time::{Instant, sleep};

use super::{
    applier::Applier,
    apply_error::{ApplyError, Failure},
    cluster_copy::ClusterCopy,
    event_sender::Events,
    metrics::{ControllerMetrics, EndedSync, SyncVerdict},
    queue::{DueService, MANY_FAILURES, ServiceKey, SyncEnd, unanswered_pause},
    shadow::Shadow,
    sync_records::SyncResult,
    trigger_times::SeenTimes,
};
use crate::runtime::telemetry::traces::{Span, Tracer};

/// A Service that was taken from the queue. If its sync is dropped, it is due again: nobody knows what became of its writes.
struct Taken<'a> {
    copy: &'a ClusterCopy,
    due: DueService,
    began: Instant,
    has_ended: bool,
}

/// What a sync has done.
#[derive(Default)]
struct Synced {
    errors: Vec<ApplyError>,
    seen: Option<SeenTimes>,
    /// `None`: there was no plan to carry out, for a Service that the controller serves.
    result: Option<SyncResult>,
}

impl Synced {
    fn without_plan(errors: Vec<ApplyError>, copy: &ClusterCopy, due: &DueService) -> Self {
        let result = copy.is_elsewhere(&due.key).then(|| SyncResult::default().elsewhere());
        Self { errors, result, ..Self::default() }
    }
}

impl<'a> Taken<'a> {
    fn new(copy: &'a ClusterCopy, due: DueService) -> Self {
        Self { copy, due, began: Instant::now(), has_ended: false }
    }

    fn end(mut self, end: SyncEnd, seen: Option<SeenTimes>) {
        self.has_ended = true;
        self.copy.end(&self.due, end, seen);
    }

    /// Ends with what a sync did, which is recorded and counted.
    fn end_with(self, synced: Synced, metrics: &ControllerMetrics, span: &Span) -> SyncEnd {
        let Synced { errors, seen, result } = synced;
        let (now, due) = (Instant::now(), &self.due);
        let took = now.duration_since(self.began);
        let ended = EndedSync {
            due,
            result: result.unwrap_or_default(),
            verdict: verdict(&errors),
            took,
            since_change: now.saturating_duration_since(due.seen),
        };
        metrics.ended(&ended, self.copy.controllers());
        span.set("roster.result", ended.verdict.name());
        span.set("roster.writes", ended.result.writes);
        if ended.verdict == SyncVerdict::Error {
            span.fail();
        }
        let end = end(due, &errors, span);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        self.copy.record(due, result, &texts, took);
        self.end(end, seen);
        end
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
    Compare(Arc<Shadow>),
}

/// Syncs Services, one after the other, until `stop`.
pub(super) async fn work(
    copy: Arc<ClusterCopy>,
    duty: Duty,
    applier: Arc<Applier>,
    events: Events,
    metrics: ControllerMetrics,
    tracer: Tracer,
    stop: impl Future<Output = ()>,
) {
    let mut stop = pin!(stop);
    let mut unanswered = 0;
    loop {
        let next = async {
            // While nobody answers, what is due would be as many requests in vain.
            if unanswered > 0 {
                sleep(unanswered_pause(unanswered)).await;
            }
            copy.next().await
        };
        let due = tokio::select! {
            biased;
            () = &mut stop => return,
            due = next => due,
        };
        let taken = Taken::new(&copy, due);
        let span = tracer.work("sync");
        describe(&span, &taken.due);
        // A plan that panics must not keep the other Services from being synced.
        let synced = async {
            match &duty {
                Duty::Keep => sync(&copy, &applier, &events, &taken.due, &span).await,
                Duty::Compare(shadow) => {
                    let errors = shadow.look(&copy, &applier, &events, &taken.due).await;
                    Synced::without_plan(errors, &copy, &taken.due)
                }
            }
        };
        if let Ok(synced) = AssertUnwindSafe(synced).catch_unwind().await {
            let end = taken.end_with(synced, &metrics, &span);
            unanswered = if end == SyncEnd::Unanswered { unanswered + 1 } else { 0 };
        } else {
            let ServiceKey { namespace, name } = &taken.due.key;
            span.fail();
            tracing::error!(trace_id = span.trace_id(), %namespace, service = %name, "the sync of a Service has panicked");
            taken.end(SyncEnd::Failed(None), None);
        }
    }
}

/// Says in a span which Service is synced, and why.
fn describe(span: &Span, due: &DueService) {
    span.set("k8s.namespace.name", &*due.key.namespace);
    span.set("roster.service", &*due.key.name);
    span.set("roster.origin", due.origin.name());
}

async fn sync(copy: &ClusterCopy, applier: &Applier, events: &Events, due: &DueService, span: &Span) -> Synced {
    if copy.is_doubted(&due.key)
        && let Err(error) = applier.read(&due.key).await
    {
        return Synced::without_plan(vec![error], copy, due);
    }
    let input = copy.input(&due.key);
    let planned = span.child("plan");
    let (mut plan, seen) = input.aside_if_large(|| copy.plan_of(&input, due.cause));
    drop(planned);
    events.say_planned(std::mem::take(&mut plan.events), &due.key, &input, copy.profile());
    // A pod whose node is missing, say. The plan depends on the copy alone, so that only a change of it helps: to plan again after
    // a pause would be in vain, and the pause would keep other changes of the Service from being served.
    for error in std::mem::take(&mut plan.errors) {
        let ServiceKey { namespace, name } = &due.key;
        tracing::info!(trace_id = span.trace_id(), %namespace, service = %name, error, "a plan leaves something out");
    }
    let mut result = copy.result_of(&input, &plan);
    let written = span.child("write");
    let errors;
    (errors, result.writes) = applier.apply(&due.key, &input, plan).await;
    drop(written);
    for event in errors.iter().filter_map(ApplyError::event) {
        events.say(event, &input);
    }
    Synced { errors, seen, result: Some(result) }
}

fn verdict(errors: &[ApplyError]) -> SyncVerdict {
    if errors.is_empty() {
        SyncVerdict::Success
    } else if errors.iter().all(|error| matches!(error.failure, Failure::Late)) {
        SyncVerdict::Stale
    } else {
        SyncVerdict::Error
    }
}

/// The end of a sync with these errors, which are logged: the first time, and when the reference would give up.
fn end(due: &DueService, errors: &[ApplyError], span: &Span) -> SyncEnd {
    let trace_id = span.trace_id();
    let (namespace, service, failures) = (&due.key.namespace, &due.key.name, due.failures + 1);
    for error in errors {
        if due.failures == 0 || due.failures == MANY_FAILURES {
            tracing::warn!(trace_id, %namespace, %service, failures, %error, "a write has failed");
        } else {
            tracing::debug!(trace_id, %namespace, %service, failures, %error, "a write has failed again");
        }
    }
    if errors.is_empty() {
        SyncEnd::Settled
    } else if errors.iter().all(ApplyError::is_unanswered) {
        SyncEnd::Unanswered
    } else {
        SyncEnd::Failed(errors.iter().filter_map(ApplyError::wait).max())
    }
}
