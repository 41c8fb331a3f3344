//! `roster edge`: the node proxy.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use axum::http::Uri;
use clap::Args;

use super::{
    cluster_args::KubeconfigArgs,
    help_end::help_end,
    outcome::Outcome,
    scheme_arg::SchemeArg,
    server_args::{AdminArgs, LogArgs, file_mode, listen_address},
    trace_args::TraceArgs,
    view::TopologyModeArg,
};
use crate::{
    runtime::{
        allowed_hosts::AllowedHosts,
        async_runtime,
        clock::Clock,
        net::{BoundSocket, Health, ListenAddress, Readiness, Server, ServerOptions, Socket, UnixSocket, signals},
        telemetry::logs,
        tls::{ClientCaFile, TlsFiles},
    },
    servers::edge::{self, EdgeOptions, EdgeScheme, NodeHealthOptions, PolledSource, PolledTrust, PolledUrl},
};

/// Run a caching API proxy on a node that hides the endpoints the node must not use.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 stopped by a signal, 2 usage error, or the server cannot start or fails.",
    "roster edge --node edge-1 --scheme superedge",
    "roster edge --node edge-1 --listen unix:/run/roster/edge.sock",
))]
pub(crate) struct EdgeArgs {
    /// Name of the node, as its Node object has it
    #[arg(long, value_name = "NAME", env = "NODE_NAME", value_parser = node_name)]
    node: String,
    /// The scheme of the cluster: the proxy removes what this program would remove
    #[arg(long, value_enum, default_value_t, value_name = "SCHEME")]
    scheme: SchemeArg,
    /// How several keys of SuperEdge's scheme are read
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    topology_mode: TopologyModeArg,
    /// Whether nodes are healthy: a URL or a file with a JSON object of their names and `true` or `false`. With SuperEdge's
    /// scheme, endpoints on unhealthy nodes are removed, unless no others are left
    #[arg(long, value_name = "URL|FILE")]
    node_health: Option<String>,
    /// How long a node's health counts, in seconds. Write the file again before
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "node_health", value_parser = clap::value_parser!(u32).range(1..))]
    node_health_ttl: u32,
    /// Address of the proxy: a loopback address, unless it serves TLS; or `unix:PATH`, a Unix socket
    #[arg(long, value_name = "ADDRESS", default_value_t = EdgeOptions::LISTEN.into(), value_parser = listen_address)]
    listen: ListenAddress,
    /// Mode of the Unix socket: who may connect. Clients need credentials all the same [default: 0600]
    #[arg(long, value_name = "MODE", value_parser = file_mode)]
    socket_mode: Option<u32>,
    /// Certificate of the proxy in PEM. Read again when it changes. Clients with a kubeconfig need TLS: to a server of plain
    /// HTTP, they send no token
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// Key of that certificate in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// CAs in PEM of clients that have a certificate instead of a token: CN is the user, and each O a group. Read again when it
    /// changes. The proxy needs the permission to create subjectaccessreviews
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    client_ca_file: Option<PathBuf>,
    #[command(flatten)]
    admin: AdminArgs,
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,
    /// File for versions, so that they rise across restarts even if the clock is set back. The last known objects are
    /// saved beside it, so that the proxy starts without the API server
    #[arg(long, value_name = "PATH")]
    state_file: Option<PathBuf>,
    /// The pods of the node, for the time without the API server: the URL of the kubelet, such as
    /// `https://127.0.0.1:10250/pods`, or a file with such a list
    #[arg(long, value_name = "URL|FILE")]
    local_pods: Option<String>,
    /// CA of the kubelet's certificate in PEM
    #[arg(long, value_name = "FILE", requires = "local_pods", conflicts_with = "kubelet_insecure_skip_tls_verify")]
    kubelet_ca_file: Option<PathBuf>,
    /// Do not verify the kubelet's certificate, which by default it signs itself. Only for a loopback address
    #[arg(long, requires = "local_pods")]
    kubelet_insecure_skip_tls_verify: bool,
    /// Certificate for the kubelet in PEM: unlike a token, it is checked without the API server
    #[arg(long, value_name = "FILE", requires_all = ["local_pods", "kubelet_client_key"])]
    kubelet_client_certificate: Option<PathBuf>,
    /// Key of that certificate in PEM
    #[arg(long, value_name = "FILE", requires = "kubelet_client_certificate")]
    kubelet_client_key: Option<PathBuf>,
    /// File with a token for the kubelet
    #[arg(long, value_name = "FILE", requires = "local_pods", conflicts_with = "kubelet_client_certificate")]
    kubelet_token_file: Option<PathBuf>,
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    traces: TraceArgs,
}

