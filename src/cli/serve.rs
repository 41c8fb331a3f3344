//! `roster serve`: the flags of the REST server.

use std::{io::Write, net::SocketAddr, time::Duration};

use clap::{Args, ValueEnum};

use super::{Outcome, Output, output::Format};
use crate::{
    http::Limits,
    server::{self, ServeOptions},
    telemetry::logs::LogFormat,
};

/// Run the REST API.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Where to listen. Other machines reach it only if this is no loopback address: there is no authentication.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", env = "ROSTER_LISTEN")]
    listen: SocketAddr,
    /// Print the addresses and a ready curl line, and offer sample data.
    #[arg(long)]
    dev: bool,
    /// How log lines look.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", env = "ROSTER_LOG_FORMAT")]
    log_format: Logs,
    /// Which log lines are written, as `info` or `roster=debug,warn`.
    #[arg(long, value_name = "FILTER", default_value = "info", env = "ROSTER_LOG")]
    log: String,
    /// Open connections; one more waits.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = at_least_one, help_heading = "Limits")]
    max_connections: usize,
    /// Megabytes (MiB) of a body after decompression; more is answered with 413.
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = mebibytes, help_heading = "Limits")]
    max_body: usize,
    /// Megabytes (MiB) of a body of /v1/cluster after decompression.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = mebibytes, help_heading = "Limits")]
    max_cluster_body: usize,
    /// Requests that are computed at once; one more is answered with 429.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = at_least_one, help_heading = "Limits")]
    max_requests: usize,
    /// Requests of /v1/cluster at once.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = at_least_one, help_heading = "Limits")]
    max_cluster_requests: usize,
    /// Seconds from a request to its answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = seconds(), help_heading = "Limits")]
    request_timeout: u64,
    /// Seconds from a request of /v1/cluster to the end of its answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = seconds(), help_heading = "Limits")]
    cluster_request_timeout: u64,
    /// Seconds between two pieces of a body.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = seconds(), help_heading = "Limits")]
    body_timeout: u64,
    /// Seconds for the head of a request.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = seconds(), help_heading = "Limits")]
    head_timeout: u64,
    /// Seconds in which a client must take a piece of the answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = seconds(), help_heading = "Limits")]
    write_timeout: u64,
    /// Seconds that open requests have after SIGTERM.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = seconds(), help_heading = "Limits")]
    drain_timeout: u64,
}

/// How log lines look, as an argument.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Logs {
    /// For a person
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

fn seconds() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..=86_400)
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0 && *n <= 1_000_000).ok_or_else(|| format!("{text:?} is not from 1 to 1000000"))
}

fn mebibytes(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0 && *n <= 1 << 20).ok_or_else(|| format!("{text:?} is not from 1 to 1048576"))
}

impl Serve {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        // Nobody may be there to read it: that is no error.
        let announce = |text: &str| drop(Output::stdout(Format::Table).write_all(text.as_bytes()));
        server::run(self.options(), announce)?;
        Ok(Outcome::Fine)
    }

    fn options(&self) -> ServeOptions {
        let cluster_body = u64::try_from(self.max_cluster_body).unwrap_or(u64::MAX);
        ServeOptions {
            listen: self.listen,
            dev: self.dev,
            log_format: match self.log_format {
                Logs::Text => LogFormat::Text,
                Logs::Json => LogFormat::Json,
            },
            log_filter: self.log.clone(),
            limits: Limits {
                body: self.max_body << 20,
                cluster_body: cluster_body << 20,
                requests: self.max_requests,
                cluster_requests: self.max_cluster_requests,
                body_idle: Duration::from_secs(self.body_timeout),
                request: Duration::from_secs(self.request_timeout),
                cluster_request: Duration::from_secs(self.cluster_request_timeout),
                ..Limits::default()
            },
            connections: self.max_connections,
            head_timeout: Duration::from_secs(self.head_timeout),
            write_timeout: Duration::from_secs(self.write_timeout),
            drain: Duration::from_secs(self.drain_timeout),
        }
    }
}
