//! The flags of the webhook.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};
use jiff::SignedDuration;

use crate::{
    model::installed::{NAME, NAMESPACE},
    runtime::{
        certificates::{Life, Own},
        net::{Certificates, ClusterOptions, ServeOptions, WebhookOptions},
    },
    servers::webhook::{FailureMode, Limits},
};

/// The flags of the webhook.
#[derive(Debug, Args)]
pub(super) struct WebhookArgs {
    #[arg(long, value_name = "ADDRESS", env = "ROSTER_WEBHOOK_LISTEN", value_parser = super::address, help_heading = "Webhook", help = listen_help())]
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
    /// Make the certificate here: CA and certificate are kept in a Secret, renewed in time, and every caBundle with
    /// them.
    #[arg(long, help_heading = "Webhook", conflicts_with = "tls_cert_file", requires = "cluster")]
    self_signed: bool,
    /// A further DNS name or address in certificates that are made here.
    #[arg(long, value_name = "NAME", help_heading = "Webhook")]
    certificate_name: Vec<String>,
    /// How long a certificate that is made here lives, as 90d, 12h or 30m; it is renewed after two thirds of it.
    #[arg(long, value_name = "TIME", help_heading = "Webhook", value_parser = lifetime, default_value = "90d", requires = "self_signed")]
    certificate_lifetime: SignedDuration,
    /// The same for the CA.
    #[arg(long, value_name = "TIME", help_heading = "Webhook", value_parser = lifetime, default_value = "365d", requires = "self_signed")]
    ca_lifetime: SignedDuration,
    /// Let only clients in whose certificate is from one of these CAs. Read again when it changes.
    #[arg(long, value_name = "FILE", help_heading = "Webhook")]
    client_ca_file: Option<PathBuf>,
    /// `EndpointPolicies` in YAML or JSON, besides those of the cluster. Read again when the file changes.
    #[arg(long, value_name = "FILE", help_heading = "Webhook", requires = "webhook_listen")]
    policy: Option<PathBuf>,
    /// What validation says of a review that it could not look at in time. Mutation always allows.
    #[arg(long, value_enum, default_value_t, value_name = "MODE", help_heading = "Webhook")]
    failure_mode: Mode,
    /// Watch a cluster, so that rules can ask about pods, Services, nodes and slices: that of --kubeconfig, or of
    /// KUBECONFIG, ~/.kube/config, or the pod's own account.
    #[arg(long, help_heading = "Webhook")]
    cluster: bool,
    /// The kubeconfig file.
    #[arg(long, value_name = "FILE", help_heading = "Webhook", requires = "cluster")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig.
    #[arg(long, value_name = "CONTEXT", help_heading = "Webhook", requires = "cluster")]
    context: Option<String>,
    /// Name of the webhook configurations whose caBundles are compared with the certificate.
    #[arg(long, value_name = "NAME", help_heading = "Webhook", default_value = NAME, requires = "cluster")]
    webhook_configuration: String,
    /// Namespace of the Secret and the Lease of --self-signed.
    #[arg(long, value_name = "NAMESPACE", help_heading = "Webhook", default_value = NAMESPACE, env = "POD_NAMESPACE", hide_env_values = true)]
    namespace: String,
    /// Who takes the Lease: a name that no other replica has.
    #[arg(long, value_name = "NAME", help_heading = "Webhook", env = "POD_NAME", hide_env_values = true)]
    identity: Option<String>,
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

fn listen_help() -> String {
    format!(
        "Serve the admission and conversion webhook with TLS here, with --tls-cert-file, --self-signed or --dev. \
         Default: nowhere, or {} with --dev, whose certificate is new at every start",
        ServeOptions::DEV_WEBHOOK,
    )
}

/// A time in days, hours, minutes or seconds, of ten seconds to ten years: a rotation takes seconds.
fn lifetime(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("{text:?} is no time from 10s to 3650d, such as 90d, 12h or 30m");
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let number: i64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let seconds = number.checked_mul(seconds).filter(|s| (10..=3650 * 86_400).contains(s)).ok_or_else(wrong)?;
    Ok(SignedDuration::from_secs(seconds))
}

impl WebhookArgs {
    /// What the flags ask for; an error where they do not go together.
    pub(super) fn options(&self, dev: bool) -> anyhow::Result<Option<WebhookOptions>> {
        let certificates = match (&self.tls_cert_file, &self.tls_private_key_file) {
            (Some(certificate), Some(key)) => {
                Certificates::Files { certificate: certificate.clone(), key: key.clone() }
            }
            _ if self.self_signed => Certificates::SelfSigned(self.own()),
            _ if dev => Certificates::InMemory(self.dev_names()),
            _ if self.webhook_listen.is_some() => {
                anyhow::bail!("--webhook-listen needs a certificate: --tls-cert-file, --self-signed or --dev");
            }
            _ => return Ok(None),
        };
        let Some(listen) = self.webhook_listen.or(dev.then_some(ServeOptions::DEV_WEBHOOK)) else {
            anyhow::bail!("--self-signed is the webhook's: it needs --webhook-listen");
        };
        Ok(Some(WebhookOptions {
            listen,
            any_port: self.webhook_listen.is_none(),
            certificates,
            client_ca: self.client_ca_file.clone(),
            policy: self.policy.clone(),
            failure_mode: match self.failure_mode {
                Mode::Open => FailureMode::Open,
                Mode::Closed => FailureMode::Closed,
            },
            limits: Limits::default(),
        }))
    }

    /// Where the webhook is to listen, if that is said.
    pub(super) fn listen(&self) -> Option<SocketAddr> {
        self.webhook_listen
    }

    pub(super) fn cluster(&self) -> Option<ClusterOptions> {
        self.cluster.then(|| ClusterOptions {
            context: self.context.clone(),
            kubeconfig: self.kubeconfig.clone(),
            configuration: self.webhook_configuration.clone(),
        })
    }

    fn own(&self) -> Own {
        let (ca, leaf) = (self.ca_lifetime, self.certificate_lifetime);
        // A rotation takes two such times, and must be over before the old CA ends.
        let settle = Life::default().settle.min(leaf / 12).min(ca / 12);
        // Two replicas on one machine have different ids; pods have names.
        let identity = self.identity.clone().unwrap_or_else(|| format!("process-{}", std::process::id()));
        Own::new(&self.namespace, &identity, &self.certificate_name, Life { ca, leaf, settle })
    }

    fn dev_names(&self) -> Vec<String> {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        names.extend(self.webhook_listen.map(|a| a.ip()).filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string()));
        names.extend(self.certificate_name.iter().cloned());
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_have_a_unit_and_bounds() {
        for (text, want) in [
            ("90d", Some(90 * 86_400)),
            ("12h", Some(43_200)),
            ("30m", Some(1800)),
            ("10s", Some(10)),
            ("9s", None),
            ("3651d", None),
            ("90", None),
            ("", None),
            ("d", None),
            ("9€", None),
            ("-1d", None),
            ("99999999999999999d", None),
        ] {
            assert_eq!(lifetime(text).ok().map(|d| d.as_secs()), want, "{text}");
        }
    }
}
