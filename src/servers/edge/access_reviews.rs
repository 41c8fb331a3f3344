//! Asks the API server whether a client may read what is cached, with the token of the client.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    body::Body,
    http::{HeaderMap, Request, StatusCode, header},
};
use serde::Deserialize;
use serde_json::json;
use tokio::{sync::Notify, time::Instant};

use super::{
    access_table::{AccessQuestion, AccessTable, KnownAccess},
    api_server::ApiServer,
    caller::{Caller, unauthorized},
    proxy::RETRY,
    review_places::{ReviewPlaces, Reviewed},
    target::CachedRead,
};
use crate::runtime::{
    net::{Exchange, Health},
    status_error::StatusError,
};

const PATH: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// Longest time of a review. While the API server is away, clients wait for it.
const LIMIT: Duration = Duration::from_secs(3);
/// The limit of an answer in bytes.
const MAX_ANSWER: usize = 256 << 10;

/// Decides who may read what is cached.
#[derive(Debug)]
pub(super) struct AccessReviews {
    api: Arc<ApiServer>,
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
    pub(super) fn new(api: Arc<ApiServer>, health: &Health) -> Self {
        Self { api, table: Mutex::default(), places: ReviewPlaces::new(health), allowed: Notify::new() }
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
        let token = caller.bearer()?;
        let question = AccessQuestion { token, verb: read.verb(), resource: read.resource, object: read.object() };
        let allowed_offline = match self.table().look_up(&question, Instant::now()) {
            KnownAccess::Allowed => return Ok(()),
            KnownAccess::Denied => return Err(denied(&question)),
            KnownAccess::Unknown { allowed_offline } => allowed_offline,
        };
        let reviewed = match self.table().knows(token) {
            true => Reviewed::KnownToken,
            false if exchange.has_credit() => Reviewed::KnownPeer,
            false => Reviewed::Stranger,
        };
        let place = match self.places.take(exchange, reviewed).await {
            Some(place) => place,
            None if allowed_offline => return Ok(()),
            None => return Err(too_many_reviews()),
        };
        // Another request may have had the answer meanwhile.
        match self.table().look_up(&question, Instant::now()) {
            KnownAccess::Allowed => return Ok(()),
            KnownAccess::Denied => return Err(denied(&question)),
            KnownAccess::Unknown { .. } => {}
        }
        match self.review(caller, &question).await {
            ReviewAnswer::Allowed => {
                self.table().insert(question, true, Instant::now());
                self.allowed.notify_one();
                Ok(())
            }
            ReviewAnswer::Denied => {
                let error = denied(&question);
                self.table().insert(question, false, Instant::now());
                place.refused();
                Err(error)
            }
            ReviewAnswer::Unauthenticated => {
                self.table().forget(token);
                place.refused();
                Err(unauthorized("the API server does not accept the token"))
            }
            ReviewAnswer::Away(_) if allowed_offline => Ok(()),
            ReviewAnswer::Away(error) => Err(error),
        }
    }

    /// Sends a `SelfSubjectAccessReview` as the client.
    async fn review(&self, caller: &Caller, question: &AccessQuestion) -> ReviewAnswer {
        let AccessQuestion { verb, resource, object, .. } = question;
        let attributes = json!({
            "verb": verb, "group": resource.group(), "version": resource.version(), "resource": resource.plural(),
            "namespace": object.namespace, "name": object.name,
        });
        let review = json!({ "kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
            "spec": { "resourceAttributes": attributes } });
        let away = |why: String| ReviewAnswer::Away(StatusError::busy(why).retry_after(RETRY));
        let mut request = Request::new(Body::from(review.to_string()));
        (*request.method_mut(), *request.uri_mut()) = (axum::http::Method::POST, axum::http::Uri::from_static(PATH));
        let json = header::HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json.clone());
        request.headers_mut().insert(header::ACCEPT, json);
        request.headers_mut().insert(header::AUTHORIZATION, caller.authorization.clone());
        let response = match self.api.send_within(request, LIMIT).await {
            Ok(response) => response,
            Err(error) => return ReviewAnswer::Away(error.into()),
        };
        match response.status() {
            StatusCode::UNAUTHORIZED => return ReviewAnswer::Unauthenticated,
            // Who may not even ask may not read.
            StatusCode::FORBIDDEN => return ReviewAnswer::Denied,
            status if status.is_success() => {}
            status => return away(format!("the API server answered {status} to a SelfSubjectAccessReview")),
        }
        let body = tokio::time::timeout(LIMIT, axum::body::to_bytes(response.into_body(), MAX_ANSWER)).await;
        let answer = body.ok().and_then(Result::ok).and_then(|body| serde_json::from_slice(&body).ok());
        match answer {
            Some(ReviewBody { status: ReviewStatus { allowed: true } }) => ReviewAnswer::Allowed,
            Some(_) => ReviewAnswer::Denied,
            None => away("the answer to a SelfSubjectAccessReview cannot be read".to_owned()),
        }
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

fn too_many_reviews() -> StatusError {
    StatusError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", "too many access reviews").retry_after(RETRY)
}

fn denied(question: &AccessQuestion) -> StatusError {
    let AccessQuestion { verb, resource, object, .. } = question;
    let at = match object.namespace.as_str() {
        "" => " at the cluster scope".to_owned(),
        namespace => format!(" in the namespace {namespace:?}"),
    };
    let message = format!("the API server does not let this token {verb} {}{at}", resource.plural());
    StatusError::new(StatusCode::FORBIDDEN, "Forbidden", message)
}
