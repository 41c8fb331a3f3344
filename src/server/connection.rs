//! One connection: which HTTP it speaks, how long it may take, and how it ends.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::{Router, middleware};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use prometheus_client::metrics::gauge::Gauge;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::timeout,
};

use super::{
    ServeOptions,
    patient::Patient,
    streams::{self, Streams},
};
use crate::http::App;

/// Most bytes of a request's head.
const MAX_HEAD: usize = 64 << 10;
/// Requests of one HTTP/2 connection at once.
const MAX_STREAMS: u32 = 128;
/// The first bytes of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What all connections of a server share.
#[derive(Clone)]
pub(super) struct Connections {
    router: Router,
    open: Gauge,
    head: Duration,
    write: Duration,
    /// Says `true` when the server stops, and is closed when the last connection has ended.
    stop: Arc<watch::Sender<bool>>,
}

impl Connections {
    pub(super) fn new(router: Router, app: &App, options: &ServeOptions) -> Self {
        Self {
            router: router.layer(middleware::map_response(streams::watch)),
            open: app.metrics.connections.clone(),
            head: options.head_timeout,
            write: options.write_timeout,
            stop: Arc::new(watch::Sender::new(false)),
        }
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.stop.receiver_count()
    }

    /// Ends those that wait for a request, and the others after theirs.
    pub(super) async fn stop(&self) {
        self.stop.send_replace(true);
        self.stop.closed().await;
    }

    /// Serves `io` on a task of its own, which holds `slot`.
    pub(super) fn spawn<S>(&self, io: S, slot: impl Send + 'static)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (open, stop) = (Open::new(&self.open), self.stop.subscribe());
        let (service, head) = (TowerToHyperService::new(self.router.clone()), self.head);
        let io = Patient::new(io, self.write);
        let streams = Streams::new(self.write);
        tokio::spawn(async move {
            let _held = (slot, open);
            serve(io, service, head, streams, stop).await;
        });
    }
}

/// Counts an open connection, however it ends.
struct Open(Gauge);

impl Open {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

async fn serve<S>(
    mut io: Patient<S>,
    service: TowerToHyperService<Router>,
    head: Duration,
    streams: Streams,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // hyper-util looks for the preface without a time limit, and does not end at a stop meanwhile: so it is
    // looked for here.
    let h2 = tokio::select! {
        biased;
        h2 = timeout(head, io.begins_with(PREFACE)) => h2,
        () = stopped(&mut stop) => return,
    };
    let Ok(Ok(Some(h2))) = h2 else { return };
    let builder = builder(head, streams.clone());
    let builder = if h2 { builder.http2_only() } else { builder.http1_only() };
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => Some(ended),
        () = stopped(&mut stop) => None,
        // HTTP/1 has its limit for the next head in hyper; HTTP/2 has none there.
        () = streams.idle(head), if h2 => None,
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            ended = connection.as_mut() => ended,
            // This client does not go when it is asked to.
            () = streams.idle(head), if h2 => Ok(()),
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "connection");
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that nobody is left who could stop it later.
    let _ = stop.wait_for(|stop| *stop).await;
}

fn builder(head: Duration, streams: Streams) -> Builder<Streams> {
    let mut builder = Builder::new(streams);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(MAX_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(64 << 10)
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    builder
}
