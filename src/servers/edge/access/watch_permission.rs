//! The permission of an open watch: it ends with a refusal, and when it cannot be renewed.

use std::{sync::Arc, time::Duration};

use axum::http::Extensions;
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep, sleep_until, timeout_at},
};

use super::{
    access_holds::AccessHold,
    access_reviews::AccessReviews,
    access_table::{AccessQuestion, REFUSED},
    caller::Caller,
    review_places::Reviewed,
};
use crate::runtime::{net::Exchange, status_error::StatusError};

/// How long a permission that is to be renewed still counts: as long as a refusal counts until the API server is asked again.
const RENEWAL: Duration = REFUSED;
/// The pause after a renewal that failed, of several within that time.
const RETRY: Duration = Duration::from_secs(1);
/// After how long one is tried again while the API server is away.
const WHILE_AWAY: Duration = Duration::from_secs(5);

/// A permission, which is renewed until it is dropped.
#[derive(Debug)]
pub(crate) struct WatchPermission {
    hold: AccessHold,
    renewal: AbortHandle,
}

/// Whether the credentials of a client count still, apart from what the API server says.
pub(crate) type StillValid = Box<dyn Fn() -> bool + Send + Sync>;

impl WatchPermission {
    /// The permission of a caller to whom the question was just answered.
    pub(crate) fn begin(
        access: &Arc<AccessReviews>,
        caller: &Caller,
        question: AccessQuestion,
        is_valid: StillValid,
    ) -> Result<Self, StatusError> {
        let hold = access.hold(question.clone())?;
        let (access, caller, end) = (access.clone(), caller.detached(), hold.ending());
        let renewal = tokio::spawn(async move {
            renew(&access, &caller, &question, &is_valid).await;
            end();
        });
        Ok(Self { hold, renewal: renewal.abort_handle() })
    }

    /// Whether it has ended.
    pub(crate) fn is_ended(&self) -> bool {
        self.hold.is_ended()
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) {
        self.hold.ended().await;
    }
}

impl Drop for WatchPermission {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// Asks again and again, whenever another request of the caller would. Returns when the permission has ended: the API server
/// refuses it, or is there and does not answer.
async fn renew(access: &AccessReviews, caller: &Caller, question: &AccessQuestion, is_valid: &StillValid) {
    // The watch is known, and not the connection that asked first.
    let exchange = Exchange::of(&Extensions::new());
    loop {
        let now = Instant::now();
        let fresh = access.fresh_for(question);
        let due = now + if fresh.is_zero() { WHILE_AWAY } else { fresh };
        sleep_until(due).await;
        if !is_valid() {
            return;
        }
        let end = due + RENEWAL;
        loop {
            let asked = access.ask(caller, question.clone(), Reviewed::KnownCaller, &exchange);
            match timeout_at(end, asked).await {
                Ok(Ok(())) => break,
                Ok(Err(error)) if !error.code.is_client_error() || error.code.as_u16() == 429 => {
                    if Instant::now() + RETRY >= end {
                        return;
                    }
                    sleep(RETRY).await;
                }
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use axum::http::{HeaderMap, HeaderValue, Method, header};
    use futures::StreamExt;
    use tokio::time::timeout;

    use super::*;
    use crate::servers::edge::{
        cache::scheme::EdgeScheme,
        clients::target::{CachedRead, RequestTarget},
        tests::{GOOD, SERVICES, TestedEdge},
    };

    const HOUR: Duration = Duration::from_hours(1);

    fn watched() -> CachedRead {
        match RequestTarget::read(&Method::GET, &format!("{SERVICES}?watch=1").parse().unwrap(), "edge-1") {
            Ok(RequestTarget::Read(read)) => read,
            other => panic!("{other:?}"),
        }
    }

    async fn begin(edge: &TestedEdge, is_valid: bool) -> WatchPermission {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static(GOOD.1));
        let (caller, read) = (Caller::of(&headers, None).unwrap(), watched());
        edge.access.check(&caller, &headers, &read, &Exchange::of(&Extensions::new())).await.unwrap();
        let question = AccessQuestion::of(&caller, &read).unwrap();
        WatchPermission::begin(&edge.access, &caller, question, Box::new(move || is_valid)).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_permission_is_renewed_or_ends_in_time() {
        for (review_code, review_seconds, is_away, is_valid, want) in [
            (0, 0, false, true, None),
            (403, 0, false, true, Some(300)),
            (401, 0, false, true, Some(300)),
            // It does not matter which client brought it about.
            (429, 0, false, true, Some(309)),
            (500, 0, false, true, Some(309)),
            (401, 5, false, true, Some(310)),
            // The certificate has expired.
            (0, 0, false, false, Some(300)),
            (0, 0, true, true, None),
        ] {
            let edge = TestedEdge::new(EdgeScheme::SuperEdge);
            let mut permission = begin(&edge, is_valid).await;
            edge.api.review_code.store(review_code, Ordering::Relaxed);
            edge.api.review_seconds.store(review_seconds, Ordering::Relaxed);
            edge.api.is_away.store(is_away, Ordering::Relaxed);
            let start = Instant::now();
            let ended = timeout(HOUR, permission.ended()).await.ok().map(|()| start.elapsed().as_secs());
            assert_eq!(ended, want, "{review_code} {review_seconds} {is_away} {is_valid}");
            assert_eq!(permission.is_ended(), want.is_some());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_went_on_offline_ends_when_the_api_server_refuses() {
        let edge = TestedEdge::new(EdgeScheme::SuperEdge);
        let mut permission = begin(&edge, true).await;
        edge.api.is_away.store(true, Ordering::Relaxed);
        sleep(HOUR).await;
        assert!(!permission.is_ended());
        edge.api.review_code.store(403, Ordering::Relaxed);
        edge.api.is_away.store(false, Ordering::Relaxed);
        timeout(Duration::from_secs(20), permission.ended()).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_watch_ends_when_another_request_is_refused() {
        let edge = TestedEdge::new(EdgeScheme::SuperEdge);
        let mut events = edge.watch(&format!("{SERVICES}?watch=1")).await;
        assert_eq!(events.next().await.unwrap()["type"], "ADDED");
        edge.api.review_code.store(401, Ordering::Relaxed);
        assert_eq!(edge.get("/api/v1/namespaces/shop", &[GOOD]).await.0, 401);
        assert!(timeout(Duration::from_secs(1), events.next()).await.unwrap().is_none());
        assert_eq!(edge.slots.held(), 0);
    }
}
