//! The composition of a server: which parts are served on which sockets.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use futures::Stream;

use super::{
    ServeOptions,
    banner::{Banner, exposure},
};
use crate::{
    runtime::{
        allowed_hosts::AllowedHosts,
        async_runtime,
        net::{Health, Readiness, Server, Socket, signals},
        telemetry::logs,
    },
    servers::{
        rest::{self, AccessOptions},
        webhook::{self, WebhookLimits, WebhookPart},
    },
};

/// Threads that read files and resolve names, besides those that compute.
const FILE_THREADS: usize = 2;

/// Threads for the watches of a cluster, of which each looks up a name or replaces its list: after an API server was away,
/// all of them do.
const CLUSTER_THREADS: usize = 6;

/// Serves until SIGTERM or SIGINT, on its own runtime. `announce` gets the text for the terminal when the sockets are
/// bound.
pub fn run(options: &ServeOptions, announce: impl FnOnce(&str)) -> anyhow::Result<()> {
    logs::init(options.log_format, &options.log_filter).context("the log filter")?;
    async_runtime::run(blocking_threads(options), async {
        // First of all: a reader of the announcement may send a signal at once.
        let signals = signals()?;
        let server = ComposedServer::bind(options).await?;
        announce(&server.banner());
        server.run(signals).await
    })
}

/// How many threads may block at once: those that compute, read files and take in what a cluster has.
fn blocking_threads(options: &ServeOptions) -> usize {
    let has_cluster = options.webhook.as_ref().is_some_and(|webhook| webhook.cluster.is_some());
    computing_threads(options) + FILE_THREADS + if has_cluster { CLUSTER_THREADS } else { 0 }
}

/// How many jobs are computed at once. Without this limit, a job that begins while another one is about to end gets a new
/// thread, with memory of its own.
fn computing_threads(options: &ServeOptions) -> usize {
    /// Reviews that no API server writes are read one after the other.
    const WHOLE_REVIEWS: usize = 1;
    let of_webhook = |limits: &WebhookLimits| limits.large + limits.conversions + WHOLE_REVIEWS;
    options.limits.threads + options.webhook.as_ref().map_or(0, |webhook| of_webhook(&webhook.limits))
}

/// Refuses to show a cluster where the tokens of its users would be sent in plain text.
fn refuse_plain_tokens(address: SocketAddr, access: &AccessOptions) -> anyhow::Result<()> {
    let is_private = access.tls.is_some() || address.ip().to_canonical().is_loopback();
    ensure!(
        access.page_cluster.is_none() || is_private,
        "--page-cluster needs --rest-tls-cert-file or a loopback address: users send tokens of the cluster to {address}"
    );
    Ok(())
}

/// The server of `roster serve`, with its sockets bound.
#[derive(Debug)]
pub struct ComposedServer {
    server: Server,
    banner: Banner,
}

impl ComposedServer {
    /// Binds the sockets and composes the parts. Connections queue from here on.
    pub async fn bind(options: &ServeOptions) -> anyhow::Result<Self> {
        let rest_socket = match options.rest_listen() {
            Some(address) => Some(Socket::bind(address)?),
            None => None,
        };
        let rest_address = rest_socket.as_ref().map(Socket::address);
        let exposure = rest_address.and_then(|address| exposure(address, &options.access));
        if let (Some(address), Some(exposure)) = (rest_address, exposure) {
            tracing::warn!(%address, "the REST API is {exposure}");
        }
        if let Some(address) = rest_address {
            refuse_plain_tokens(address, &options.access)?;
        }
        let admin_socket = match options.admin_listen {
            Some(address) => Some(Socket::bind(address)?),
            None => None,
        };
        let mut banner = Banner {
            dev: options.dev,
            rest: rest_address,
            rest_tls: options.access.tls.is_some(),
            rest_token: options.access.token_file.is_some(),
            exposure,
            ..Banner::default()
        };
        let (health, tasks) = Health::with_traces(options.traces.as_ref(), &options.clock)?;
        let mut server = Server::new(options.server.clone(), health.clone());
        server.add_background(Readiness::default(), tasks);
        if let Some(socket) = rest_socket {
            let hosts = AllowedHosts::of_listener(socket.address(), &options.server.allowed_hosts);
            let (limits, access, clock) = (options.limits.clone(), &options.access, &options.clock);
            server.add(socket, rest::part(limits, access, hosts, clock, health.clone()).await?);
        }
        if let Some(webhook) = &options.webhook {
            let socket = if webhook.any_port {
                Socket::bind_or_any_port(webhook.listen)?
            } else {
                Socket::bind(webhook.listen)?
            };
            let WebhookPart { part, in_memory_ca } = webhook::part(webhook, &options.clock, &health).await?;
            (banner.webhook, banner.webhook_ca) = (Some(socket.address()), in_memory_ca);
            server.add(socket, part);
        }
        if let Some(socket) = admin_socket {
            banner.admin = Some(socket.address());
            server.add_admin(socket);
        }
        Ok(Self { server, banner })
    }

    /// The address of the REST API, with the port that the system chose for port 0.
    pub fn rest_address(&self) -> Option<SocketAddr> {
        self.banner.rest
    }

    /// The address of the admin listener.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.banner.admin
    }

    /// The address of the webhook.
    pub fn webhook_address(&self) -> Option<SocketAddr> {
        self.banner.webhook
    }

    /// The text for the terminal.
    pub fn banner(&self) -> String {
        self.banner.to_string()
    }

    /// Serves until the first signal, and shuts down in order: see [`Server::run`].
    pub async fn run(self, signals: impl Stream<Item = ()>) -> anyhow::Result<()> {
        self.server.run(signals).await
    }
}
