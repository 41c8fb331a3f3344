//! `roster serve`: one listener, bounded, with an orderly end.

mod connection;
mod options;
mod patient;
mod streams;
#[cfg(test)]
mod tests;

use std::{future::Future, net::SocketAddr, pin::pin, sync::Arc, task::Poll, time::Duration};

use anyhow::Context;
use futures::{Stream, StreamExt};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::{
    http::{self, App},
    telemetry::logs,
};
use connection::Connections;
pub use options::ServeOptions;

/// Runs until SIGTERM or SIGINT, on a runtime of its own. `announce` gets the text for the terminal
/// when the socket is open.
pub fn run(options: ServeOptions, announce: impl FnOnce(&str)) -> anyhow::Result<()> {
    logs::init(options.log_format, &options.log_filter).context("the log filter")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the async runtime")?;
    let done = runtime.block_on(serve(options, announce));
    // Computations that outlived the drain limit are not waited for.
    runtime.shutdown_background();
    done
}

/// Runs until SIGTERM or SIGINT.
pub async fn serve(options: ServeOptions, announce: impl FnOnce(&str)) -> anyhow::Result<()> {
    // First of all: whoever reads the announcement may send a signal at once.
    let signals = signals()?;
    let server = Server::bind(options).await?;
    announce(&server.banner());
    server.run(signals).await;
    Ok(())
}

/// A server whose socket is open.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    options: ServeOptions,
}

impl Server {
    /// Opens the socket: from here on connections queue, and nothing answers.
    pub async fn bind(options: ServeOptions) -> anyhow::Result<Self> {
        let context = || format!("cannot listen on {}", options.listen);
        let listener = TcpListener::bind(options.listen).await.with_context(context)?;
        let address = listener.local_addr().with_context(context)?;
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "reachable from other machines, without authentication");
        }
        Ok(Self { listener, address, app: App::new(options.limits.clone()), options })
    }

    /// The address, with the port that the system chose where port 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a person at a terminal wants to know.
    pub fn banner(&self) -> String {
        let Self { address, options, .. } = self;
        if !options.dev {
            return format!("listening on http://{address}\n");
        }
        format!(
            "Roster {version}\n\n  \
               documentation  http://{address}/docs/\n  \
               sample data    http://{address}/sample\n  \
               metrics        http://{address}/metrics\n\n\
             Try it:\n\n  \
               curl -s http://{address}/sample |\n    \
                 curl -s -H 'content-type: application/yaml' --data-binary @- 'http://{address}/v1/explain?service=shop/catalog'\n\n\
             Ctrl-C stops it.\n",
            version = env!("CARGO_PKG_VERSION"),
        )
    }

    /// Answers until the first signal, and ends in order:
    ///
    /// ```text
    /// signal ─► /readyz says no, connections are still taken ─ delay ─► none are taken, requests finish ─ drain ─► end
    /// ```
    /// Each further signal ends the phase it falls into.
    pub async fn run(self, signals: impl Stream<Item = ()>) {
        let Self { listener, address, app, options } = self;
        let connections = Connections::new(http::router(app.clone()), &app, &options);
        let slots = Arc::new(Semaphore::new(options.connections));
        let mut signals = pin!(signals.chain(futures::stream::pending()));

        app.set_ready(true);
        tracing::info!(%address, "listening");
        accept(&listener, &slots, &connections, signals.next()).await;

        app.set_ready(false);
        let delay = options.delay_on(address);
        if !delay.is_zero() {
            tracing::info!(delay_seconds = delay.as_secs_f32(), "not ready any more, still listening");
            let over = async {
                tokio::select! { () = sleep(delay) => {}, _ = signals.next() => {} }
            };
            accept(&listener, &slots, &connections, over).await;
        }

        drop(listener);
        tracing::info!(connections = connections.count(), "stopping");
        let ended = tokio::select! {
            ended = timeout(options.drain, connections.stop()) => ended.is_ok(),
            _ = signals.next() => false,
        };
        if !ended {
            tracing::warn!(connections = connections.count(), "stopped with requests unanswered");
        }
    }
}

/// Takes connections until `end` is ready.
async fn accept<T>(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
    connections: &Connections,
    end: impl Future<Output = T>,
) {
    let mut end = pin!(end);
    loop {
        let accepted = async {
            let slot = slots.clone().acquire_owned().await.ok()?;
            Some((listener.accept().await, slot))
        };
        tokio::select! {
            accepted = accepted => match accepted {
                Some((Ok((tcp, _)), slot)) => {
                    // Without it small answers may wait for an acknowledgement; they are right all the same.
                    let _ = tcp.set_nodelay(true);
                    connections.spawn(tcp, slot);
                }
                // Out of file descriptors, most likely: give connections time to end.
                Some((Err(error), _)) => {
                    tracing::warn!(%error, "accept");
                    sleep(Duration::from_millis(50)).await;
                }
                None => return,
            },
            _ = &mut end => return,
        }
    }
}

/// An item for each SIGTERM and SIGINT from now on.
fn signals() -> anyhow::Result<impl Stream<Item = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate()).context("SIGTERM")?;
    let mut int = signal(SignalKind::interrupt()).context("SIGINT")?;
    Ok(futures::stream::poll_fn(move |cx| {
        // Both are asked, so that both wake.
        let (term, int) = (term.poll_recv(cx), int.poll_recv(cx));
        if term.is_ready() || int.is_ready() { Poll::Ready(Some(())) } else { Poll::Pending }
    }))
}
