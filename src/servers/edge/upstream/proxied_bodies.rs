//! The bodies of a request that is passed on and of its response: with the response, the request ends too.
//!
//! A server that refuses a request responds before its body has come. What the client still sends, or does not, would keep the
//! connection to the API server, and the stream of the client.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes, HttpBody};
use futures::FutureExt;
use hyper::body::{Frame, SizeHint};
use tokio::sync::oneshot;

use crate::runtime::net::Holding;

/// The body of a request on its way to the API server.
pub(super) struct ProxiedRequestBody {
    body: Body,
    ended: oneshot::Receiver<Infallible>,
}

/// The body of its response. It holds the place of the request.
pub(super) struct ProxiedResponseBody {
    body: Body,
    #[expect(dead_code, reason = "held, never read")]
    held: (ResponseEnd, Holding),
}

/// The end of a response: when it is dropped.
pub(super) struct ResponseEnd(#[expect(dead_code, reason = "held, never read")] oneshot::Sender<Infallible>);

impl ProxiedRequestBody {
    /// A body that fails at the end of the response, unless it has ended before.
    pub(crate) fn wrap(body: Body) -> (Body, ResponseEnd) {
        let (end, ended) = oneshot::channel();
        let body = if body.is_end_stream() { body } else { Body::new(Self { body, ended }) };
        (body, ResponseEnd(end))
    }
}

impl ProxiedResponseBody {
    pub(crate) fn wrap(body: Body, end: ResponseEnd, place: Holding) -> Body {
        Body::new(Self { body, held: (end, place) })
    }
}

impl HttpBody for ProxiedRequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.ended.poll_unpin(cx).is_ready() {
            let error = io::Error::new(io::ErrorKind::BrokenPipe, "the response has ended before the request");
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        }
        poll_data(&mut self.body, cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl HttpBody for ProxiedResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        poll_data(&mut self.body, cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The next data. Trailers end a body, and stay here: they are headers that nobody has looked at.
fn poll_data(body: &mut Body, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
    Pin::new(body).poll_frame(cx).map(|frame| frame.filter(|frame| !frame.as_ref().is_ok_and(Frame::is_trailers)))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};
    use futures::StreamExt;
    use http_body_util::{BodyExt, StreamBody};

    use super::*;
    use crate::runtime::net::{Activity, Health, Peer};

    #[tokio::test]
    async fn trailers_are_not_passed_on() {
        let frames = || {
            let mut trailers = HeaderMap::new();
            trailers.insert(header::FORWARDED, HeaderValue::from_static("for=192.0.2.1"));
            let frames = [Frame::data(Bytes::from("a")), Frame::data(Bytes::from("b")), Frame::trailers(trailers)];
            Body::new(StreamBody::new(futures::stream::iter(frames.map(Ok::<_, Infallible>))))
        };
        let (request, end) = ProxiedRequestBody::wrap(frames());
        let (_, other_end) = ProxiedRequestBody::wrap(Body::empty());
        let activity = Activity::connection();
        let ledger = Health::default().ledger("edge", "tested", 8);
        let place = ledger.take(Peer::UNKNOWN, 1, &activity).unwrap();
        for body in [request, ProxiedResponseBody::wrap(frames(), other_end, place)] {
            let collected = body.collect().await.unwrap();
            assert!(collected.trailers().is_none());
            assert_eq!(collected.to_bytes(), "ab");
        }
        drop(end);
    }

    #[tokio::test]
    async fn the_body_of_a_request_ends_with_the_response() {
        let first = futures::stream::iter([Ok::<_, Infallible>("a")]);
        let body = Body::from_stream(first.chain(futures::stream::pending()));
        let (body, end) = ProxiedRequestBody::wrap(body);
        let mut pieces = body.into_data_stream();
        assert_eq!(pieces.next().await.unwrap().unwrap(), "a");
        assert!(pieces.next().now_or_never().is_none());
        drop(end);
        assert!(pieces.next().await.unwrap().is_err());
    }
}
