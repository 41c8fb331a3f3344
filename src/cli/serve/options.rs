//! Options of `roster serve`. The defaults are here and in the options of its parts, and nowhere else: the flags take
//! theirs from here, and a test compares the documents.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::{
    runtime::{
        clock::Clock,
        net::ServerOptions,
        telemetry::{logs::LogFormat, traces::TraceOptions},
    },
    servers::{
        rest::{AccessOptions, RestLimits},
        webhook::WebhookOptions,
    },
};

/// Options of `roster serve`.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The address of the REST API. `None`: [`ServeOptions::REST`], or off with a webhook and without `dev`.
    pub listen: Option<SocketAddr>,
    /// Who may call the REST API, and how.
    pub access: AccessOptions,
    /// The address of the admin listener, which serves only health and metrics.
    pub admin_listen: Option<SocketAddr>,
    /// The webhook, if it is served.
    pub webhook: Option<WebhookOptions>,
    /// The current time.
    pub clock: Clock,
    /// Print the addresses and a sample call, and offer sample data.
    pub dev: bool,
    /// The format of log lines.
    pub log_format: LogFormat,
    /// The log filter: a `tracing` filter such as `info`.
    pub log_filter: String,
    /// Where traces go, if anywhere.
    pub traces: Option<TraceOptions>,
    /// The limits of a REST request.
    pub limits: RestLimits,
    /// The limits of connections, and the shutdown.
    pub server: ServerOptions,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            listen: None,
            access: AccessOptions::default(),
            admin_listen: None,
            webhook: None,
            clock: Clock::system(),
            dev: false,
            log_format: LogFormat::Text,
            log_filter: "info".to_owned(),
            traces: None,
            limits: RestLimits::default(),
            server: ServerOptions::default(),
        }
    }
}

impl ServeOptions {
    /// The default address of the REST API. It is loopback, because by default there is no authentication.
    pub const REST: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

    /// The default address of the webhook with `--dev`.
    pub const DEV_WEBHOOK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8443);

    /// The address of the REST API, if it is served.
    pub(super) fn rest_listen(&self) -> Option<SocketAddr> {
        let by_default = self.webhook.is_none() || self.dev;
        self.listen.or(by_default.then_some(Self::REST))
    }
}
