//! What `roster serve` can be told. The defaults stand here and in [`Limits`], and nowhere else: the flags take
//! theirs from here, and a test compares `docs/rest.md`.

use std::{net::SocketAddr, time::Duration};

use crate::{http::Limits, telemetry::logs::LogFormat};

/// The flags of `roster serve`.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// How long to go on accepting after the first signal, while `/readyz` says no. `None`: as the address needs it.
    pub shutdown_delay: Option<Duration>,
    /// How long requests may go on after that.
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

    /// How long to go on accepting on `address` after the first signal. Nobody balances load over loopback.
    pub(super) fn delay_on(&self, address: SocketAddr) -> Duration {
        let loopback = address.ip().to_canonical().is_loopback();
        self.shutdown_delay.unwrap_or(if loopback { Duration::ZERO } else { Self::DELAY_BEHIND_A_SERVICE })
    }
}
