//! The flags of `roster serve`.

use std::{
    fmt,
    io::{self, ErrorKind, Write},
    net::SocketAddr,
    time::Duration,
};

use clap::Args;

use super::{ServeOptions, access_args::AccessArgs, compose, webhook_args::WebhookArgs};
use crate::{
    cli::{
        help_end::help_end,
        outcome::Outcome,
        output::{Output, OutputFormat},
        server_args::{AdminArgs, LogArgs, address},
        trace_args::TraceArgs,
    },
    runtime::{clock::Clock, net::ServerOptions},
    servers::rest::{AccessOptions, RestLimits},
};

/// Run the REST API, the admission webhook, or both.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 stopped by a signal, 2 usage error, or the server cannot start or fails.",
    "roster serve --dev                        # REST API and webhook, to try them",
    "roster serve --listen 127.0.0.1:8080 --token-file tokens.txt",
))]
pub(crate) struct Serve {
    #[arg(long, value_name = "ADDRESS", env = "ROSTER_LISTEN", value_parser = address, help = listen_help())]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    admin: AdminArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    webhook: WebhookArgs,
    /// Print the addresses and a curl command to try, serve sample data, and serve the webhook with a certificate that is
    /// issued at every start
    #[arg(long)]
    dev: bool,
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    traces: TraceArgs,
    /// Maximum open connections of each listener; for one more, the client with the most loses one
    #[arg(long, value_name = "N", default_value_t = ServerOptions::default().max_connections, value_parser = at_least_one, help_heading = "Limits")]
    max_connections: usize,
    /// Maximum size of a body in MiB, after decompression, and of YAML an eighth of it; a larger body gets a 413
    #[arg(long, value_name = "MIB", default_value_t = RestLimits::default().body >> 20, value_parser = mebibytes, help_heading = "Limits")]
    max_body: usize,
    /// Maximum size of a body of /v1/cluster in MiB, after decompression
    #[arg(long, value_name = "MIB", default_value_t = in_mebibytes(RestLimits::default().cluster_body), value_parser = mebibytes, help_heading = "Limits")]
    max_cluster_body: usize,
    /// Maximum requests that wait for a thread; for one more, the largest of the client with the most gets a 429
    #[arg(long, value_name = "N", default_value_t = RestLimits::default().requests, value_parser = at_least_one, help_heading = "Limits")]
    max_requests: usize,
    /// Maximum concurrent requests of /v1/cluster; further requests wait
    #[arg(long, value_name = "N", default_value_t = RestLimits::default().cluster_requests, value_parser = at_least_one, help_heading = "Limits")]
    max_cluster_requests: usize,
    /// Maximum seconds from a request to its response
    #[arg(long, value_name = "SECONDS", default_value_t = RestLimits::default().request.into(), value_parser = at_least_a_second, help_heading = "Limits")]
    request_timeout: Seconds,
    /// Maximum seconds from a request of /v1/cluster to the end of its response
    #[arg(long, value_name = "SECONDS", default_value_t = RestLimits::default().cluster_request.into(), value_parser = at_least_a_second, help_heading = "Limits")]
    cluster_request_timeout: Seconds,
    /// Maximum seconds between two pieces of a body
    #[arg(long, value_name = "SECONDS", default_value_t = RestLimits::default().body_idle.into(), value_parser = at_least_a_second, help_heading = "Limits")]
    body_timeout: Seconds,
    /// Minimum average transfer rate of a body in KiB/s, measured after the first --body-timeout
    #[arg(long, value_name = "KIB", default_value_t = RestLimits::default().body_rate >> 10, value_parser = at_least_one, help_heading = "Limits")]
    min_body_rate: usize,
    /// Maximum seconds for the head of a request
    #[arg(long, value_name = "SECONDS", default_value_t = ServerOptions::default().head_timeout.into(), value_parser = at_least_a_second, help_heading = "Limits")]
    head_timeout: Seconds,
    /// Maximum seconds until a client reads the next piece of a response
    #[arg(long, value_name = "SECONDS", default_value_t = ServerOptions::default().write_timeout.into(), value_parser = at_least_a_second, help_heading = "Limits")]
    write_timeout: Seconds,
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help = delay_help(), help_heading = "Shutdown")]
    shutdown_delay_duration: Option<Seconds>,
    /// Maximum seconds for open requests after that; another signal closes them
    #[arg(long, value_name = "SECONDS", default_value_t = ServerOptions::default().drain.into(), value_parser = at_least_a_second, help_heading = "Shutdown")]
    drain_timeout: Seconds,
}

