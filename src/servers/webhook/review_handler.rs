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
use roster_admission as admission;
use roster_admission::{AdmissionKind, AdmissionRequest as Review, Decision, EnvelopeError, ReviewVersion, Stage};
use roster_engine::model::{Interrupt, Resource};
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep, timeout_at},
};

use super::{FailureMode, Webhook, body, deadline::Deadline, metrics::DecidedReview};
use crate::runtime::{
    net::{Exchange, HeldByResponse, Peer, ReceivedBody},
    status_error::{StatusError, json},
    telemetry::traces::Span,
    workers::WorkError,
};

/// Reviews up to this size are decided where they are read, if their rules have few stored objects to compare with: whatever
/// they contain, that takes two milliseconds at most.
const SMALL: usize = 32 << 10;

/// The part of a large review that is looked at without a worker. API servers write the objects after it.
const HEAD: usize = 32 << 10;

/// Most pods of the namespace, times the bytes of a review, for a small review of a Service.
const MOST_WITH_PODS: usize = 1 << 20;

/// The same for slices of the namespace, and a small review of a slice.
const MOST_WITH_SLICES: usize = 64 << 10;

/// The delay before a second attempt. The copy of the cluster is a moment behind: an object that is created right after
/// its Service or pod must not be refused for that.
const SECOND_ATTEMPT: Duration = Duration::from_millis(250);

/// Responses up to this size are not charged: they are on their way at once.
const SMALL_RESPONSE: usize = 16 << 10;

/// Why an object was not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Unchecked {
    Late,
    Busy,
    /// An enforced rule would have taken too much work.
    Budget,
    Bug,
    /// The review cannot be read, for this reason.
    Unreadable(String),
}

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
    let (exchange, span) = (Exchange::of(request.extensions()), Span::of(request.extensions()));
    body::check(request.headers())?;
    let (limits, memory) = (&webhook.limits, &webhook.memory);
    let received = body::receive(request.into_body(), limits.review, limits, memory, deadline, &exchange).await?;
    let review = ReceivedReview { stage, body: Arc::new(received), peer: exchange.peer, began, deadline, span };
    let answer = attempts(&webhook, &review).await?;
    exchange.credit();
    // A worker that was too late still has the body, and with it its memory.
    let memory = Arc::into_inner(review.body).and_then(|body| body.memory.into_holding());
    let charged = memory.filter(|_| answer.len() > SMALL_RESPONSE);
    // The answer takes the place of the body, which is larger than every patch but one of a hostile object.
    if !charged.as_ref().is_none_or(|memory| memory.resize(answer.len() as u64)) {
        return Err(StatusError::busy("other reviews take all memory"));
    }
    let mut response = json(answer);
    if charged.is_some() {
        response.extensions_mut().insert(HeldByResponse::new(charged));
    }
    Ok(response)
}

/// A review whose body was received.
#[derive(Clone)]
struct ReceivedReview {
    stage: Stage,
    body: Arc<ReceivedBody>,
    /// Who sent it. The user is a part of the body.
    peer: Peer,
    began: Instant,
    deadline: Deadline,
    span: Span,
}

impl ReceivedReview {
    /// The part that is looked at without a worker.
    fn head(&self) -> &[u8] {
        let bytes = &self.body.bytes;
        &bytes[..bytes.len().min(HEAD)]
    }
}

/// How a review is attempted.
#[derive(Clone, Copy)]
struct AttemptMode<'a> {
    /// Whether there may be a second attempt.
    again: bool,
    /// Whether the namespace was read.
    is_resolved: bool,
    /// Whether only a small review is decided.
    only_small: bool,
    /// Whether nobody waits for the answer any more.
    interrupt: Interrupt<'a>,
}

/// The result of an attempt to decide a review.
enum Attempt {
    Done(Result<Vec<u8>, StatusError>),
    /// The copy of the cluster may know more in a moment. The decision so far.
    Early(Decision),
    /// The decision depends on the labels of this namespace, which the copy of the cluster does not know yet.
    UnknownNamespace(String),
    /// The review is not small.
    Large,
    /// The object was not checked.
    Unchecked(Unchecked),
}

/// Attempts once, and again if that was early.
async fn attempts(webhook: &Arc<Webhook>, review: &ReceivedReview) -> Result<Vec<u8>, StatusError> {
    let ReceivedReview { peer, deadline, .. } = *review;
    let (mut early, mut again, mut is_resolved) = (None, true, false);
    loop {
        match attempt(webhook, review, again, is_resolved).await {
            Attempt::Done(answer) => return answer,
            Attempt::Early(decision) => (early, again) = (Some(decision), false),
            Attempt::UnknownNamespace(name) => {
                is_resolved = true;
                webhook.settings.resolve(peer, &name, deadline.halfway(Instant::now())).await;
                continue;
            }
            // The decision of the first attempt is better than none.
            Attempt::Unchecked(why) => return webhook.answer(review, early.ok_or(why)).await,
            Attempt::Large => return webhook.answer(review, early.ok_or(Unchecked::Bug)).await,
        }
        // A large review holds no worker meanwhile.
        sleep(SECOND_ATTEMPT).await;
    }
}

