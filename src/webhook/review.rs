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
    admission::{self, Decision, EnvelopeError, Kind, Stage},
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
    if received.bytes.len() <= SMALL {
        let late = (Instant::now() > deadline.latest_begin(received.bytes.len())).then_some(LATE);
        let second = late.is_none() && Instant::now() + MOMENT <= deadline.latest_begin(received.bytes.len());
        if let Some(answer) = webhook.answer(stage, &received.bytes, began, late, second)? {
            return Ok(json(answer));
        }
        sleep(MOMENT).await;
        return webhook.last_answer(stage, &received.bytes, began, None).map(json);
    }
    large(webhook, stage, received, began, deadline).await.map(json)
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
        return webhook.last_answer(stage, bytes, began, Some(BUSY));
    };
    let turn = timeout_at(deadline.latest_begin(bytes.len()), webhook.large.turns.clone().acquire_owned()).await;
    let Ok(Ok(turn)) = turn else { return webhook.last_answer(stage, bytes, began, Some(LATE)) };
    let decided = tokio::task::spawn_blocking(move || {
        let _held = (place, turn);
        webhook.last_answer(stage, &received.bytes, began, None)
    });
    // Only a shutdown of the runtime cancels it.
    decided.await.unwrap_or_else(|_| Err(Refusal::unreadable("the server stops")))
}

impl Webhook {
    /// The answer, whatever the copy of the cluster holds.
    fn last_answer(
        &self,
        stage: Stage,
        body: &[u8],
        began: Instant,
        unseen: Option<&'static str>,
    ) -> Result<Vec<u8>, Refusal> {
        self.answer(stage, body, began, unseen, false).map(Option::unwrap_or_default)
    }

    /// The answer to the review in `body`. `unseen` says why nobody looks at the object. `None`, where there is time for
    /// a `second` look: it may be another in a moment.
    fn answer(
        &self,
        stage: Stage,
        body: &[u8],
        began: Instant,
        unseen: Option<&'static str>,
        second: bool,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        let (version, request) = match admission::read(body) {
            Ok(read) => read,
            Err(error) => return self.unreadable(stage, &error).map(Some),
        };
        let decision = if let Some(why) = unseen {
            self.metrics.shed(stage, if why == LATE { "late" } else { "busy" });
            self.unseen(stage, 503, "ServiceUnavailable", why)
        } else {
            if second && Kind::of(&request).is_some() && !self.policies.know(&request) {
                return Ok(None);
            }
            let decided = catch_unwind(AssertUnwindSafe(|| {
                let settings = self.policies.settings(&request);
                admission::decide(&request, stage, &settings, self.cluster.as_ref())
            }));
            if let Ok(decision) = decided {
                match decision.why_unseen() {
                    Some(why) => {
                        self.metrics.shed(stage, "unreadable");
                        self.unseen(stage, 400, "BadRequest", why)
                    }
                    None if second && decision.may_be_early() => return Ok(None),
                    None => decision,
                }
            } else {
                self.metrics.shed(stage, "bug");
                self.unseen(stage, 500, "InternalError", FAILED)
            }
        };
        let answer = admission::answer(version, &request.uid, &decision);
        self.metrics.decided(&Reviewed { stage, request: &request, decision: &decision, took: began.elapsed() });
        tracing::debug!(
            uid = %request.uid,
            kind = %request.kind,
            namespace = %request.namespace,
            name = %request.name,
            allowed = decision.allowed(),
            findings = decision.findings.len(),
            "reviewed",
        );
        Ok(Some(answer))
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