/// A duration as an argument: whole seconds, with or without an `s`, as in `--shutdown-delay-duration=5s` of
/// kube-apiserver.
#[derive(Clone, Copy, Debug)]
struct Seconds(u64);

impl From<Duration> for Seconds {
    fn from(duration: Duration) -> Self {
        Self(duration.as_secs())
    }
}

impl From<Seconds> for Duration {
    fn from(seconds: Seconds) -> Self {
        Self::from_secs(seconds.0)
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn listen_help() -> String {
    format!(
        "Address of the REST API. Without --token-file or --rest-client-ca-file, everyone who can reach it can use it \
         [default: {}; off when --webhook-listen is given without --dev]",
        ServeOptions::REST,
    )
}

fn delay_help() -> String {
    format!(
        "Seconds from SIGTERM until connections are refused; meanwhile /readyz answers 503, and other requests are \
         served. Another signal ends the delay [default: {}, or 0 on a loopback address]",
        ServerOptions::DELAY_BEHIND_A_SERVICE.as_secs(),
    )
}

fn seconds(text: &str) -> Result<Seconds, String> {
    within(text.strip_suffix('s').unwrap_or(text), 0, 86_400).map(|n| Seconds(n as u64))
}

fn at_least_a_second(text: &str) -> Result<Seconds, String> {
    seconds(text).and_then(|s| if s.0 > 0 { Ok(s) } else { Err("0 is not from 1 to 86400".to_owned()) })
}

fn at_least_one(text: &str) -> Result<usize, String> {
    within(text, 1, 1_000_000)
}

fn mebibytes(text: &str) -> Result<usize, String> {
    within(text, 1, 1 << 20)
}

fn in_mebibytes(bytes: u64) -> usize {
    usize::try_from(bytes >> 20).unwrap_or(usize::MAX)
}

/// A number from `least` to `most`.
fn within(text: &str, least: usize, most: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (least..=most).contains(n));
    number.ok_or_else(|| format!("{text:?} is not from {least} to {most}"))
}

impl Serve {
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        // A closed standard output is not an error.
        let announce = |text: &str| drop(Output::stdout(OutputFormat::Table).write_all(text.as_bytes()));
        compose::run(&self.options()?, announce).map_err(|e| self.with_flag_to_change(e))?;
        Ok(Outcome::Success)
    }

    /// Where an address is taken, an error that names the flag to choose another one.
    fn with_flag_to_change(&self, error: anyhow::Error) -> anyhow::Error {
        let cause = error.root_cause().downcast_ref::<io::Error>().map(io::Error::kind);
        if cause != Some(ErrorKind::AddrInUse) {
            return error;
        }
        let text = error.to_string();
        let others = [("--admin-listen", self.admin.admin_listen), ("--webhook-listen", self.webhook.listen())];
        let is = |address: SocketAddr| text.ends_with(&format!(" {address}"));
        let flag = others.iter().find(|(_, address)| address.is_some_and(is)).map_or("--listen", |(flag, _)| flag);
        anyhow::anyhow!("{error:#}; choose another address with {flag}")
    }

