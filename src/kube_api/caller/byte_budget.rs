//! The bytes that may be read of the answers to one caller.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::body::Body as AnswerBody;
use futures::TryStreamExt;
use kube::client::Body;

/// What a request counts for, whatever is answered: who ends each watch at once must not be asked forever.
const REQUEST: u64 = 16 << 10;

/// How many bytes may still be read. A clone is the same budget.
#[derive(Clone, Debug)]
pub(crate) struct ByteBudget(Arc<AtomicU64>);

impl ByteBudget {
    /// A budget of this many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    /// Whether more was sent than may be read.
    pub(crate) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Takes bytes. If there are not so many left, none are left from now on.
    fn take(&self, bytes: u64) -> bool {
        let left = |left: u64| Some(left.checked_sub(bytes).filter(|left| *left > 0).unwrap_or_default());
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok_and(|before| before > bytes)
    }

    /// Takes what a request counts for.
    pub(super) fn take_request(&self) -> io::Result<()> {
        if self.take(REQUEST) { Ok(()) } else { Err(spent()) }
    }

    /// The body, which breaks off where the budget ends.
    pub(super) fn limit(&self, body: Body) -> AnswerBody {
        let budget = self.clone();
        let parts = AnswerBody::new(body).into_data_stream().map_err(io::Error::other);
        AnswerBody::from_stream(parts.and_then(move |part| {
            std::future::ready(if budget.take(part.len() as u64) { Ok(part) } else { Err(spent()) })
        }))
    }
}

fn spent() -> io::Error {
    io::Error::other("more bytes than may be read")
}
