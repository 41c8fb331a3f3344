//! `roster edge`: the node proxy.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use super::{
    outcome::Outcome,
    serve::{LogFormatArg, ServeOptions, address},
};
use crate::{
    runtime::{
        allowed_hosts::AllowedHosts,
        clock::Clock,
        freed_memory::return_freed_memory,
        net::{Health, Server, ServerOptions, Socket, signals},
        telemetry::logs,
    },
    servers::edge::{self, EdgeOptions, EdgeTls, Scheme},
};

/// How long an idle thread waits for work.
const IDLE_THREAD: Duration = Duration::from_secs(2);

/// Serve kube-proxy and other clients of one node what they read of the API server, without the endpoints that the
/// node must not use.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 stopped by a signal, 2 usage error, or the server cannot start or fails.")]
pub(crate) struct EdgeArgs {
    /// Name of the node, as its Node object has it
    #[arg(long, value_name = "NAME", env = "NODE_NAME", value_parser = node_name)]
    node: String,
    /// What is removed from Services, Endpoints and EndpointSlices
    #[arg(long, value_enum, default_value_t, value_name = "SCHEME")]
    scheme: SchemeArg,
    /// Address of the proxy: a loopback address, unless it serves TLS
    #[arg(long, value_name = "ADDRESS", default_value_t = EdgeOptions::LISTEN, value_parser = address)]
    listen: SocketAddr,
    /// Certificate of the proxy in PEM. Read again when it changes. Clients with a kubeconfig need TLS: to a server of plain
    /// HTTP, they send no token
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// Key of that certificate in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// Serve health and metrics, and nothing else, on this address as well
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    admin_listen: Option<SocketAddr>,
    /// Context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    /// Kubeconfig with which objects are watched [default: $KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// File in which resourceVersions are reserved, so that they rise across restarts even if the clock is set back. What is
    /// known of the API server is saved in PATH.objects, so that the proxy can start while the API server is away
    #[arg(long, value_name = "PATH")]
    state_file: Option<PathBuf>,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", env = "ROSTER_LOG_FORMAT")]
    log_format: LogFormatArg,
    /// Log filter, such as `info` or `roster=debug,warn`
    #[arg(long, value_name = "FILTER", default_value_t = ServeOptions::default().log_filter, env = "ROSTER_LOG")]
    log: String,
}

/// [`Scheme`] as an argument.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum SchemeArg {
    /// Nothing: kube-proxy decides by itself
    #[default]
    KubeProxy,
    /// What SuperEdge's application-grid-wrapper removes
    #[value(name = "superedge")]
    SuperEdge,
    /// What OpenYurt's yurthub removes
    #[value(name = "openyurt")]
    OpenYurt,
}

impl From<SchemeArg> for Scheme {
    fn from(scheme: SchemeArg) -> Self {
        match scheme {
            SchemeArg::KubeProxy => Self::KubeProxy,
            SchemeArg::SuperEdge => Self::SuperEdge,
            SchemeArg::OpenYurt => Self::OpenYurt,
        }
    }
}

fn node_name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("the name of the node is empty".to_owned()) } else { Ok(text.to_owned()) }
}

impl EdgeArgs {
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        self.check()?;
        logs::init(self.log_format.into(), &self.log).context("the log filter")?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_keep_alive(IDLE_THREAD)
            .build()
            .context("the async runtime")?;
        let done = runtime.block_on(self.serve());
        runtime.shutdown_background();
        done.map(|()| Outcome::Success)
    }

    fn check(&self) -> anyhow::Result<()> {
        if self.tls_cert_file.is_none() && !self.listen.ip().to_canonical().is_loopback() {
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
        let socket = Socket::bind(self.listen)?;
        let options = ServerOptions::default();
        let hosts = AllowedHosts::of_listener(socket.address(), &options.allowed_hosts);
        let health = Health::default();
        let part = edge::part(&self.options(), hosts, &Clock::system(), &health).await?;
        let mut server = Server::new(options, health);
        server.add(socket, part);
        if let Some(address) = self.admin_listen {
            server.add_admin(Socket::bind(address)?);
        }
        tokio::spawn(return_freed_memory());
        server.run(signals).await
    }

    fn options(&self) -> EdgeOptions {
        let files = self.tls_cert_file.clone().zip(self.tls_private_key_file.clone());
        EdgeOptions {
            node: self.node.as_str().into(),
            scheme: self.scheme.into(),
            context: self.context.clone(),
            kubeconfig: self.kubeconfig.clone(),
            tls: files.map(|(certificate, key)| EdgeTls { certificate, key }),
            state_file: self.state_file.clone(),
        }
    }
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
        ] {
            let args = ["edge", "--node", "n", "--listen", listen];
            let args = args.into_iter().chain(TLS.into_iter().filter(|_| is_tls));
            let edge = Program::try_parse_from(args).map(|program| program.edge).unwrap();
            assert_eq!(edge.check().is_ok(), want, "{listen}");
        }
    }
}