    fn options(&self) -> anyhow::Result<ServeOptions> {
        let cluster = self.webhook.cluster_choice(self.access.page_cluster)?;
        let options = ServeOptions {
            listen: self.listen,
            access: self.access.options(cluster),
            admin_listen: self.admin.admin_listen,
            webhook: self.webhook.options(self.dev)?,
            clock: Clock::system(),
            dev: self.dev,
            log_format: self.logs.format(),
            log_filter: self.logs.filter().to_owned(),
            traces: self.traces.options("roster")?,
            limits: RestLimits {
                body: self.max_body << 20,
                // A body, its response, and the reserve for others.
                memory: RestLimits::default().memory.max(self.max_body.saturating_mul(2 << 20)),
                body_objects: RestLimits::default().body_objects.max(self.max_body.saturating_mul(1 << 20)),
                object_memory: RestLimits::default().object_memory.max(self.max_body.saturating_mul(2 << 20)),
                cluster_body: (self.max_cluster_body as u64) << 20,
                requests: self.max_requests,
                cluster_requests: self.max_cluster_requests,
                body_idle: self.body_timeout.into(),
                body_rate: self.min_body_rate << 10,
                request: self.request_timeout.into(),
                cluster_request: self.cluster_request_timeout.into(),
                ..RestLimits::default()
            },
            server: ServerOptions {
                max_connections: self.max_connections,
                head_timeout: self.head_timeout.into(),
                write_timeout: self.write_timeout.into(),
                shutdown_delay: self.shutdown_delay_duration.map(Duration::from),
                drain: self.drain_timeout.into(),
                allowed_hosts: self.access.allowed_hosts.clone(),
            },
        };
        if options.rest_listen().is_none() && options.access != AccessOptions::default() {
            anyhow::bail!(
                "--token-file, --rest-tls-cert-file and --page-cluster need --listen: without it, the REST API is off"
            );
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        serve: Serve,
    }

    fn options(args: &[&str]) -> anyhow::Result<ServeOptions> {
        Program::try_parse_from(std::iter::once(&"serve").chain(args))?.serve.options()
    }

    #[test]
    fn without_flags_the_defaults_of_the_server_apply() {
        assert_eq!(format!("{:?}", options(&[]).unwrap()), format!("{:?}", ServeOptions::default()));
    }

    #[test]
    fn a_port_alone_means_every_address() {
        for (text, want) in [
            (":10250", Some("[::]:10250")),
            ("127.0.0.1:0", Some("127.0.0.1:0")),
            ("[::1]:8443", Some("[::1]:8443")),
            ("localhost:8443", None),
            (":", None),
            ("10250", None),
        ] {
            assert_eq!(address(text).ok().map(|a| a.to_string()).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn an_address_that_is_taken_names_its_flag() {
        let args = ["serve", "--admin-listen", ":8081", "--webhook-listen", "127.0.0.1:8443"];
        let serve = Program::try_parse_from(args).unwrap().serve;
        for (kind, address, want) in [
            (ErrorKind::AddrInUse, "127.0.0.1:8080", "; choose another address with --listen"),
            (ErrorKind::AddrInUse, "[::]:8081", "; choose another address with --admin-listen"),
            (ErrorKind::AddrInUse, "127.0.0.1:8443", "; choose another address with --webhook-listen"),
            (ErrorKind::PermissionDenied, "127.0.0.1:8080", ""),
        ] {
            let bare = || anyhow::Error::from(io::Error::from(kind)).context(format!("cannot listen on {address}"));
            let got = format!("{:#}", serve.with_flag_to_change(bare()));
            assert_eq!(got, format!("{:#}{want}", bare()));
        }
    }

    #[test]
    fn times_are_seconds() {
        for (args, want) in [
            (["--shutdown-delay-duration", "7"], Some(7)),
            (["--shutdown-delay-duration", "7s"], Some(7)),
            (["--shutdown-delay-duration", "0"], Some(0)),
            (["--shutdown-delay-duration", "7m"], None),
            (["--drain-timeout", "0"], None),
            (["--drain-timeout", "86401"], None),
        ] {
            let got = options(&args).ok().map(|o| o.server.shutdown_delay.map_or(0, |d| d.as_secs()));
            assert_eq!(got, want, "{args:?}");
        }
    }
}
