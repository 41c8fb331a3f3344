//! The bytes of one connection, with a limit for those that nobody takes.

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

/// A stream whose writes fail when the other side takes nothing for a while: hyper has no such limit,
/// and a client that never reads would keep its connection and its answer for ever.
#[derive(Debug)]
pub(super) struct Patient<S> {
    io: S,
    limit: Duration,
    /// Read already, to know which HTTP it is; given out first.
    seen: Bytes,
    /// Running while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + Unpin> Patient<S> {
    pub(super) fn new(io: S, limit: Duration) -> Self {
        Self { io, limit, seen: Bytes::new(), stalled: None }
    }

    /// Whether the client begins with `text`; `None` if it goes before that is clear. Nothing is lost: what was
    /// read here is read again. Call it once, before any other read.
    pub(super) async fn begins_with(&mut self, text: &[u8]) -> io::Result<Option<bool>> {
        let mut seen = BytesMut::with_capacity(text.len());
        while seen.len() < text.len() && text.starts_with(&seen) {
            // No byte more than `text` has: the rest is hyper's.
            let rest = text.len() - seen.len();
            if (&mut self.io).take(rest as u64).read_buf(&mut seen).await? == 0 {
                return Ok(None);
            }
        }
        self.seen = seen.freeze();
        Ok(Some(self.seen == text))
    }
}

impl<S> Patient<S> {
    fn check<T>(&mut self, polled: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.seen.is_empty() {
            return Pin::new(&mut self.io).poll_read(cx, buf);
        }
        let n = self.seen.len().min(buf.remaining());
        buf.put_slice(&self.seen[..n]);
        self.seen.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, buf);
        self.check(polled, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.check(polled, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