impl From<SchemeArg> for EdgeScheme {
    fn from(scheme: SchemeArg) -> Self {
        match scheme {
            SchemeArg::KubeProxy => Self::KubeProxy,
            SchemeArg::Superedge => Self::SuperEdge,
            SchemeArg::Openyurt => Self::OpenYurt,
        }
    }
}

fn node_name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("the name of the node is empty".to_owned()) } else { Ok(text.to_owned()) }
}

impl EdgeArgs {
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        self.check()?;
        logs::init(self.logs.format(), self.logs.filter()).context("the log filter")?;
        async_runtime::run(EdgeOptions::BLOCKING_THREADS, self.serve())?;
        Ok(Outcome::Success)
    }

    fn check(&self) -> anyhow::Result<()> {
        if self.socket_mode.is_some() && !matches!(self.listen, ListenAddress::Unix(_)) {
            bail!("--socket-mode: {} is not a Unix socket", self.listen);
        }
        if self.tls_cert_file.is_none() && !self.listen.is_local() {
            bail!(
                "{} is not a loopback address: tokens of clients would cross the network in plain text; give the proxy a \
                 certificate with --tls-cert-file",
                self.listen
            );
        }
        Ok(())
    }

    async fn serve(&self) -> anyhow::Result<()> {
        let signals = signals()?;
        let socket = self.bind().await?;
        let options = ServerOptions { max_connections: EdgeOptions::MAX_CONNECTIONS, ..ServerOptions::default() };
        // No web page leads to a Unix socket: there, requests may name any host.
        let hosts = match socket.address() {
            ListenAddress::Tcp(address) => AllowedHosts::of_listener(address, &options.allowed_hosts),
            ListenAddress::Unix(_) => None,
        };
        let (health, tasks) = Health::with_traces(self.traces.options("roster-edge")?.as_ref(), &Clock::system())?;
        let part = edge::part(&self.options()?, hosts, &Clock::system(), &health).await?;
        let mut server = Server::new(options, health);
        server.add_background(Readiness::default(), tasks);
        server.add(socket, part);
        if let Some(address) = self.admin.admin_listen {
            server.add_admin(Socket::bind(address)?);
        }
        server.run(signals).await
    }

    /// Binds the address of the proxy.
    async fn bind(&self) -> anyhow::Result<BoundSocket> {
        Ok(match &self.listen {
            ListenAddress::Tcp(address) => Socket::bind(*address)?.into(),
            ListenAddress::Unix(path) => {
                UnixSocket::bind(path, self.socket_mode.unwrap_or(UnixSocket::MODE)).await?.into()
            }
        })
    }

    /// Where the pods of the node are.
    fn local_pods(&self) -> anyhow::Result<Option<PolledSource>> {
        let Some(text) = &self.local_pods else { return Ok(None) };
        let trust = PolledTrust {
            ca: self.kubelet_ca_file.clone(),
            skips_verification: self.kubelet_insecure_skip_tls_verify,
            client_certificate: self.kubelet_client_certificate.clone().zip(self.kubelet_client_key.clone()),
            token_file: self.kubelet_token_file.clone(),
        };
        polled_source("--local-pods", text, trust).map(Some)
    }

    /// Where the health of nodes is.
    fn node_health(&self) -> anyhow::Result<Option<NodeHealthOptions>> {
        let Some(text) = &self.node_health else { return Ok(None) };
        if self.scheme != SchemeArg::Superedge {
            bail!("--node-health: only the scheme superedge reads the health of nodes");
        }
        let source = polled_source("--node-health", text, PolledTrust::default())?;
        Ok(Some(NodeHealthOptions { source, ttl: Duration::from_secs(self.node_health_ttl.into()) }))
    }

    fn options(&self) -> anyhow::Result<EdgeOptions> {
        let files = self.tls_cert_file.clone().zip(self.tls_private_key_file.clone());
        let client_ca = self.client_ca_file.clone().map(ClientCaFile::Optional);
        Ok(EdgeOptions {
            node: self.node.as_str().into(),
            scheme: self.scheme.into(),
            cluster: self.kubeconfig.choice(),
            tls: files.map(|(certificate, key)| TlsFiles { certificate, key, client_ca }),
            state_file: self.state_file.clone(),
            local_pods: self.local_pods()?,
            node_health: self.node_health()?,
            key_order: self.topology_mode.into(),
        })
    }
}

