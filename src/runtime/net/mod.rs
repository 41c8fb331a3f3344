//! `roster serve`: its listeners, all bounded, with one orderly end.
//!
//! ```text
//! REST, http ─────────────┐
//! webhook, https ─────────┼─► door (accept, bounds, TLS) ─► connection ─► router
//! health, metrics, http ──┘
//! ```

mod admin;
mod background;
mod connection;
mod door;
mod newcomers;
mod options;
mod patient;
mod policies;
mod ready;
mod streams;
mod tasks;
#[cfg(test)]
mod tests;

use std::{net::SocketAddr, pin::pin, sync::Arc, task::Poll};

use anyhow::Context;
use axum::Router;
use futures::{Stream, StreamExt, future::join_all};
use prometheus_client::metrics::gauge::Gauge;
use tokio::{
    net::TcpListener,
    time::{sleep, timeout},
};

use crate::{
    runtime::{
        telemetry::logs,
        tls::{Probe, Served},
    },
    servers::{
        rest::{self, App},
        webhook::{self, Webhook},
    },
};
use connection::{ConnectionLimits, Connections};
use door::{Door, Tls};
pub use options::{Certificates, ClusterOptions, ServeOptions, WebhookOptions};
pub use ready::Readiness;
pub use tasks::Tasks;

/// Runs until SIGTERM or SIGINT, on a runtime of its own. `announce` gets the text for the terminal
/// when the sockets are open.
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
    server.run(signals).await
}

/// A server whose sockets are open.
#[derive(Debug)]
pub struct Server {
    rest: Option<Bound>,
    admin: Option<Bound>,
    webhook: Option<BoundWebhook>,
    app: Arc<App>,
    readiness: Arc<Readiness>,
    tasks: Tasks,
    options: ServeOptions,
}

#[derive(Debug)]
struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

#[derive(Debug)]
struct BoundWebhook {
    socket: Bound,
    served: Arc<Served>,
    probe: Arc<Probe>,
    webhook: Arc<Webhook>,
    dev_bundle: Option<String>,
}

impl Bound {
    async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let (listener, address) = door::open(address).await?;
        Ok(Self { listener, address })
    }

    /// On another port if this one is taken and nobody has asked for it.
    async fn open_near(address: SocketAddr, any_port: bool) -> anyhow::Result<Self> {
        match Self::open(address).await {
            Err(_) if any_port => Self::open(SocketAddr::new(address.ip(), 0)).await,
            done => done,
        }
    }
}

impl Server {
    /// Opens the sockets: from here on connections queue, and nothing answers.
    pub async fn bind(options: ServeOptions) -> anyhow::Result<Self> {
        let app = App::new(options.limits.clone());
        let mut readiness = Readiness::new(app.clone(), options.clock.clone());
        let mut tasks = Tasks::default();
        let rest = match options.rest_listen() {
            Some(address) => Some(Bound::open(address).await?),
            None => None,
        };
        if let Some(Bound { address, .. }) = &rest
            && !address.ip().is_loopback()
        {
            tracing::warn!(%address, "reachable from other machines, without authentication");
        }
        let admin = match options.admin_listen {
            Some(address) => Some(Bound::open(address).await?),
            None => None,
        };
        let webhook = match &options.webhook {
            Some(webhook) => Some(bind_webhook(&options, webhook, &app, &mut readiness, &mut tasks).await?),
            None => None,
        };
        Ok(Self { rest, admin, webhook, app, readiness: Arc::new(readiness), tasks, options })
    }

    /// The address of the REST API, with the port that the system chose where port 0 was asked for.
    pub fn address(&self) -> Option<SocketAddr> {
        self.rest.as_ref().map(|b| b.address)
    }

