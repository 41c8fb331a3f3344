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
    activity::{Activity, ActivityStage, STALLED},
    ledger::Holding,
    peer::Peer,
    response_clock::{ResponseClock, time_for},
    standings::Standings,
    tcp_stream::HangUp,
};
use crate::runtime::tls::ClientChain;

/// The size of a piece of a response: h2 buffers what it gets, however small the window is.
const PIECE: usize = 16 << 10;

/// How many bytes a usual client reads in a second, at the least. A response that is read more slowly ends by its clock, but
/// until then it counts as one that stands still: where memory is scarce, others need it more.
const USUAL_PACE: u32 = 256 << 10;

/// Who sent a request, and how far it is: an extension of every request that came over a connection.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) peer: Peer,
    /// Whether the client has hung up, where the stream tells.
    pub(crate) hang_up: HangUp,
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
            let (hang_up, standings) = (HangUp::default(), Standings::default());
            Self { peer: Peer::UNKNOWN, hang_up, client: None, activity, standings }
        })
    }

    /// Gives credit to the peer for an answered review, or a request that its caller may make.
    pub(crate) fn credit(&self) {
        self.standings.earn(self.peer);
    }

    /// Takes the credit of a peer that asks for more than its share: others with credit must find a place before it does.
    pub(crate) fn forfeit_credit(&self) {
        self.standings.forfeit(self.peer);
    }

    /// Gives credit to the peer once it has read the response to which this is added, no slower than a usual client.
    pub(crate) fn credit_when_read(&self) -> CreditWhenRead {
        CreditWhenRead { peer: self.peer, standings: self.standings.clone() }
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

/// Credit for a response that is read: an extension of the response. What hyper and the kernel hold counts as read. A client
/// that reads too slowly loses the credit that it has.
#[derive(Clone, Debug)]
pub(crate) struct CreditWhenRead {
    peer: Peer,
    standings: Standings,
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

/// How far the client of a response has come.
#[derive(Debug)]
struct ReadProgress {
    /// When a client of the usual pace would have read as much. `None`: the client has read all that there was.
    as_far_as: Option<Instant>,
    /// The bytes that it reads now.
    piece: usize,
}

impl ReadProgress {
    /// The piece before was read, and the client waits for another one.
    fn wait(&mut self) {
        self.as_far_as = None;
    }

    /// The piece before was read, and this one follows at once. Returns how far the client has come.
    fn next(&mut self, piece: usize) -> Instant {
        let now = Instant::now();
        let as_far_as = self.as_far_as.map_or(now, |at| now.min(at + time_for(self.piece, USUAL_PACE)));
        (self.as_far_as, self.piece) = (Some(as_far_as), piece);
        as_far_as
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
    read: ReadProgress,
    credit: Option<CreditWhenRead>,
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
        let (held, credit) = ((head.extensions.remove(), place), head.extensions.remove());
        activity.ends(&clock, clock.reset());
        let (rest, read) = (Bytes::new(), ReadProgress { as_far_as: None, piece: 0 });
        Response::from_parts(head, Body::new(Self { body, rest, splits_end, clock, activity, read, credit, held }))
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
            let Poll::Ready(polled) = Pin::new(&mut self.body).poll_frame(cx) else {
                self.read.wait();
                return Poll::Pending;
            };
            match polled {
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
        let as_far_as = self.read.next(piece.len());
        if as_far_as.elapsed() >= STALLED
            && let Some(CreditWhenRead { peer, standings }) = self.credit.take()
        {
            // Otherwise one small request in ten seconds would protect many answers that are read slowly.
            standings.forfeit(peer);
        }
        self.activity.respond(as_far_as);
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
        if let Some(CreditWhenRead { peer, standings }) = self.credit.take()
            && self.is_end_stream()
            && self.read.next(0).elapsed() < STALLED
        {
            standings.earn(peer);
        }
        // What the exchange still holds is released at once, or by a job that outlives it. Nobody gains by an eviction, and
        // on this connection the next request may have begun. The connection is idle from now on.
        self.activity.set(ActivityStage::Computing);
        self.activity.moved();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    /// Reads so many bytes at once, with this pause before the next. Returns how far behind a usual client that is in the end.
    async fn lag(reads: &[(usize, u64)]) -> Duration {
        let mut read = ReadProgress { as_far_as: None, piece: 0 };
        for (bytes, millis) in reads {
            read.next(*bytes);
            advance(Duration::from_millis(*millis)).await;
        }
        read.next(0).elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_falls_behind() {
        let usual = USUAL_PACE as usize;
        let rows: [(&str, &[_], u64); 5] = [
            ("nothing read", &[], 0),
            ("at the usual pace", &[(usual, 1000), (usual / 2, 500)], 0),
            ("at half the pace", &[(usual, 2000), (usual, 2000)], 2000),
            ("a fast beginning buys no time", &[(usual, 0), (usual, 0), (usual / 2, 1000)], 500),
            ("who reads fast catches up", &[(usual, 3000), (usual, 0), (usual, 0)], 0),
        ];
        for (name, reads, millis) in rows {
            assert_eq!(lag(reads).await, Duration::from_millis(millis), "{name}");
        }
    }
}
