//! What `roster serve` can be told. The defaults stand here and in [`Limits`], and nowhere else: the flags take
//! theirs from here, and a test compares `docs/rest.md`.

use std::{fmt::Write, net::SocketAddr, path::PathBuf, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::{
    runtime::{certificates::Own, telemetry::logs::LogFormat, tls::Clock},
    servers::{
        rest::Limits,
        webhook::{self, FailureMode},
    },
};

/// The flags of `roster serve`.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where the REST API listens. Loopback unless somebody asks for more: there is no authentication. `None`: on
    /// [`ServeOptions::REST`], or nowhere if the webhook is served and this is no `dev`.
    pub listen: Option<SocketAddr>,
    /// Where health and metrics are, besides the REST API.
    pub admin_listen: Option<SocketAddr>,
    /// The webhook, if it is served.
    pub webhook: Option<WebhookOptions>,
    /// The cluster that the webhook asks.
    pub cluster: Option<ClusterOptions>,
    /// What time it is.
    pub clock: Clock,
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
    /// How long to go on accepting after the first signal, while `/readyz` says no. `None`: as the address needs it.
    pub shutdown_delay: Option<Duration>,
    /// How long requests may go on after that.
    pub drain: Duration,
}

/// What the webhook can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where its certificate comes from.
    pub certificates: Certificates,
    /// PEM: CAs whose clients are let in. `None`: everybody is.
    pub client_ca: Option<PathBuf>,
    /// Take another port if this one is taken: nobody has asked for it.
    pub any_port: bool,
    /// YAML or JSON: policies, besides those of the cluster. Read again when it changes.
    pub policy: Option<PathBuf>,
    /// What the validating webhook says of what it could not look at.
    pub failure_mode: FailureMode,
    /// Bounds of a review.
    pub limits: webhook::Limits,
}

/// Where the webhook's certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificates {
    /// From files, which somebody else renews.
    Files {
        /// PEM: the certificate, and those between it and its CA.
        certificate: PathBuf,
        /// PEM: its key.
        key: PathBuf,
    },
    /// Made here, and shared with other replicas in a Secret of the cluster.
    SelfSigned(Own),
    /// Made here, for these names, and forgotten at the end.
    InMemory(Vec<String>),
}

/// Which cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterOptions {
    /// Context of the kubeconfig; the current one if it is not given.
    pub context: Option<String>,
    /// Path of the kubeconfig; if it is not given, `KUBECONFIG`, `~/.kube/config` or the pod's own account.
    pub kubeconfig: Option<PathBuf>,
    /// Name of the webhook configurations that call us, whose caBundles are compared, and written if the
    /// certificates are made here.
    pub configuration: String,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            listen: None,
            admin_listen: None,
            webhook: None,
            cluster: None,
            clock: Clock::system(),
            dev: false,
            log_format: LogFormat::Text,
            log_filter: "info".to_owned(),
            limits: Limits::default(),
            connections: 1024,
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            shutdown_delay: None,
            drain: Duration::from_secs(20),
        }
    }
}

impl ServeOptions {
    /// The delay where none was asked for and other machines can connect. Kubernetes sends SIGTERM and takes the
    /// pod out of its Services at the same time: until every node has heard of it, connections still come. With
    /// the drain it stays below the 30 s that a pod has by default before it is killed.
    pub const DELAY_BEHIND_A_SERVICE: Duration = Duration::from_secs(5);

    /// The REST API's address where none is asked for.
    pub const REST: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

    /// How long a connection to the webhook that is open already may bring its first request after a stop. An API
    /// server that has just connected sends at once.
    pub const LATE: Duration = Duration::from_secs(1);

    /// The webhook's address under `--dev`, where none is asked for.
    pub const DEV_WEBHOOK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8443);

    /// Where the REST API listens.
    pub(super) fn rest_listen(&self) -> Option<SocketAddr> {
        let alone = self.webhook.is_none() || self.dev;
        self.listen.or(alone.then_some(Self::REST))
    }

    /// How long to go on accepting after the first signal. Nobody balances load over loopback.
    pub(super) fn delay_on(&self, addresses: &[SocketAddr]) -> Duration {
        let loopback = addresses.iter().all(|a| a.ip().to_canonical().is_loopback());
        self.shutdown_delay.unwrap_or(if loopback { Duration::ZERO } else { Self::DELAY_BEHIND_A_SERVICE })
    }
}

/// What a person at a terminal wants to know.
pub(super) fn banner(server: &super::Server) -> String {
    let mut text = String::new();
    match server.address() {
        Some(address) if server.options.dev => text.push_str(&welcome(address)),
        Some(address) => {
            let _ = writeln!(text, "listening on http://{address}");
        }
        None => {}
    }
    if let Some(address) = server.webhook_address() {
        let _ = writeln!(text, "webhook on https://{address}");
        if let Some(bundle) = server.dev_bundle() {
            let _ = writeln!(
                text,
                "\nIts certificate is new at every start. For a webhook configuration:\n\n  \
                   clientConfig:\n    \
                     url: https://{address}/validate   # or /mutate, /convert\n    \
                     caBundle: {}\n",
                BASE64_STANDARD.encode(bundle),
            );
        }
    }
    if let Some(address) = server.admin_address() {
        let _ = writeln!(text, "health and metrics on http://{address}");
    }
    text
}

fn welcome(address: SocketAddr) -> String {
    format!(
        "Roster {version}\n\n  \
           documentation  http://{address}/docs/\n  \
           sample data    http://{address}/sample\n  \
           metrics        http://{address}/metrics\n\n\
         Try it:\n\n  \
           curl -s http://{address}/sample |\n    \
             curl -s -H 'content-type: application/yaml' --data-binary @- 'http://{address}/v1/explain?service=shop/catalog'\n\n\
         Ctrl-C stops it.\n\n",
        version = env!("CARGO_PKG_VERSION"),
    )
}