    /// The address of health and metrics.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|b| b.address)
    }

    /// The address of the webhook.
    pub fn webhook_address(&self) -> Option<SocketAddr> {
        self.webhook.as_ref().map(|b| b.socket.address)
    }

    /// The CA of the webhook's certificate, if that is made anew at every start.
    fn dev_bundle(&self) -> Option<&str> {
        self.webhook.as_ref()?.dev_bundle.as_deref()
    }

    /// What a person at a terminal wants to know.
    pub fn banner(&self) -> String {
        options::banner(self)
    }

    /// Answers until the first signal, and ends in order:
    ///
    /// ```text
    /// signal ─► /readyz says no, connections are still taken ─ delay ─► none are taken, requests finish ─ drain ─► end
    /// ```
    /// Each further signal ends the phase it falls into. A background task that ends is a signal too, and an error.
    pub async fn run(self, signals: impl Stream<Item = ()>) -> anyhow::Result<()> {
        let addresses: Vec<SocketAddr> =
            [self.address(), self.admin_address(), self.webhook_address()].into_iter().flatten().collect();
        let delay = self.options.delay_on(&addresses);
        let (app, drain) = (self.app.clone(), self.options.drain);
        let (doors, mut tasks) = self.doors();
        let mut signals = pin!(signals.chain(futures::stream::pending()));

        app.set_ready(true);
        tracing::info!(?addresses, "listening");
        let failed = tokio::select! {
            () = accept(&doors) => None,
            _ = signals.next() => None,
            error = tasks.ended() => Some(error),
        };
        if let Some(error) = &failed {
            tracing::error!(error = format!("{error:#}"), "a background task ended");
        }

        app.set_ready(false);
        for door in &doors {
            door.connections.leave();
        }
        if !delay.is_zero() {
            tracing::info!(delay_seconds = delay.as_secs_f32(), "not ready any more, still listening");
            tokio::select! { () = accept(&doors) => {}, () = sleep(delay) => {}, _ = signals.next() => {} }
        }

        let connections: Vec<Connections> = doors.into_iter().map(|d| d.connections).collect();
        let count = || connections.iter().map(Connections::count).sum::<usize>();
        tracing::info!(connections = count(), "stopping");
        let ended = tokio::select! {
            ended = timeout(drain, join_all(connections.iter().map(Connections::stop))) => ended.is_ok(),
            _ = signals.next() => false,
        };
        if !ended {
            tracing::warn!(connections = count(), "stopped with requests unanswered");
        }
        failed.map_or(Ok(()), Err)
    }

    /// What is behind each socket.
    fn doors(self) -> (Vec<Door>, Tasks) {
        let Self { rest, admin, webhook, app, readiness, tasks, options } = self;
        let connections = |router: Router, open: &Gauge, late| {
            let limits = ConnectionLimits { head: options.head_timeout, write: options.write_timeout, late };
            Connections::new(router, open.clone(), limits)
        };
        let at_once = std::time::Duration::ZERO;
        let mut doors = Vec::new();
        if let Some(Bound { listener, .. }) = rest {
            let served = connections(rest::router(app.clone()), &app.metrics.connections, at_once);
            doors.push(Door::new(listener, served, options.connections, None));
        }
        if let Some(BoundWebhook { socket, served, probe, webhook, .. }) = webhook {
            let open = served.metrics().connections.clone();
            let behind = connections(webhook::router(webhook), &open, ServeOptions::LATE);
            doors.push(Door::new(socket.listener, behind, options.connections, Some(Tls { served, probe })));
        }
        if let Some(Bound { listener, .. }) = admin {
            let served = connections(admin::router(readiness), &app.metrics.connections, at_once);
            doors.push(Door::new(listener, served, options.connections, None));
        }
        (doors, tasks)
    }
}

/// Everything the webhook needs, and the tasks that keep it.
async fn bind_webhook(
    options: &ServeOptions,
    wanted: &WebhookOptions,
    app: &Arc<App>,
    readiness: &mut Readiness,
    tasks: &mut Tasks,
) -> anyhow::Result<BoundWebhook> {
    let served = Served::new(app.metrics.tls.clone());
    let socket = Bound::open_near(wanted.listen, wanted.any_port).await?;
    let background::Started { knowledge, policies, dev_bundle } =
        background::start(options, wanted, &served, &app.metrics.cache, readiness, tasks).await?;
    let probe = Arc::new(Probe::default());
    readiness.watch_tls(served.clone(), probe.clone(), socket.address);
    let webhook =
        Webhook::new(knowledge, policies, app.metrics.admission.clone(), wanted.limits.clone(), wanted.failure_mode);
    Ok(BoundWebhook { socket, served, probe, webhook, dev_bundle })
}

/// Takes connections at all doors until it is dropped.
async fn accept(doors: &[Door]) {
    join_all(doors.iter().map(Door::accept)).await;
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
