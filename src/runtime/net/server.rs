//! A server: its parts behind their sockets, and one orderly shutdown.

use std::{pin::pin, time::Duration};

use axum::{
    Router,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures::{Stream, StreamExt, future::join_all};
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::{sleep, timeout};

use super::{
    Health, Readiness, Socket, Tasks, admin,
    admin_thread::AdminThread,
    bound_socket::{BoundSocket, ListenAddress},
    connection::{ConnectionLimits, Connections, ListenerPlaces},
    heartbeat::Heartbeat,
    listener::Listener,
    readiness_reports::ReadinessReports,
    request_spans::with_spans,
    tls_options::TlsOptions,
};
use crate::runtime::{
    allowed_hosts::{AllowedHosts, HostName},
    telemetry::traces::CallerSampling,
};

/// The name of the admin listener in metrics. Its requests, which are probes and scrapes, have no traces.
const ADMIN: &str = "admin";

/// How long a server that has stopped still sends traces.
const LAST_TRACES: Duration = Duration::from_secs(2);

/// What the flags of a server decide, whatever it serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// The maximum of open connections of each listener. A further one is accepted, and the peer with the most
    /// connections loses one.
    pub max_connections: usize,
    /// The longest time from the accept, or the previous request, to the end of a request head.
    pub head_timeout: Duration,
    /// The longest time in which a client reads nothing of a response, or less than 16 KiB a second.
    pub write_timeout: Duration,
    /// How long the server keeps accepting after the first signal, while `/readyz` fails. `None`: 0 on loopback,
    /// otherwise [`ServerOptions::DELAY_BEHIND_A_SERVICE`].
    pub shutdown_delay: Option<Duration>,
    /// How long open requests may take after that.
    pub drain: Duration,
    /// Hosts that requests may name besides those of [`AllowedHosts`]: those of the REST API and of the admin listener.
    pub allowed_hosts: Vec<HostName>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            shutdown_delay: None,
            drain: Duration::from_secs(20),
            allowed_hosts: Vec::new(),
        }
    }
}

impl ServerOptions {
    /// The default shutdown delay where other machines can connect. Kubernetes sends SIGTERM and takes the pod out of
    /// its Services at the same time: until every node knows, connections still arrive. With the drain it stays below
    /// the 30 s that a pod has by default before it is killed.
    pub const DELAY_BEHIND_A_SERVICE: Duration = Duration::from_secs(5);

    /// The shutdown delay of a server with these addresses. No load balancer uses loopback.
    fn delay_on(&self, mut addresses: impl Iterator<Item = ListenAddress>) -> Duration {
        let local = addresses.all(|address| address.is_local());
        self.shutdown_delay.unwrap_or(if local { Duration::ZERO } else { Self::DELAY_BEHIND_A_SERVICE })
    }
}

/// What a room of `servers` contributes to a [`Server`]. It has registered its metrics already, with [`Health`].
pub struct ServerPart {
    /// The name of its listener in metrics.
    pub name: &'static str,
    /// Its endpoints.
    pub router: Router,
    /// The response to a request that never reaches them, or is interrupted: [`ServerPart::NO_PLACE`], in its own format.
    pub no_place: fn() -> Response,
    /// TLS, if the part is served with it.
    pub tls: Option<TlsOptions>,
    /// How long a connection without a request yet may still send its first one after the stop.
    pub first_request_grace: Duration,
    /// Who decides what is recorded of the traces of its callers.
    pub sampling: CallerSampling,
    /// Its readiness checks.
    pub readiness: Readiness,
    /// Its background tasks, which run already.
    pub tasks: Tasks,
}

impl ServerPart {
    /// Why a request has no place.
    pub const NO_PLACE: &str = "too many requests at once, and this one was the slowest";

    /// A part that is only a router.
    pub fn new(name: &'static str, router: Router) -> Self {
        Self {
            name,
            router,
            no_place: || (StatusCode::SERVICE_UNAVAILABLE, Self::NO_PLACE).into_response(),
            tls: None,
            first_request_grace: Duration::ZERO,
            sampling: CallerSampling::IsLimited,
            readiness: Readiness::default(),
            tasks: Tasks::default(),
        }
    }
}

