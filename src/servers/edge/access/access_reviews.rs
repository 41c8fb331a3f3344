//! Asks the API server whether a client may read what is cached: with the token of the client, or, about the user of a client
//! certificate, as the proxy itself.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{sync::Notify, time::Instant};

use super::{
    access_holds::{AccessHold, AccessHolds},
    access_table::{AccessQuestion, AccessTable, KnownAccess},
    caller::{Caller, CallerDigest, unauthorized},
    client_certificates::CertificateUser,
    review_places::{ReviewPlaces, Reviewed},
};
use crate::runtime::{
    net::{Exchange, Health},
    status_error::StatusError,
};
use crate::servers::edge::{
    clients::target::CachedRead,
    disk::saved_permissions::SavedPermissions,
    upstream::{
        api_server::ApiServer,
        proxy::{RETRY, too_many},
        reachability::Reachability,
    },
};

const OF_ITSELF: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const OF_ANOTHER: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// Longest time of a review.
const LIMIT: Duration = Duration::from_secs(3);
/// The limit of an answer in bytes.
const MAX_ANSWER: usize = 256 << 10;

/// Decides who may read what is cached.
#[derive(Debug)]
pub(crate) struct AccessReviews {
    api: Arc<ApiServer>,
    /// The API server with the identity of the proxy, where clients may have certificates.
    reviewer: Option<ApiServer>,
    /// Whether the API server refused the last review of the proxy itself.
    reviewer_refused: AtomicBool,
    reachability: Arc<Reachability>,
    table: Mutex<AccessTable>,
    /// They change with the table locked: no permission follows a refusal that came while its review was on the way.
    holds: AccessHolds,
    places: ReviewPlaces,
    allowed: Notify,
    saved: OnceLock<Arc<SavedPermissions>>,
}

/// What the API server answers.
enum ReviewAnswer {
    Allowed,
    Denied,
    /// The token is not valid.
    Unauthenticated,
    /// Who asks may not ask.
    Forbidden,
    /// The proxy itself may not ask.
    Refused(StatusError),
    /// There is no answer, or none that says it. A client may have brought it about.
    Unanswered(StatusError),
}

#[derive(Deserialize)]
struct ReviewBody {
    status: ReviewStatus,
}

#[derive(Deserialize)]
struct ReviewStatus {
    allowed: bool,
}

impl AccessReviews {
    pub(crate) fn new(
        api: Arc<ApiServer>,
        reviewer: Option<ApiServer>,
        reachability: Arc<Reachability>,
        health: &Health,
    ) -> Self {
        Self {
            api,
            reviewer,
            reviewer_refused: AtomicBool::new(false),
            reachability,
            table: Mutex::default(),
            holds: AccessHolds::default(),
            places: ReviewPlaces::new(health),
            allowed: Notify::new(),
            saved: OnceLock::new(),
        }
    }

