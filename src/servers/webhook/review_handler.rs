//! The handlers of `/mutate` and `/validate`: an admission review, from the request to the response.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    FailureMode, Webhook,
    body::{self, ReviewBytes},
    deadline::Deadline,
    metrics::DecidedReview,
    status_error::{StatusError, json},
};
use crate::admission::{
    self, AdmissionKind, AdmissionRequest as Review, Decision, EnvelopeError, ReviewVersion, Stage,
};

/// Reviews up to this size are decided where they are read, in about a millisecond at most.
const SMALL: usize = 256 << 10;

/// The delay before a second attempt. The copy of the cluster is a moment behind: an object that is created right after
/// its Service or pod must not be refused for that.
const SECOND_ATTEMPT: Duration = Duration::from_millis(250);

const LATE: &str = "too little time was left to check the object";
const BUSY: &str = "too many large reviews are waiting";
const FAILED: &str = "a bug in a rule: the object was not checked";

/// Changes an object.
pub(super) async fn mutate(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    review(webhook, Stage::Mutate, request).await.unwrap_or_else(StatusError::into_response)
}

/// Checks an object.
pub(super) async fn validate(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    review(webhook, Stage::Validate, request).await.unwrap_or_else(StatusError::into_response)
}

async fn review(webhook: Arc<Webhook>, stage: Stage, request: Request) -> Result<Response, StatusError> {
    let began = Instant::now();
    let _in_flight = webhook.metrics.begin();
    let deadline = Deadline::of(request.uri().query(), began, webhook.limits.request);
    body::check(request.headers())?;
    let received = body::receive(request.into_body(), webhook.limits.review, &webhook.memory, deadline).await?;
    let answer = attempts(&webhook, stage, received, began, deadline).await;
    answer.map(json)
}

/// The result of an attempt to decide a review.
enum Attempt {
    Done(Result<Vec<u8>, StatusError>),
    /// The copy of the cluster may know more in a moment. The decision so far.
    Early(Decision),
    /// The decision depends on the labels of this namespace, which the copy of the cluster does not know yet.
    UnknownNamespace(String),
    /// The object was not checked, for this reason.
    Unchecked(&'static str),
}

/// Attempts once, and again if that was early.
async fn attempts(
    webhook: &Arc<Webhook>,
    stage: Stage,
    received: ReviewBytes,
    began: Instant,
    deadline: Deadline,
) -> Result<Vec<u8>, StatusError> {
    let received = Arc::new(received);
    let (mut early, mut again, mut is_resolved) = (None, true, false);
    loop {
        match attempt(webhook, stage, &received, began, deadline, again, is_resolved).await {
            Attempt::Done(answer) => return answer,
            Attempt::Early(decision) => (early, again) = (Some(decision), false),
            Attempt::UnknownNamespace(name) => {
                is_resolved = true;
                webhook.settings.resolve(&name, deadline.halfway(Instant::now())).await;
                continue;
            }
            Attempt::Unchecked(why) => {
                // The decision of the first attempt is better than none.
                let decide = |_: &Review<'_>| early.unwrap_or_else(|| webhook.shed(stage, why));
                return webhook.answer(stage, &received.bytes, began, decide);
            }
        }
        // A large review holds no worker meanwhile.
        sleep(SECOND_ATTEMPT).await;
    }
}

/// One attempt: a small review is decided here, a large one on a blocking thread when a worker is free.
async fn attempt(
    webhook: &Arc<Webhook>,
    stage: Stage,
    received: &Arc<ReviewBytes>,
    began: Instant,
    deadline: Deadline,
    again: bool,
    is_resolved: bool,
) -> Attempt {
    let length = received.bytes.len();
    let latest = deadline.latest_begin(length);
    // Whether there is time for a second attempt.
    let again = move || again && Instant::now() + SECOND_ATTEMPT <= deadline.latest_begin(2 * length);
    if length <= SMALL {
        if Instant::now() > latest {
            return Attempt::Unchecked(LATE);
        }
        return webhook.try_decide(stage, &received.bytes, began, again(), is_resolved);
    }
    let Ok(place) = webhook.large.places.clone().try_acquire_owned() else { return Attempt::Unchecked(BUSY) };
    let worker = timeout_at(latest, webhook.large.workers.clone().acquire_owned()).await;
    let Ok(Ok(worker)) = worker else { return Attempt::Unchecked(LATE) };
    let (webhook, received) = (webhook.clone(), received.clone());
    let attempt = tokio::task::spawn_blocking(move || {
        let _held = (place, worker);
        webhook.try_decide(stage, &received.bytes, began, again(), is_resolved)
    });
    // Only a shutdown of the runtime cancels it.
    attempt.await.unwrap_or_else(|_| Attempt::Done(Err(StatusError::unreadable("the server is stopping"))))
}

impl Webhook {
    /// Decides, unless the namespace is to be read first, or the decision may be early and there may be a second attempt
    /// (`again`).
    fn try_decide(&self, stage: Stage, body: &[u8], began: Instant, again: bool, is_resolved: bool) -> Attempt {
        let (version, request) = match admission::read_review(body) {
            Ok(read) => read,
            Err(error) => return Attempt::Done(self.unreadable(stage, &error)),
        };
        if !is_resolved && self.needs_namespace(&request) {
            return Attempt::UnknownNamespace(request.namespace.into_owned());
        }
        let decision = self.decide(stage, &request);
        if again && decision.may_be_early() {
            return Attempt::Early(decision);
        }
        Attempt::Done(Ok(self.answered(stage, version, &request, &decision, began)))
    }