/// A file, or a server that is reached with this trust. What it says decides where traffic goes, so nobody on the way may change it.
fn polled_source(flag: &str, text: &str, trust: PolledTrust) -> anyhow::Result<PolledSource> {
    if !["http://", "https://"].iter().any(|scheme| text.starts_with(scheme)) {
        return Ok(PolledSource::File(text.into()));
    }
    let url: Uri = text.parse().with_context(|| format!("{flag}: {text} is not a URL"))?;
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_loopback = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
    let is_plain = url.scheme_str() == Some("http");
    if !is_loopback && (is_plain || trust.skips_verification) {
        bail!("{flag}: {host} is not a loopback address: anybody on the way could change what it answers");
    }
    Ok(PolledSource::Url(PolledUrl { url, trust }))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        edge: EdgeArgs,
    }

    #[test]
    fn pods_are_read_from_a_file_or_a_kubelet_nearby() {
        const SKIP: &str = "--kubelet-insecure-skip-tls-verify";
        for (source, is_skipped, want) in [
            ("/run/pods.json", false, Some("file")),
            ("pods.json", false, Some("file")),
            ("https://127.0.0.1:10250/pods", false, Some("kubelet")),
            ("https://127.0.0.1:10250/pods", true, Some("kubelet")),
            ("http://localhost:10255/pods", false, Some("kubelet")),
            ("https://[::1]:10250/pods", true, Some("kubelet")),
            ("https://192.0.2.7:10250/pods", false, Some("kubelet")),
            ("https://192.0.2.7:10250/pods", true, None),
            ("http://192.0.2.7:10255/pods", false, None),
            ("http://", false, None),
        ] {
            let args = ["edge", "--node", "n", "--local-pods", source];
            let args = args.into_iter().chain(is_skipped.then_some(SKIP));
            let edge = Program::try_parse_from(args).map(|program| program.edge).unwrap();
            let kind = edge.local_pods().ok().flatten().map(|source| match source {
                PolledSource::File(_) => "file",
                PolledSource::Url(_) => "kubelet",
            });
            assert_eq!(kind, want, "{source}");
        }
    }

    #[test]
    fn tokens_do_not_cross_the_network_in_plain_text() {
        const TLS: [&str; 4] = ["--tls-cert-file", "tls.crt", "--tls-private-key-file", "tls.key"];
        for (listen, is_tls, want) in [
            ("127.0.0.1:51006", false, true),
            ("127.1.2.3:1", false, true),
            ("[::1]:51006", false, true),
            ("[::ffff:127.0.0.1]:51006", false, true),
            (":51006", false, false),
            ("0.0.0.0:51006", false, false),
            ("169.254.20.11:51006", false, false),
            ("169.254.20.11:51006", true, true),
            ("unix:/run/roster/edge.sock", false, true),
        ] {
            let args = ["edge", "--node", "n", "--listen", listen];
            let args = args.into_iter().chain(TLS.into_iter().filter(|_| is_tls));
            let edge = Program::try_parse_from(args).map(|program| program.edge).unwrap();
            assert_eq!(edge.check().is_ok(), want, "{listen}");
        }
    }
    #[test]
    fn a15_c1_c2_c4_wrong_options_are_errors() {
        for args in [
            &["--node", ""][..],
            &[],
            &["--node", "n", "--listen", "localhost:51006"],
            &["--node", "n", "--node-health", "health.json", "--node-health-ttl", "0"],
            &["--node", "n", "--node-health", "health.json", "--node-health-ttl", "soon"],
            &["--node", "n", "--client-ca-file", "ca.crt"],
            &["--node", "n", "--unknown"],
        ] {
            assert!(Program::try_parse_from(["edge"].iter().chain(args)).is_err(), "{args:?}");
        }
    }

    #[test]
    fn a_unix_socket_has_a_path_and_a_mode() {
        const TCP: &str = "127.0.0.1:51006";
        for (listen, mode, want) in [
            (TCP, None, Some((TCP, None))),
            ("unix:/run/edge.sock", None, Some(("unix:/run/edge.sock", None))),
            ("unix:edge.sock", Some("0660"), Some(("unix:edge.sock", Some(0o660)))),
            ("unix:/run/edge.sock", Some("666"), Some(("unix:/run/edge.sock", Some(0o666)))),
            ("unix:/run/edge.sock", Some("4755"), None),
            ("unix:/run/edge.sock", Some("rw"), None),
            (TCP, Some("0660"), None),
            ("unix:", None, None),
            ("/run/edge.sock", None, None),
        ] {
            let args = ["edge", "--node", "n", "--listen", listen];
            let mode_args = mode.into_iter().flat_map(|mode| ["--socket-mode", mode]);
            let parsed = Program::try_parse_from(args.into_iter().chain(mode_args)).map(|program| program.edge);
            let edge = parsed.ok().filter(|edge| edge.check().is_ok());
            let read = edge.as_ref().map(|edge| (edge.listen.to_string(), edge.socket_mode));
            assert_eq!(read, want.map(|(listen, mode)| (listen.to_owned(), mode)), "{listen} {mode:?}");
        }
    }
}