    /// Whether the client may read. What was allowed counts for a day while the API server is away.
    pub(crate) async fn check(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        read: &CachedRead,
        exchange: &Exchange,
    ) -> Result<(), StatusError> {
        if headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
            let message = "impersonation is not supported for what is cached here";
            return Err(StatusError::new(StatusCode::FORBIDDEN, "Forbidden", message));
        }
        let question = AccessQuestion::of(caller, read)?;
        // The CA knows who has a certificate.
        let reviewed = if matches!(caller, Caller::Certificate(_)) || self.table().knows(question.caller) {
            Reviewed::KnownCaller
        } else if exchange.has_credit() {
            Reviewed::KnownPeer
        } else {
            Reviewed::Stranger
        };
        self.ask(caller, question, reviewed, exchange).await
    }

    /// Whether the caller may read, as known, or else by a review.
    pub(crate) async fn ask(
        &self,
        caller: &Caller,
        question: AccessQuestion,
        reviewed: Reviewed,
        exchange: &Exchange,
    ) -> Result<(), StatusError> {
        let is_known = |known| match known {
            KnownAccess::Allowed => Some(Ok(())),
            KnownAccess::Denied => Some(Err(denied(&question))),
            // What need not be asked for a moment is not: a review would take seconds.
            KnownAccess::Unknown { allowed_offline } => {
                (allowed_offline && self.reachability.is_known_away()).then_some(Ok(()))
            }
        };
        if let Some(known) = is_known(self.look_up(&question)) {
            return known;
        }
        let Some(place) = self.places.take(exchange, reviewed, question.caller).await else {
            return self.without_answer(&question, too_many("access reviews")).await;
        };
        let hold = self.holds.hold(question.clone());
        // Another request may have had the answer meanwhile.
        if let Some(known) = is_known(self.look_up(&question)) {
            return known;
        }
        match self.review(caller, &question).await {
            ReviewAnswer::Allowed => self.allow(&hold),
            // Who may not even ask about itself may not read.
            ReviewAnswer::Denied | ReviewAnswer::Forbidden => {
                self.refuse(&question).await;
                place.give_back_later();
                Err(denied(&question))
            }
            ReviewAnswer::Unauthenticated => {
                self.refuse_caller(question.caller).await;
                place.give_back_later();
                Err(unauthorized("the API server does not accept the token"))
            }
            ReviewAnswer::Refused(error) => {
                place.give_back_later();
                Err(error)
            }
            ReviewAnswer::Unanswered(error) => {
                place.give_back_later();
                self.without_answer(&question, error).await
            }
        }
    }

    /// What the API server allowed counts where it is away, by what the proxy itself finds: a client could bring about that its
    /// own review is slow, or fails, and keep a permission that was revoked.
    async fn without_answer(&self, question: &AccessQuestion, error: StatusError) -> Result<(), StatusError> {
        let allowed_offline = || match self.look_up(question) {
            KnownAccess::Allowed => true,
            KnownAccess::Denied => false,
            KnownAccess::Unknown { allowed_offline } => allowed_offline,
        };
        // Looked up again: a refusal may come meanwhile.
        let is_allowed = allowed_offline() && self.reachability.is_away().await && allowed_offline();
        if is_allowed { Ok(()) } else { Err(error) }
    }

    /// Remembers a permission, unless a refusal has come since the review began.
    fn allow(&self, hold: &AccessHold) -> Result<(), StatusError> {
        {
            let mut table = self.table();
            if hold.is_ended() {
                let why = "the API server refused this client meanwhile, and must be asked again";
                return Err(StatusError::busy(why).retry_after(RETRY));
            }
            table.insert(hold.question().clone(), true, Instant::now());
        }
        self.allowed.notify_one();
        Ok(())
    }

    /// Remembers a refusal, also across a restart, before anybody sees it.
    async fn refuse(&self, question: &AccessQuestion) {
        {
            let mut table = self.table();
            table.insert(question.clone(), false, Instant::now());
            self.holds.end(question);
        }
        if let Some(saved) = self.saved.get() {
            saved.end(question).await;
        }
    }

    /// The same, where the API server does not know the caller any more.
    async fn refuse_caller(&self, caller: CallerDigest) {
        {
            let mut table = self.table();
            table.forget(caller);
            self.holds.end_all(caller);
        }
        if let Some(saved) = self.saved.get() {
            saved.end_all(caller).await;
        }
    }

    /// A hold of what was just allowed. It ends with a refusal, also with one that came in between.
    pub(crate) fn hold(&self, question: AccessQuestion) -> Result<AccessHold, StatusError> {
        let hold = self.holds.hold(question);
        match self.look_up(hold.question()) {
            KnownAccess::Allowed | KnownAccess::Unknown { allowed_offline: true } => Ok(hold),
            KnownAccess::Denied => Err(denied(hold.question())),
            KnownAccess::Unknown { allowed_offline: false } => {
                Err(StatusError::busy("the API server must be asked again").retry_after(RETRY))
            }
        }
    }

    /// For how long what was allowed counts before the API server must be asked again.
    pub(super) fn fresh_for(&self, question: &AccessQuestion) -> Duration {
        self.table().fresh_for(question, Instant::now())
    }

    fn look_up(&self, question: &AccessQuestion) -> KnownAccess {
        self.table().look_up(question, Instant::now())
    }

    /// Sends a `SelfSubjectAccessReview` as the client, or a `SubjectAccessReview` about it.
    async fn review(&self, caller: &Caller, question: &AccessQuestion) -> ReviewAnswer {
        let AccessQuestion { verb, resource, object, .. } = question;
        let mut spec = json!({ "resourceAttributes": {
            "verb": verb, "group": resource.group(), "version": resource.version(), "resource": resource.plural(),
            "namespace": object.namespace, "name": object.name,
        } });
        match (caller, &self.reviewer) {
            (Caller::Header(authorization), _) => {
                let mut request = review_request(OF_ITSELF, "SelfSubjectAccessReview", &spec);
                request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
                send(&self.api, request).await
            }
            (Caller::Certificate(CertificateUser { user, groups }), Some(reviewer)) => {
                (spec["user"], spec["groups"]) = (json!(user), json!(groups));
                match send(reviewer, review_request(OF_ANOTHER, "SubjectAccessReview", &spec)).await {
                    ReviewAnswer::Unauthenticated => self.may_not_review("is not known to the API server"),
                    ReviewAnswer::Forbidden => self.may_not_review("may not create subjectaccessreviews"),
                    answer => {
                        self.reviewer_refused.store(false, Ordering::Relaxed);
                        answer
                    }
                }
            }
            (Caller::Certificate(_), None) => self.may_not_review("takes no client certificates"),
        }
    }

    /// A mistake in the installation, and not of the client.
    fn may_not_review(&self, why: &str) -> ReviewAnswer {
        if !self.reviewer_refused.swap(true, Ordering::Relaxed) {
            tracing::warn!("clients with a certificate are refused, because the node proxy itself {why}");
        }
        let error = StatusError::busy(format!("the node proxy cannot ask who may read: it {why}"));
        ReviewAnswer::Refused(error.retry_after(RETRY))
    }

    /// The permissions that still count while the API server is away, and how old they are.
    pub(crate) fn permissions(&self) -> Vec<(AccessQuestion, Duration)> {
        self.table().permissions(Instant::now())
    }

    /// Waits until the API server has allowed more.
    pub(crate) async fn allowed_more(&self) {
        self.allowed.notified().await;
    }

    /// Saves refusals there from now on.
    pub(crate) fn save_in(&self, saved: Arc<SavedPermissions>) {
        // One process has one state file.
        let _ = self.saved.set(saved);
    }

    /// Takes permissions of a former run.
    pub(crate) fn restore(&self, permissions: Vec<(AccessQuestion, Duration)>) {
        self.table().restore(permissions, Instant::now());
    }

    fn table(&self) -> MutexGuard<'_, AccessTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn review_request(path: &'static str, kind: &str, spec: &Value) -> Request<Body> {
    let review = json!({ "kind": kind, "apiVersion": "authorization.k8s.io/v1", "spec": spec });
    let mut request = Request::new(Body::from(review.to_string()));
    (*request.method_mut(), *request.uri_mut()) = (Method::POST, Uri::from_static(path));
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(header::CONTENT_TYPE, json.clone());
    request.headers_mut().insert(header::ACCEPT, json);
    request
}

