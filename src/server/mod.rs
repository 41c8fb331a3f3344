//! `roster serve`: one listener, bounded, with an orderly end.

mod connection;

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::{net::TcpListener, sync::Semaphore};

use crate::{
    http::{self, App, Limits},
    telemetry::logs::{self, LogFormat},
};

/// The flags of `roster serve`.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where to listen. Loopback unless somebody asks for more: there is no authentication.
    pub listen: SocketAddr,
    /// Print addresses and a sample call, and offer sample data.
    pub dev: bool,
    /// How log lines look.
    pub log_format: LogFormat,
    /// Which log lines are written: a `tracing` filter such as `info`.
    pub log_filter: String,
    /// Bounds of a request.
    pub limits: Limits,
    /// Open connections; one more waits to be accepted.
    pub connections: usize,
    /// Longest time from a connection, or the request before, to the end of a request's head.
    pub head_timeout: Duration,
    /// Longest time in which a client takes no byte of an answer.
    pub write_timeout: Duration,
    /// How long requests may go on after SIGTERM or SIGINT.
    pub drain: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            dev: false,
            log_format: LogFormat::Text,
            log_filter: "info".to_owned(),
            limits: Limits::default(),
            connections: 1024,
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(20),
        }
    }
}

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
    let server = Server::bind(options).await?;
    announce(&server.banner());
    server.run(stop_signal()?).await;
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

    /// Answers until `stop` is ready, then lets open requests finish, up to the drain limit.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, address, app, options } = self;
        let slots = Arc::new(Semaphore::new(options.connections));
        let router = http::router(app.clone());
        let graceful = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        app.set_ready(true);
        tracing::info!(%address, "listening");
        loop {
            let accepted = async {
                let slot = slots.clone().acquire_owned().await.ok()?;
                Some((listener.accept().await, slot))
            };
            tokio::select! {
                accepted = accepted => match accepted {
                    Some((Ok((tcp, _)), slot)) => connection::spawn(tcp, slot, &router, &app, &graceful, &options),
                    // Out of file descriptors, most likely: give connections time to end.
                    Some((Err(error), _)) => {
                        tracing::warn!(%error, "accept");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    None => break,
                },
                () = &mut stop => break,
            }
        }
        app.set_ready(false);
        drop(listener);
        tracing::info!(connections = graceful.count(), "stopping");
        if tokio::time::timeout(options.drain, graceful.shutdown()).await.is_err() {
            tracing::warn!(drain_seconds = options.drain.as_secs_f32(), "stopped with requests unanswered");
        }
    }
}

/// Ready at SIGTERM or SIGINT.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate()).context("SIGTERM")?;
    let mut int = signal(SignalKind::interrupt()).context("SIGINT")?;
    Ok(async move {
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
    })
}
