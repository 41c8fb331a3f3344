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
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    FailureMode, Webhook,
    body::{self, Received},
    deadline::Deadline,
    status::{Refusal, json},
};
use crate::{
    admission::{self, AdmissionKind, AdmissionRequest as Review, Decision, EnvelopeError, ReviewVersion, Stage},
    runtime::telemetry::metrics::Reviewed,
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
    let answer = looks(&webhook, stage, received, began, deadline).await;
    answer.map(json)
}

/// What came of a look.
enum Looked {
    Answered(Result<Vec<u8>, Refusal>),
    /// The copy of the cluster may have more in a moment. The decision, if there is one without that.
    Early(Option<Decision>),
    /// There was none.
    Not(&'static str),
}

/// Looks once, and again if that was early.
async fn looks(
    webhook: &Arc<Webhook>,
    stage: Stage,
    received: Received,
    began: Instant,
    deadline: Deadline,
) -> Result<Vec<u8>, Refusal> {
    let received = Arc::new(received);
    let (mut early, mut again) = (None, true);
    loop {
        match look(webhook, stage, &received, began, deadline, again).await {
            Looked::Answered(answer) => return answer,
            Looked::Early(decision) => (early, again) = (decision, false),
            Looked::Not(why) => {
                // What the first look gave is better than nothing.
                let decide = |_: &Review<'_>| early.unwrap_or_else(|| webhook.shed(stage, why));
                return webhook.answer(stage, &received.bytes, began, decide);
            }
        }
        // Nobody else waits for this: a large review has no turn meanwhile.
        sleep(MOMENT).await;
    }
}

/// One look: a small review is decided here, a large one takes its turn, and a thread of its own.
async fn look(
    webhook: &Arc<Webhook>,
    stage: Stage,
    received: &Arc<Received>,
    began: Instant,
    deadline: Deadline,
    again: bool,
) -> Looked {
    let length = received.bytes.len();
    let latest = deadline.latest_begin(length);
    // Whether there is time for two of them.
    let again = move || again && Instant::now() + MOMENT <= deadline.latest_begin(2 * length);
    if length <= SMALL {
        if Instant::now() > latest {
            return Looked::Not(LATE);
        }
        return webhook.look(stage, &received.bytes, began, again());
    }
    let Ok(place) = webhook.large.queue.clone().try_acquire_owned() else { return Looked::Not(BUSY) };
    let turn = timeout_at(latest, webhook.large.turns.clone().acquire_owned()).await;
    let Ok(Ok(turn)) = turn else { return Looked::Not(LATE) };
    let (webhook, received) = (webhook.clone(), received.clone());
    let looked = tokio::task::spawn_blocking(move || {
        let _held = (place, turn);
        webhook.look(stage, &received.bytes, began, again())
    });
    // Only a shutdown of the runtime cancels it.
    looked.await.unwrap_or_else(|_| Looked::Answered(Err(Refusal::unreadable("the server stops"))))
}

impl Webhook {
    /// Decides, unless there may be `again` a look that knows more.
    fn look(&self, stage: Stage, body: &[u8], began: Instant, again: bool) -> Looked {
        let (version, request) = match admission::read_review(body) {
            Ok(read) => read,
            Err(error) => return Looked::Answered(self.unreadable(stage, &error)),
        };
        if again && !self.knows(&request) {
            return Looked::Early(None);
        }
        let decision = self.decide(stage, &request);
        if again && decision.may_be_early() {
            return Looked::Early(Some(decision));
        }
        Looked::Answered(Ok(self.answered(stage, version, &request, &decision, began)))
    }

    /// The answer to the review in `body`, as `decide` has it.
    fn answer(
        &self,
        stage: Stage,
        body: &[u8],
        began: Instant,
        decide: impl FnOnce(&Review<'_>) -> Decision,
    ) -> Result<Vec<u8>, Refusal> {
        match admission::read_review(body) {
            Ok((version, request)) => Ok(self.answered(stage, version, &request, &decide(&request), began)),
            Err(error) => self.unreadable(stage, &error),
        }
    }

    /// Whether nothing is missing that the policies ask of the cluster.
    fn knows(&self, request: &Review<'_>) -> bool {
        AdmissionKind::of(request).is_none() || self.policies.know(request)
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
        let Some(why) = decision.why_unreviewed() else { return decision };
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
        let answer = admission::answer_review(version, &request.uid, decision);
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
        Ok(admission::answer_review(error.version, uid, &decision))
    }

    /// What is said of an object that nobody looked at.
    fn unseen(&self, stage: Stage, code: u16, reason: &'static str, why: &str) -> Decision {
        match (stage, self.failure_mode) {
            (Stage::Mutate, _) | (Stage::Validate, FailureMode::Open) => Decision::unreviewed(why),
            (Stage::Validate, FailureMode::Closed) => Decision::refused_unreviewed(code, reason, why),
        }
    }
}