/// Sends a review, and reads the answer.
async fn send(to: &ApiServer, request: Request<Body>) -> ReviewAnswer {
    let error = |why: String| StatusError::busy(why).retry_after(RETRY);
    let response = match to.send_within(request, LIMIT).await {
        Ok(response) => response,
        Err(error) => return ReviewAnswer::Unanswered(error.into()),
    };
    match response.status() {
        StatusCode::UNAUTHORIZED => return ReviewAnswer::Unauthenticated,
        StatusCode::FORBIDDEN => return ReviewAnswer::Forbidden,
        status if status.is_success() => {}
        status => {
            let why = format!("the API server answered {status} to an access review");
            return ReviewAnswer::Unanswered(error(why));
        }
    }
    let body = tokio::time::timeout(LIMIT, axum::body::to_bytes(response.into_body(), MAX_ANSWER)).await;
    let answer = body.ok().and_then(Result::ok).and_then(|body| serde_json::from_slice(&body).ok());
    match answer {
        Some(ReviewBody { status: ReviewStatus { allowed: true } }) => ReviewAnswer::Allowed,
        Some(_) => ReviewAnswer::Denied,
        None => ReviewAnswer::Unanswered(error("the answer to an access review cannot be read".to_owned())),
    }
}

fn denied(question: &AccessQuestion) -> StatusError {
    let AccessQuestion { verb, resource, object, .. } = question;
    let at = match object.namespace.as_str() {
        "" => " at the cluster scope".to_owned(),
        namespace => format!(" in the namespace {namespace:?}"),
    };
    let message = format!("the API server does not let this client {verb} {}{at}", resource.plural());
    StatusError::new(StatusCode::FORBIDDEN, "Forbidden", message)
}
