//! The stream of a connection: a time-out for writes to a client that reads nothing, and a turn for everyone.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// How much a connection reads before others have their turn. tokio counts reads, and each may bring 16 KiB: a hundred of
/// them, with what hyper and h2 make of them, take milliseconds, for each of the connections that send as fast as they can.
const READS: usize = 32 << 10;

/// A stream whose writes fail when the client reads nothing for too long. hyper has no such time-out, and a client
/// that never reads would hold its connection and its answer forever.
#[derive(Debug)]
pub(super) struct WriteTimeout<S> {
    io: S,
    limit: Duration,
    /// Bytes that were read to detect the HTTP version; they are returned by the next reads.
    seen: Bytes,
    /// Bytes that were read since the task last yielded.
    read: usize,
    /// Runs while a write is pending.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + Unpin> WriteTimeout<S> {
    pub(super) fn new(io: S, limit: Duration) -> Self {
        Self { io, limit, seen: Bytes::new(), read: 0, stalled: None }
    }

    /// Whether the first bytes of the client are `text`; `None` if it closes before that is certain. The bytes are
    /// read again afterwards. Call this once, before any other read.
    pub(super) async fn begins_with(&mut self, text: &[u8]) -> io::Result<Option<bool>> {
        let mut seen = BytesMut::with_capacity(text.len());
        while seen.len() < text.len() && text.starts_with(&seen) {
            // Never read beyond `text`: the rest belongs to hyper.
            let rest = text.len() - seen.len();
            if (&mut self.io).take(rest as u64).read_buf(&mut seen).await? == 0 {
                return Ok(None);
            }
        }
        self.seen = seen.freeze();
        Ok(Some(self.seen == text))
    }
}

impl<S> WriteTimeout<S> {
    fn limit_write<T>(&mut self, polled: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.seen.is_empty() {
            if self.read >= READS {
                self.read = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let before = buf.filled().len();
            let polled = Pin::new(&mut self.io).poll_read(cx, buf);
            self.read = if polled.is_ready() { self.read + buf.filled().len() - before } else { 0 };
            return polled;
        }
        let n = self.seen.len().min(buf.remaining());
        buf.put_slice(&self.seen[..n]);
        self.seen.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, buf);
        self.limit_write(polled, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.limit_write(polled, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_flush(cx);
        self.limit_write(polled, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_shutdown(cx);
        self.limit_write(polled, cx)
    }
}
