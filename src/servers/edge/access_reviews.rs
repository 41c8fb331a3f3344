//! Asks the API server whether a client may read what is cached: with the token of the client, or, about the user of a client
//! certificate, as the proxy itself.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
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
    access_table::{AccessQuestion, AccessTable, KnownAccess},
    api_server::ApiServer,
    caller::{Caller, unauthorized},
    certificate_user::CertificateUser,
    proxy::{RETRY, too_many},
    review_places::{ReviewPlaces, Reviewed},
    target::CachedRead,
};
use crate::runtime::{
    net::{Exchange, Health},
    status_error::StatusError,
};

const OF_ITSELF: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const OF_ANOTHER: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// Longest time of a review. While the API server is away, clients wait for it.
const LIMIT: Duration = Duration::from_secs(3);
/// The limit of an answer in bytes.
const MAX_ANSWER: usize = 256 << 10;

/// Decides who may read what is cached.
#[derive(Debug)]
pub(super) struct AccessReviews {
    api: Arc<ApiServer>,
    /// The API server with the identity of the proxy, where clients may have certificates.
    reviewer: Option<ApiServer>,
    /// Whether the API server refused the last review of the proxy itself.
    reviewer_refused: AtomicBool,
    /// Whether the last review of a known caller found no API server.
    is_away: AtomicBool,
    table: Mutex<AccessTable>,
    places: ReviewPlaces,
    allowed: Notify,
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
    /// The API server is there, and does not say.
    Unanswered(StatusError),
    /// There is no answer.
    Away(StatusError),
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
    pub(super) fn new(api: Arc<ApiServer>, reviewer: Option<ApiServer>, health: &Health) -> Self {
        Self {
            api,
            reviewer,
            reviewer_refused: AtomicBool::new(false),
            is_away: AtomicBool::new(false),
            table: Mutex::default(),
            places: ReviewPlaces::new(health),
            allowed: Notify::new(),
        }
    }

    /// Whether the client may read. What was allowed counts for a day while the API server is away.
    pub(super) async fn check(
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
        let digest = caller.digest()?;
        let question =
            AccessQuestion { caller: digest, verb: read.verb(), resource: read.resource, object: read.object() };
        let allowed_offline = match self.table().look_up(&question, Instant::now()) {
            KnownAccess::Allowed => return Ok(()),
            KnownAccess::Denied => return Err(denied(&question)),
            KnownAccess::Unknown { allowed_offline } => allowed_offline,
        };
        // The CA knows who has a certificate.
        let reviewed = if matches!(caller, Caller::Certificate(_)) || self.table().knows(digest) {
            Reviewed::KnownCaller
        } else if exchange.has_credit() {
            Reviewed::KnownPeer
        } else {
            Reviewed::Stranger
        };
        let place = match self.places.take(exchange, reviewed, digest).await {
            Some(place) => place,
            // Those with a place find no API server, either.
            None if allowed_offline && self.is_away.load(Ordering::Relaxed) => return Ok(()),
            None => return Err(too_many("access reviews")),
        };
        // Another request may have had the answer meanwhile.
        match self.table().look_up(&question, Instant::now()) {
            KnownAccess::Allowed => return Ok(()),
            KnownAccess::Denied => return Err(denied(&question)),
            KnownAccess::Unknown { .. } => {}
        }
        let answer = self.review(caller, &question).await;
        if reviewed == Reviewed::KnownCaller {
            // Of strangers it would say nothing: a token that nobody knows may take the API server longer than a review.
            self.is_away.store(matches!(answer, ReviewAnswer::Away(_)), Ordering::Relaxed);
        }
        match answer {
            ReviewAnswer::Allowed => {
                self.table().insert(question, true, Instant::now());
                self.allowed.notify_one();
                Ok(())
            }
            // Who may not even ask about itself may not read.
            ReviewAnswer::Denied | ReviewAnswer::Forbidden => {
                let error = denied(&question);
                self.table().insert(question, false, Instant::now());
                place.refused();
                Err(error)
            }
            ReviewAnswer::Unauthenticated => {
                self.table().forget(digest);
                place.refused();
                Err(unauthorized("the API server does not accept the token"))
            }
            ReviewAnswer::Refused(error) => {
                place.refused();
                Err(error)
            }
            ReviewAnswer::Away(_) if allowed_offline => Ok(()),
            // A client could bring about that it is asked to wait, and keep a permission that was revoked.
            ReviewAnswer::Unanswered(error) | ReviewAnswer::Away(error) => Err(error),
        }
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
    pub(super) fn permissions(&self) -> Vec<(AccessQuestion, Duration)> {
        self.table().permissions(Instant::now())
    }

    /// Waits until the API server has allowed more.
    pub(super) async fn allowed_more(&self) {
        self.allowed.notified().await;
    }

    /// Takes permissions of a former run.
    pub(super) fn restore(&self, permissions: Vec<(AccessQuestion, Duration)>) {
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
        Err(error) => return ReviewAnswer::Away(error.into()),
    };
    match response.status() {
        StatusCode::UNAUTHORIZED => return ReviewAnswer::Unauthenticated,
        StatusCode::FORBIDDEN => return ReviewAnswer::Forbidden,
        status if status.is_success() => {}
        status => {
            let error = error(format!("the API server answered {status} to an access review"));
            let is_away = status.is_server_error();
            return if is_away { ReviewAnswer::Away(error) } else { ReviewAnswer::Unanswered(error) };
        }
    }
    let body = tokio::time::timeout(LIMIT, axum::body::to_bytes(response.into_body(), MAX_ANSWER)).await;
    let answer = body.ok().and_then(Result::ok).and_then(|body| serde_json::from_slice(&body).ok());
    match answer {
        Some(ReviewBody { status: ReviewStatus { allowed: true } }) => ReviewAnswer::Allowed,
        Some(_) => ReviewAnswer::Denied,
        None => ReviewAnswer::Away(error("the answer to an access review cannot be read".to_owned())),
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