/// A server whose sockets are bound. It serves its parts when it runs.
pub struct Server {
    options: ServerOptions,
    health: Health,
    /// Open connections without TLS; those with TLS count in the metrics of their certificate.
    open: Gauge,
    listeners: Vec<Listener>,
    admin: Option<(Socket, Router)>,
    readiness: Readiness,
    tasks: Tasks,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Server {
    /// A server without parts.
    pub fn new(options: ServerOptions, health: Health) -> Self {
        let open = Gauge::default();
        health.metrics.register(|registry| {
            registry.register("http_connections", "Open connections without TLS", open.clone());
        });
        let readiness = Readiness::of_server(health.clone());
        let (listeners, admin, tasks) = (Vec::new(), None, Tasks::default());
        Self { options, health, open, listeners, admin, readiness, tasks }
    }

    /// Serves `part` on `socket`.
    pub fn add(&mut self, socket: impl Into<BoundSocket>, mut part: ServerPart) {
        let socket = socket.into();
        if let Some(tls) = &part.tls {
            self.readiness.add_tls(tls.clone(), &socket.address());
        }
        if let BoundSocket::Unix(socket) = &socket {
            let file = socket.identity();
            self.readiness.add("socket", move || file.check());
        }
        self.add_background(std::mem::take(&mut part.readiness), std::mem::take(&mut part.tasks));
        self.listen(socket, part);
    }

    /// Runs a part that serves no requests.
    pub fn add_background(&mut self, readiness: Readiness, tasks: Tasks) {
        self.readiness.extend(readiness);
        self.tasks.adopt(tasks);
    }

    /// Serves health and metrics on `socket`, on a thread of its own.
    pub fn add_admin(&mut self, socket: Socket) {
        self.add_admin_with(socket, Router::new());
    }

    /// The same, with further routes for operators. Probes wait for what runs on its thread: long work belongs on another one.
    pub fn add_admin_with(&mut self, socket: Socket, routes: Router) {
        self.admin = Some((socket, routes));
    }

    /// Serves a part whose readiness and tasks are known.
    fn listen(&mut self, socket: BoundSocket, part: ServerPart) {
        let tls = part.tls.clone();
        self.listeners.push(Listener::new(socket, self.connections(part), tls));
    }

    /// The connections of a part.
    fn connections(&self, part: ServerPart) -> Connections {
        let ServerPart { name, router, no_place, tls, first_request_grace, sampling, .. } = part;
        let ServerOptions { head_timeout: head, write_timeout: write, max_connections, .. } = self.options;
        let limits = ConnectionLimits { head, write, first_request_grace };
        let open = tls.as_ref().map_or(&self.open, |tls| &tls.certificate.metrics().connections);
        let places = ListenerPlaces::new(&self.health, name, max_connections, tls.is_some());
        let router = if name == ADMIN { router } else { with_spans(router, &self.health.tracer, sampling) };
        Connections::new(router, no_place, open.clone(), limits, places)
    }

    /// Starts the admin listener.
    async fn start_admin(&mut self, socket: Socket, routes: Router) -> anyhow::Result<AdminThread> {
        let readiness = ReadinessReports::new(std::mem::take(&mut self.readiness));
        let heartbeat = Heartbeat::new();
        self.tasks.endless("the heartbeat", heartbeat.clone().beat());
        let mut router = admin::router(heartbeat, readiness, self.health.clone()).merge(routes);
        if let Some(hosts) = AllowedHosts::of_listener(socket.address(), &self.options.allowed_hosts) {
            router = hosts.guard(router);
        }
        AdminThread::start(socket, self.connections(ServerPart::new(ADMIN, router))).await
    }

    /// Serves until the first signal, and shuts down in order:
    ///
    /// ```text
    /// signal ─► /readyz fails, connections are accepted ─ delay ─► none is accepted, requests finish ─ drain ─► end
    /// ```
    /// Each further signal ends the phase in which it arrives. A background task that ends counts as a signal, and is an
    /// error.
    pub async fn run(mut self, signals: impl Stream<Item = ()>) -> anyhow::Result<()> {
        let mut addresses: Vec<ListenAddress> = self.listeners.iter().map(Listener::address).collect();
        let mut admin = None;
        if let Some((socket, routes)) = self.admin.take() {
            addresses.push(socket.address().into());
            admin = Some(self.start_admin(socket, routes).await?);
        }
        let Self { options, health, listeners, mut tasks, .. } = self;
        let mut signals = pin!(signals.chain(futures::stream::pending()));

        health.set_running(true);
        tracing::info!(?addresses, "listening");
        let failed = tokio::select! {
            () = accept(&listeners) => None,
            _ = signals.next() => None,
            error = tasks.ended() => Some(error),
        };
        if let Some(error) = &failed {
            tracing::error!(error = format!("{error:#}"), "a background task ended");
        }

        health.set_running(false);
        let of_admin = admin.iter().map(|admin| &admin.connections);
        let connections: Vec<Connections> =
            listeners.iter().map(|listener| &listener.connections).chain(of_admin).cloned().collect();
        connections.iter().for_each(Connections::leave);
        let delay = options.delay_on(addresses.into_iter());
        if !delay.is_zero() {
            tracing::info!(delay_seconds = delay.as_secs_f32(), "not ready any more, still accepting connections");
            tokio::select! { () = accept(&listeners) => {}, () = sleep(delay) => {}, _ = signals.next() => {} }
        }

        drop(listeners);
        admin.iter_mut().for_each(AdminThread::refuse);
        let count = || connections.iter().map(Connections::count).sum::<usize>();
        tracing::info!(connections = count(), "stopping");
        let ended = tokio::select! {
            ended = timeout(options.drain, join_all(connections.iter().map(Connections::stop))) => ended.is_ok(),
            _ = signals.next() => false,
        };
        if !ended {
            tracing::warn!(connections = count(), "stopped with requests unanswered");
        }
        if timeout(options.drain, tasks.closed()).await.is_err() {
            tracing::warn!("stopped with background work unfinished");
        }
        health.tracer.flush(LAST_TRACES).await;
        failed.map_or(Ok(()), Err)
    }
}

/// Accepts connections on all listeners until it is dropped.
async fn accept(listeners: &[Listener]) {
    join_all(listeners.iter().map(Listener::accept)).await;
    // Only a server with nothing but the admin listener comes here.
    std::future::pending::<()>().await;
}