/// One attempt: a small review is decided here, a large one on a worker thread when it is the turn of its peer and user.
async fn attempt(webhook: &Arc<Webhook>, review: &ReceivedReview, again: bool, is_resolved: bool) -> Attempt {
    let ReceivedReview { peer, deadline, .. } = *review;
    let length = review.body.bytes.len();
    let latest = deadline.latest_begin(length);
    // Decides, unless it is too late. There may be a second attempt if there is time for it.
    let decide = move |webhook: &Webhook, review: &ReceivedReview, only_small: bool, interrupt: Interrupt<'_>| {
        let now = Instant::now();
        if now > latest {
            return Attempt::Unchecked(Unchecked::Late);
        }
        let again = again && now + SECOND_ATTEMPT <= deadline.latest_begin(2 * length);
        webhook.try_decide(review, AttemptMode { again, is_resolved, only_small, interrupt })
    };
    if length <= SMALL {
        match decide(webhook, review, true, Interrupt::NEVER) {
            Attempt::Large => {}
            attempt => return attempt,
        }
    }
    let user = admission::review_user(review.head());
    let (worker, review) = (webhook.clone(), review.clone());
    let decide = move |unwanted: Interrupt<'_>| decide(&worker, &review, false, unwanted);
    match timeout_at(latest, webhook.large.run_while_wanted(peer, user, length, decide)).await {
        Ok(Ok(attempt)) => attempt,
        Ok(Err(WorkError::Busy)) => Attempt::Unchecked(Unchecked::Busy),
        Ok(Err(WorkError::Panicked)) => Attempt::Unchecked(Unchecked::Bug),
        Err(_) => Attempt::Unchecked(Unchecked::Late),
    }
}

impl Webhook {
    /// Decides, unless the namespace is to be read first, or the decision may be early and there may be a second attempt.
    fn try_decide(&self, review: &ReceivedReview, mode: AttemptMode<'_>) -> Attempt {
        let body = review.body.bytes.as_ref();
        let (version, request) = match admission::read_review(body) {
            Ok(read) => read,
            Err(error) => return Attempt::Done(self.unreadable(review, &error)),
        };
        if mode.only_small && self.compares_with_many(&request, body.len()) {
            return Attempt::Large;
        }
        if !mode.is_resolved && self.needs_namespace(&request) {
            return Attempt::UnknownNamespace(request.namespace.into_owned());
        }
        if mode.interrupt.is_requested() {
            return Attempt::Unchecked(Unchecked::Late);
        }
        let decided = review.span.child("decide");
        let decision = self.decide(review.stage, &request);
        decided.end();
        match decision {
            Ok(decision) if mode.again && decision.may_be_early() => Attempt::Early(decision),
            decision => Attempt::Done(self.answered(review, version, &request, decision)),
        }
    }

    /// Whether the rules have so many stored objects to compare with a review of `bytes` that it is not small. The number of
    /// comparisons is a product: of pods and labels of the selector, or of slices and their addresses and ports.
    fn compares_with_many(&self, request: &Review<'_>, bytes: usize) -> bool {
        let Some(kind) = AdmissionKind::of(request) else { return false };
        let most = if kind.resource == Resource::Service { MOST_WITH_PODS } else { MOST_WITH_SLICES };
        self.cluster.comparable(kind.resource, &request.namespace).saturating_mul(bytes) > most
    }

    /// The answer to a review that no worker decided. Only its head is read.
    async fn answer(
        self: &Arc<Self>,
        review: &ReceivedReview,
        decision: Result<Decision, Unchecked>,
    ) -> Result<Vec<u8>, StatusError> {
        if let Some((version, request)) = admission::read_review_head(review.head()) {
            return self.answered(review, version, &request, decision);
        }
        // No API server writes the objects first. Such reviews are read one after the other, while there is time.
        let Ok(Ok(permit)) = timeout_at(review.deadline.0, self.whole.clone().acquire_owned()).await else {
            let why = decision.err().unwrap_or(Unchecked::Busy);
            self.metrics.shed(review.stage, why.label());
            return Err(why.status());
        };
        let (webhook, review) = (self.clone(), review.clone());
        let answered = spawn_blocking(move || {
            let _permit = permit;
            match admission::read_review(&review.body.bytes) {
                Ok((version, request)) => webhook.answered(&review, version, &request, decision),
                Err(error) => webhook.unreadable(&review, &error),
            }
        });
        answered.await.unwrap_or_else(|_| Err(Unchecked::Bug.status()))
    }

