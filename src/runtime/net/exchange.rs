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

use super::{
    activity::{Activity, Progress},
    credits::Credits,
    ledger::Holding,
    peer::Peer,
    response_clock::ResponseClock,
};

/// The size of a piece of a response: h2 buffers what it gets, however small the window is.
const PIECE: usize = 16 << 10;

/// Who sent a request, and how far it is: an extension of every request that came over a connection.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) peer: Peer,
    pub(crate) activity: Arc<Activity>,
    pub(super) credits: Credits,
}

impl Exchange {
    /// The exchange of a request with these extensions. A request that came over no connection has one of its own.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_else(|| {
            let activity = Activity::request(Activity::connection());
            Self { peer: Peer::UNKNOWN, activity, credits: Credits::default() }
        })
    }

    /// Gives credit to the peer for an answered review.
    pub(crate) fn credit(&self) {
        self.credits.earn(self.peer);
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
            activity.set(Progress::Computing);
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
            self.activity.set(Progress::Computing);
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
    clock: ResponseClock,
    activity: Arc<Activity>,
    #[expect(dead_code, reason = "held, never read")]
    held: (Option<HeldByResponse>, Holding),
}

impl ResponseBody {
    /// The response with a body that holds `place`.
    pub(super) fn wrap(response: Response, clock: ResponseClock, activity: Arc<Activity>, place: Holding) -> Response {
        let (mut head, body) = response.into_parts();
        activity.set(Progress::Responding);
        let held = (head.extensions.remove(), place);
        clock.reset();
        activity.ends(&clock);
        Response::from_parts(head, Body::new(Self { body, rest: Bytes::new(), clock, activity, held }))
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            // Until a piece is ready, the client is not the one that is slow.
            self.clock.stop();
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        let most = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(most);
        // The pieces before this one were read, or are in buffers of a bounded size.
        self.clock.add(piece.len());
        self.clock.start();
        self.activity.moved();
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
        // The activity lives until the exchange ends, but the response is on its way.
        self.activity.set(Progress::Idle);
    }
}
