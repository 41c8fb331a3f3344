//! A review from its request to its answer.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    FailureMode, Webhook,
    body::{self, Received},
    deadline::Deadline,
    status::{Refusal, json},
};
use crate::{
    admission::{self, Decision, EnvelopeError, Kind, Request as Review, ReviewVersion, Stage},
    telemetry::metrics::Reviewed,
};

/// Reviews up to this size are decided where they are read: that takes about a millisecond at most.
const SMALL: usize = 256 << 10;

/// The copy of the cluster is a moment behind: who creates a Service, a pod or a namespace, and at once an object that
/// depends on it, is not refused for that, nor judged as if the namespace had no labels. So long after the first look
/// there is a second one.
const MOMENT: Duration = Duration::from_millis(250);

const LATE: &str = "too little time was left to look at the object";
const BUSY: &str = "too many large reviews wait already";
const FAILED: &str = "a bug in a rule: the object was not looked at";

/// Mends an object.
pub(super) async fn mutate(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    review(webhook, Stage::Mutate, request).await.unwrap_or_else(Refusal::into_response)
}

/// Judges an object.
pub(super) async fn validate(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    review(webhook, Stage::Validate, request).await.unwrap_or_else(Refusal::into_response)
}

async fn review(webhook: Arc<Webhook>, stage: Stage, request: Request) -> Result<Response, Refusal> {
    let began = Instant::now();
    let _in_flight = webhook.metrics.begin();
    let deadline = Deadline::of(request.uri().query(), began, webhook.limits.request);
    body::check(request.headers())?;
    let received = body::receive(request.into_body(), webhook.limits.review, &webhook.room, deadline).await?;
    let answer = match received.bytes.len() {
        ..=SMALL => small(&webhook, stage, &received.bytes, began, deadline).await,
        _ => large(webhook, stage, received, began, deadline).await,
    };
    answer.map(json)
}

/// Decides at once, or after a second look.
async fn small(
    webhook: &Webhook,
    stage: Stage,
    body: &[u8],
    began: Instant,
    deadline: Deadline,
) -> Result<Vec<u8>, Refusal> {
    let (now, latest) = (Instant::now(), deadline.latest_begin(body.len()));
    if now > latest {
        return webhook.answer(stage, body, began, |_| webhook.shed(stage, LATE));
    }
    let (version, request) = match admission::read(body) {
        Ok(read) => read,
        Err(error) => return webhook.unreadable(stage, &error),
    };
    let again = now + MOMENT <= latest;
    let first = (!again || webhook.knows(&request)).then(|| webhook.decide(stage, &request));
    let decision = match first {
        Some(decision) if !(again && decision.may_be_early()) => decision,
        _ => {
            sleep(MOMENT).await;
            webhook.decide(stage, &request)
        }
    };
    Ok(webhook.answered(stage, version, &request, &decision, began))
}

/// Takes its turn, and a thread of its own.
async fn large(
    webhook: Arc<Webhook>,
    stage: Stage,
    received: Received,
    began: Instant,
    deadline: Deadline,
) -> Result<Vec<u8>, Refusal> {
    let bytes: &Bytes = &received.bytes;
    let Ok(place) = webhook.large.queue.clone().try_acquire_owned() else {
        return webhook.answer(stage, bytes, began, |_| webhook.shed(stage, BUSY));
    };
    let turn = timeout_at(deadline.latest_begin(bytes.len()), webhook.large.turns.clone().acquire_owned()).await;
    let Ok(Ok(turn)) = turn else { return webhook.answer(stage, bytes, began, |_| webhook.shed(stage, LATE)) };
    let decided = tokio::task::spawn_blocking(move || {
        let _held = (place, turn);
        webhook.answer(stage, &received.bytes, began, |request| webhook.decide(stage, request))
    });
    // Only a shutdown of the runtime cancels it.
    decided.await.unwrap_or_else(|_| Err(Refusal::unreadable("the server stops")))
}

impl Webhook {
    /// The answer to the review in `body`, as `decide` has it.
    fn answer(
        &self,
        stage: Stage,
        body: &[u8],
        began: Instant,
        decide: impl FnOnce(&Review<'_>) -> Decision,
    ) -> Result<Vec<u8>, Refusal> {
        match admission::read(body) {
            Ok((version, request)) => Ok(self.answered(stage, version, &request, &decide(&request), began)),
            Err(error) => self.unreadable(stage, &error),
        }
    }

    /// Whether nothing is missing that the policies ask of the cluster.
    fn knows(&self, request: &Review<'_>) -> bool {
        Kind::of(request).is_none() || self.policies.know(request)
    }

    fn decide(&self, stage: Stage, request: &Review<'_>) -> Decision {
        let decided = catch_unwind(AssertUnwindSafe(|| {
            let settings = self.policies.settings(request);
            admission::decide(request, stage, &settings, self.cluster.as_ref())
        }));
        let Ok(decision) = decided else {
            self.metrics.shed(stage, "bug");
            return self.unseen(stage, 500, "InternalError", FAILED);
        };
        let Some(why) = decision.why_unseen() else { return decision };
        self.metrics.shed(stage, "unreadable");
        self.unseen(stage, 400, "BadRequest", why)
    }

    /// Nobody looks at the object, since there is no time for it.
    fn shed(&self, stage: Stage, why: &'static str) -> Decision {
        self.metrics.shed(stage, if why == LATE { "late" } else { "busy" });
        self.unseen(stage, 503, "ServiceUnavailable", why)
    }

    /// Counts the decision, and writes it down.
    fn answered(
        &self,
        stage: Stage,
        version: ReviewVersion,
        request: &Review<'_>,
        decision: &Decision,
        began: Instant,
    ) -> Vec<u8> {
        let answer = admission::answer(version, &request.uid, decision);
        self.metrics.decided(&Reviewed { stage, request, decision, took: began.elapsed() });
        tracing::debug!(
            uid = %request.uid,
            kind = %request.kind,
            namespace = %request.namespace,
            name = %request.name,
            allowed = decision.allowed(),
            findings = decision.findings.len(),
            "reviewed",
        );
        answer
    }

    fn unreadable(&self, stage: Stage, error: &EnvelopeError) -> Result<Vec<u8>, Refusal> {
        self.metrics.shed(stage, "unreadable");
        let Some(uid) = &error.uid else { return Err(Refusal::unreadable(error.to_string())) };
        let decision = self.unseen(stage, 400, "BadRequest", &error.to_string());
        Ok(admission::answer(error.version, uid, &decision))
    }

    /// What is said of an object that nobody looked at.
    fn unseen(&self, stage: Stage, code: u16, reason: &'static str, why: &str) -> Decision {
        match (stage, self.failure_mode) {
            (Stage::Mutate, _) | (Stage::Validate, FailureMode::Open) => Decision::unseen(why),
            (Stage::Validate, FailureMode::Closed) => Decision::refused_unseen(code, reason, why),
        }
    }
}