    /// Whether the decision depends on labels of the namespace that are not known yet.
    fn needs_namespace(&self, request: &Review<'_>) -> bool {
        AdmissionKind::of(request).is_some() && self.settings.needs_namespace(request)
    }

    fn decide(&self, stage: Stage, request: &Review<'_>) -> Result<Decision, Unchecked> {
        let decided = catch_unwind(AssertUnwindSafe(|| {
            let settings = self.settings.settings(request);
            admission::decide(request, stage, &settings, self.cluster.as_ref())
        }));
        let decision = decided.map_err(|_| Unchecked::Bug)?;
        let decision = decision.map_err(|unreadable| Unchecked::Unreadable(unreadable.to_string()))?;
        if decision.is_over_budget() {
            return Err(Unchecked::Budget);
        }
        if decision.over_budget.is_some() {
            // Other rules were checked. This one could not have refused the object.
            self.metrics.shed(stage, Unchecked::Budget.label());
        }
        Ok(decision)
    }

    /// Counts and logs the decision, and writes the answer.
    fn answered(
        &self,
        review: &ReceivedReview,
        version: ReviewVersion,
        request: &Review<'_>,
        decision: Result<Decision, Unchecked>,
    ) -> Result<Vec<u8>, StatusError> {
        let ReceivedReview { stage, began, ref span, .. } = *review;
        let decision = match decision {
            Ok(decision) => decision,
            Err(why) => self.unchecked(review, &why)?,
        };
        let answer = admission::answer_review(version, &request.uid, &decision);
        self.metrics.decided(&DecidedReview { stage, request, decision: &decision, took: began.elapsed() });
        describe(span, request, &decision);
        tracing::debug!(
            trace_id = span.trace_id(),
            uid = %request.uid,
            kind = %request.kind,
            namespace = %request.namespace,
            name = %request.name,
            allowed = decision.allowed(),
            findings = decision.findings.len(),
            "review answered",
        );
        Ok(answer)
    }

    fn unreadable(&self, review: &ReceivedReview, error: &EnvelopeError) -> Result<Vec<u8>, StatusError> {
        let why = Unchecked::Unreadable(error.to_string());
        let Some(uid) = &error.uid else {
            self.metrics.shed(review.stage, why.label());
            return Err(why.status());
        };
        let decision = self.unchecked(review, &why)?;
        Ok(admission::answer_review(error.version, uid, &decision))
    }

    /// The decision about an object that was not checked, or the error with which the failure policy decides.
    fn unchecked(&self, review: &ReceivedReview, why: &Unchecked) -> Result<Decision, StatusError> {
        let stage = review.stage;
        self.metrics.shed(stage, why.label());
        review.span.set("roster.unchecked", why.label());
        let StatusError { code, reason, message, .. } = why.status();
        match (stage, self.failure_mode) {
            (Stage::Mutate, _) | (Stage::Validate, FailureMode::Open) => Ok(Decision::unreviewed(&message)),
            (Stage::Validate, FailureMode::Closed) => Ok(Decision::refused_unreviewed(code.as_u16(), reason, &message)),
            (Stage::Validate, FailureMode::Policy) => Err(why.status()),
        }
    }
}

/// Describes a review in its span. Objects are named only if they have to do with Services: who registers the webhook for
/// more must not find the names of Secrets in traces.
fn describe(span: &Span, request: &Review<'_>, decision: &Decision) {
    if !span.is_recorded() {
        return;
    }
    span.set("roster.review.uid", &*request.uid);
    if AdmissionKind::of(request).is_some() {
        span.set("roster.kind", &*request.kind);
        span.set("k8s.namespace.name", &*request.namespace);
        span.set("roster.name", &*request.name);
    }
    span.set("roster.allowed", decision.allowed());
    span.set("roster.patched", !decision.patch.is_empty());
    span.set("roster.findings", decision.findings.len());
}

impl Unchecked {
    /// The label of the metric.
    fn label(&self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Busy => "busy",
            Self::Budget => "budget",
            Self::Bug => "bug",
            Self::Unreadable(_) => "unreadable",
        }
    }

    fn status(&self) -> StatusError {
        match self {
            Self::Late => StatusError::busy("too little time was left to check the object"),
            Self::Busy => StatusError::busy("too many large reviews are waiting"),
            Self::Budget => StatusError::busy("the object takes too much work to check"),
            Self::Bug => StatusError::internal("a bug in a rule: the object was not checked"),
            Self::Unreadable(why) => StatusError::unreadable(why.clone()),
        }
    }
}
