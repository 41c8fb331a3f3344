//! A request and its response: what both hold while they last.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, HttpBody},
    http::{Extensions, Request},
    response::Response,
};
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::Instant;

use super::{
    activity::{Activity, ActivityStage},
    ledger::Holding,
    peer::Peer,
    response_clock::ResponseClock,
    standings::Standings,
};
use crate::runtime::tls::ClientChain;

/// The size of a piece of a response: h2 buffers what it gets, however small the window is.
const PIECE: usize = 16 << 10;

/// Who sent a request, and how far it is: an extension of every request that came over a connection.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) peer: Peer,
    /// The certificate that the client has shown, where the listener takes some.
    pub(crate) client: Option<ClientChain>,
    pub(crate) activity: Arc<Activity>,
    pub(super) standings: Standings,
}

impl Exchange {
    /// The exchange of a request with these extensions. A request that came over no connection has one of its own.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_else(|| {
            let activity = Activity::request(Activity::connection());
            Self { peer: Peer::UNKNOWN, client: None, activity, standings: Standings::default() }
        })
    }

    /// Gives credit to the peer for an answered review, or a request that its caller may make.
    pub(crate) fn credit(&self) {
        self.standings.earn(self.peer);
    }

    /// Whether the peer has credit.
    pub(crate) fn has_credit(&self) -> bool {
        self.standings.has_credit(self.peer, Instant::now())
    }
}

/// What a response holds until its client has read it, or reads too slowly: an extension of the response.
#[derive(Clone, Debug)]
pub(crate) struct HeldByResponse(#[expect(dead_code, reason = "held, never read")] Arc<Vec<Holding>>);

impl HeldByResponse {
    pub(crate) fn new(held: impl IntoIterator<Item = Holding>) -> Self {
        Self(Arc::new(held.into_iter().collect()))
    }
}

/// The body of a request, which reports its progress.
pub(super) struct RequestBody {
    body: Incoming,
    activity: Arc<Activity>,
}

impl RequestBody {
    /// The request with a body that reports its progress to the exchange.
    pub(super) fn wrap(request: Request<Incoming>, exchange: Exchange) -> Request<Body> {
        let (mut head, body) = request.into_parts();
        let activity = exchange.activity.clone();
        head.extensions.insert(exchange);
        if body.is_end_stream() {
            activity.set(ActivityStage::Computing);
            return Request::from_parts(head, Body::empty());
        }
        Request::from_parts(head, Body::new(Self { body, activity }))
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if polled.is_none() || self.body.is_end_stream() {
            self.activity.set(ActivityStage::Computing);
        } else {
            self.activity.moved();
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response, in pieces that the clock counts. With it ends what the exchange held.
pub(super) struct ResponseBody {
    body: Body,
    rest: Bytes,
    /// Whether the last byte is a piece of its own, over HTTP/2. hyper gives a piece to h2 when there is room for one byte of
    /// it, and with the last piece the stream is done: h2 would keep that piece for as long as the client likes.
    splits_end: bool,
    clock: ResponseClock,
    activity: Arc<Activity>,
    #[expect(dead_code, reason = "held, never read")]
    held: (Option<HeldByResponse>, Option<Holding>),
}

impl ResponseBody {
    /// The response with a body that holds `place`.
    pub(super) fn wrap(
        response: Response,
        clock: ResponseClock,
        activity: Arc<Activity>,
        place: Option<Holding>,
        splits_end: bool,
    ) -> Response {
        let (mut head, body) = response.into_parts();
        let held = (head.extensions.remove(), place);
        activity.ends(&clock, clock.reset());
        Response::from_parts(head, Body::new(Self { body, rest: Bytes::new(), splits_end, clock, activity, held }))
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            // Until a piece is ready, the client is not the one that is slow.
            self.clock.stop();
            self.activity.set(ActivityStage::Computing);
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        let most = match self.rest.len() {
            length if self.splits_end && length <= PIECE => length.saturating_sub(1).max(1).min(length),
            length => length.min(PIECE),
        };
        let piece = self.rest.split_to(most);
        // The pieces before this one were read, or are in buffers of a bounded size.
        self.clock.add(piece.len());
        self.clock.start();
        self.activity.set(ActivityStage::Responding);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, body, rest) = (SizeHint::new(), self.body.size_hint(), self.rest.len() as u64);
        if let Some(upper) = body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(body.lower().saturating_add(rest));
        hint
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.clock.stop();
        // What the exchange still holds is released at once, or by a job that outlives it. Nobody gains by an eviction, and
        // on this connection the next request may have begun. The connection is idle from now on.
        self.activity.set(ActivityStage::Computing);
        self.activity.moved();
    }
}
