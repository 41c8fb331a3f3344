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

/// How long a permission that is to be renewed still counts. So long a refusal counts as well, until the API server is asked again.
const RENEWAL: Duration = REFUSED;
/// The pause after a renewal that failed, of several within that time.
const RETRY: Duration = Duration::from_secs(1);
/// After how long one is tried again while the API server is away.
const WHILE_AWAY: Duration = Duration::from_secs(5);

/// A permission, which is renewed until it is dropped.
#[derive(Debug)]
pub(super) struct WatchPermission {
    hold: AccessHold,
    renewal: AbortHandle,
}

/// Whether the credentials of a client count still, apart from what the API server says.
pub(super) type StillValid = Box<dyn Fn() -> bool + Send + Sync>;

impl WatchPermission {
    /// The permission of a caller to whom the question was just answered.
    pub(super) fn begin(
        access: &Arc<AccessReviews>,
        caller: Caller,
        question: AccessQuestion,
        is_valid: StillValid,
    ) -> Result<Self, StatusError> {
        let hold = access.hold(question.clone())?;
        let (access, end) = (access.clone(), hold.ending());
        let renewal = tokio::spawn(async move {
            renew(&access, &caller, &question, &is_valid).await;
            end();
        });
        Ok(Self { hold, renewal: renewal.abort_handle() })
    }

    /// Whether it has ended.
    pub(super) fn is_ended(&self) -> bool {
        self.hold.is_ended()
    }

    /// Waits for its end.
    pub(super) async fn ended(&mut self) {
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
    // The watch is known, whoever had the connection.
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
