//! The flags of the webhook.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};

use crate::{
    server::{Certificates, ClusterOptions, WebhookOptions},
    tls::Files,
    webhook::{FailureMode, Limits},
};

/// The flags of the webhook.
#[derive(Debug, Args)]
pub(super) struct WebhookArgs {
    /// Serve the admission and conversion webhook with TLS here. It needs a certificate.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "ROSTER_WEBHOOK_LISTEN",
        help_heading = "Webhook",
        requires = "tls_cert_file"
    )]
    webhook_listen: Option<SocketAddr>,
    /// The webhook's certificate in PEM, with those between it and its CA. Read again when it changes.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Webhook",
        requires = "tls_private_key_file",
        requires = "webhook_listen"
    )]
    tls_cert_file: Option<PathBuf>,
    /// The key of the certificate.
    #[arg(long, value_name = "FILE", help_heading = "Webhook", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// Let only clients in whose certificate is from one of these CAs.
    #[arg(long, value_name = "FILE", help_heading = "Webhook", requires = "tls_cert_file")]
    client_ca_file: Option<PathBuf>,
    /// What validation says of a review that it could not look at in time: `open` allows, `closed` refuses. Mutation
    /// always allows.
    #[arg(long, value_enum, default_value_t, value_name = "MODE", help_heading = "Webhook")]
    failure_mode: Mode,
    /// Watch a cluster, so that rules can ask about pods, Services, nodes and slices: that of --kubeconfig, or of
    /// KUBECONFIG, ~/.kube/config, or the pod's own account.
    #[arg(long, help_heading = "Webhook", requires = "webhook_listen")]
    cluster: bool,
    /// The kubeconfig file.
    #[arg(long, value_name = "FILE", help_heading = "Webhook", requires = "cluster")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig.
    #[arg(long, value_name = "CONTEXT", help_heading = "Webhook", requires = "cluster")]
    context: Option<String>,
}

/// [`FailureMode`] as an argument.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Mode {
    /// Allow, with a warning
    #[default]
    Open,
    /// Refuse
    Closed,
}

impl WebhookArgs {
    pub(super) fn options(&self) -> Option<WebhookOptions> {
        let (certificate, key) = (self.tls_cert_file.clone()?, self.tls_private_key_file.clone()?);
        Some(WebhookOptions {
            listen: self.webhook_listen?,
            certificates: Certificates::Files(Files { certificate, key, client_ca: self.client_ca_file.clone() }),
            failure_mode: match self.failure_mode {
                Mode::Open => FailureMode::Open,
                Mode::Closed => FailureMode::Closed,
            },
            limits: Limits::default(),
        })
    }

    pub(super) fn cluster(&self) -> Option<ClusterOptions> {
        self.cluster.then(|| ClusterOptions { context: self.context.clone(), kubeconfig: self.kubeconfig.clone() })
    }
}