    /// The answer to the review in `body`, with the decision of `decide`.
    fn answer(
        &self,
        stage: Stage,
        body: &[u8],
        began: Instant,
        decide: impl FnOnce(&Review<'_>) -> Decision,
    ) -> Result<Vec<u8>, StatusError> {
        match admission::read_review(body) {
            Ok((version, request)) => Ok(self.answered(stage, version, &request, &decide(&request), began)),
            Err(error) => self.unreadable(stage, &error),
        }
    }

    /// Whether the decision depends on labels of the namespace that are not known yet.
    fn needs_namespace(&self, request: &Review<'_>) -> bool {
        AdmissionKind::of(request).is_some() && self.settings.needs_namespace(request)
    }

    fn decide(&self, stage: Stage, request: &Review<'_>) -> Decision {
        let decided = catch_unwind(AssertUnwindSafe(|| {
            let settings = self.settings.settings(request);
            admission::decide(request, stage, &settings, self.cluster.as_ref())
        }));
        let Ok(decision) = decided else {
            self.metrics.shed(stage, "bug");
            return self.unchecked(stage, 500, "InternalError", FAILED);
        };
        let Some(why) = decision.why_unreviewed() else { return decision };
        self.metrics.shed(stage, "unreadable");
        self.unchecked(stage, 400, "BadRequest", why)
    }

    /// The decision where no time or capacity is left to check the object.
    fn shed(&self, stage: Stage, why: &'static str) -> Decision {
        self.metrics.shed(stage, if why == LATE { "late" } else { "busy" });
        self.unchecked(stage, 503, "ServiceUnavailable", why)
    }

    /// Counts and logs the decision, and writes the answer.
    fn answered(
        &self,
        stage: Stage,
        version: ReviewVersion,
        request: &Review<'_>,
        decision: &Decision,
        began: Instant,
    ) -> Vec<u8> {
        let answer = admission::answer_review(version, &request.uid, decision);
        self.metrics.decided(&DecidedReview { stage, request, decision, took: began.elapsed() });
        tracing::debug!(
            uid = %request.uid,
            kind = %request.kind,
            namespace = %request.namespace,
            name = %request.name,
            allowed = decision.allowed(),
            findings = decision.findings.len(),
            "review answered",
        );
        answer
    }

    fn unreadable(&self, stage: Stage, error: &EnvelopeError) -> Result<Vec<u8>, StatusError> {
        self.metrics.shed(stage, "unreadable");
        let Some(uid) = &error.uid else { return Err(StatusError::unreadable(error.to_string())) };
        let decision = self.unchecked(stage, 400, "BadRequest", &error.to_string());
        Ok(admission::answer_review(error.version, uid, &decision))
    }

    /// The decision about an object that was not checked.
    fn unchecked(&self, stage: Stage, code: u16, reason: &'static str, why: &str) -> Decision {
        match (stage, self.failure_mode) {
            (Stage::Mutate, _) | (Stage::Validate, FailureMode::Open) => Decision::unreviewed(why),
            (Stage::Validate, FailureMode::Closed) => Decision::refused_unreviewed(code, reason, why),
        }
    }
}
