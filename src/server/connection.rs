//! One connection: which HTTP it speaks, and how long it may take.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep, sleep, timeout},
};

use super::ServeOptions;
use crate::http::App;

/// Most bytes of a request's head.
const MAX_HEAD: usize = 64 << 10;
/// The first bytes of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Serves `tcp` on a task of its own; `graceful` waits for it, and `slot` is free again after it.
pub(super) fn spawn(
    tcp: TcpStream,
    slot: OwnedSemaphorePermit,
    router: &Router,
    app: &Arc<App>,
    graceful: &GracefulShutdown,
    options: &ServeOptions,
) {
    let (watcher, service) = (graceful.watcher(), TowerToHyperService::new(router.clone()));
    let (app, head, write) = (app.clone(), options.head_timeout, options.write_timeout);
    app.metrics.connections.inc();
    tokio::spawn(async move {
        let _slot = slot;
        let _ = tcp.set_nodelay(true);
        // hyper-util looks for the preface without a time limit, so it is looked for here.
        if let Ok(Ok(Some(h2))) = timeout(head, speaks_h2(&tcp)).await {
            let builder = builder(head);
            let builder = if h2 { builder.http2_only() } else { builder.http1_only() };
            let connection = builder.serve_connection(TokioIo::new(Patient::new(tcp, write)), service);
            if let Err(error) = watcher.watch(connection.into_owned()).await {
                tracing::debug!(error, "connection");
            }
        }
        app.metrics.connections.dec();
    });
}

fn builder(head: Duration) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(MAX_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(64 << 10)
        .max_concurrent_streams(128)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    builder
}

/// Whether the client begins with the preface of HTTP/2; `None` if it sends nothing and goes.
async fn speaks_h2(tcp: &TcpStream) -> io::Result<Option<bool>> {
    let mut seen = [0; PREFACE.len()];
    loop {
        let n = tcp.peek(&mut seen).await?;
        if n == 0 {
            return Ok(None);
        }
        if !PREFACE.starts_with(&seen[..n]) {
            return Ok(Some(false));
        }
        if n == PREFACE.len() {
            return Ok(Some(true));
        }
        // Peeking does not wait for more than is there.
        sleep(Duration::from_millis(5)).await;
    }
}

/// A stream whose writes fail when the other side takes nothing for a while: hyper has no such limit,
/// and a client that never reads would keep its connection and its answer for ever.
struct Patient {
    tcp: TcpStream,
    limit: Duration,
    /// Running while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn new(tcp: TcpStream, limit: Duration) -> Self {
        Self { tcp, limit, stalled: None }
    }

    fn check<T>(&mut self, polled: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + limit)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.tcp).poll_write(cx, buf);
        self.check(polled, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.tcp).poll_write_vectored(cx, bufs);
        self.check(polled, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
