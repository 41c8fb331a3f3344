//! The flags of the webhook.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};
use jiff::SignedDuration;
use roster_engine::model::installed::{NAME, NAMESPACE};

use super::ServeOptions;
use crate::{
    cli::{
        cluster_args::KubeconfigArgs,
        server_args::{address, replica_identity},
    },
    kube_api::ClusterChoice,
    runtime::certificates::{CertificateLifetimes, SelfSignedOptions},
    servers::webhook::{self, CertificateSource, ClusterOptions, FailureMode, WebhookLimits, WebhookOptions},
};

/// The flags of the webhook.
#[derive(Debug, Args)]
pub(super) struct WebhookArgs {
    #[arg(long, value_name = "ADDRESS", env = "ROSTER_WEBHOOK_LISTEN", value_parser = address, help_heading = "Webhook", help = listen_help())]
    webhook_listen: Option<SocketAddr>,
    /// Certificate of the webhook in PEM, with its intermediate certificates. Read again when it changes
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Webhook",
        requires = "tls_private_key_file",
        requires = "webhook_listen"
    )]
    tls_cert_file: Option<PathBuf>,
    /// Key of the certificate in PEM
    #[arg(long, value_name = "FILE", help_heading = "Webhook", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// Issue the certificate: store the CA and the certificate in a Secret, renew them in time, and keep every
    /// caBundle in step
    #[arg(long, help_heading = "Webhook", conflicts_with = "tls_cert_file", requires = "cluster")]
    self_signed: bool,
    /// Additional DNS name or IP address in issued certificates
    #[arg(long, value_name = "NAME", help_heading = "Webhook")]
    certificate_name: Vec<String>,
    /// Validity of an issued certificate, such as 90d, 12h or 30m; it is renewed after two thirds of that time
    #[arg(long, value_name = "TIME", help_heading = "Webhook", value_parser = lifetime, default_value = "90d", requires = "self_signed")]
    certificate_lifetime: SignedDuration,
    /// Validity of the issued CA
    #[arg(long, value_name = "TIME", help_heading = "Webhook", value_parser = lifetime, default_value = "365d", requires = "self_signed")]
    ca_lifetime: SignedDuration,
    /// Accept only clients with a certificate of one of these CAs (PEM). Read again when it changes
    #[arg(long, value_name = "FILE", help_heading = "Webhook")]
    client_ca_file: Option<PathBuf>,
    /// `EndpointPolicy` objects in YAML or JSON, besides those of the cluster. Read again when the file changes
    #[arg(long, value_name = "FILE", help_heading = "Webhook", requires = "webhook_listen")]
    policy: Option<PathBuf>,
    /// How /validate responds to a review that it did not check; /mutate always allows
    #[arg(long, value_enum, default_value_t, value_name = "MODE", help_heading = "Webhook")]
    failure_mode: FailureModeArg,
    /// Watch a cluster, so that rules know its pods, Services, nodes and slices: the one of --kubeconfig, KUBECONFIG,
    /// ~/.kube/config, or the pod's service account
    #[arg(long, help_heading = "Webhook")]
    cluster: bool,
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,
    /// Name of the webhook configurations whose caBundles are compared with the certificate
    #[arg(long, value_name = "NAME", help_heading = "Webhook", default_value = NAME, requires = "cluster")]
    webhook_configuration: String,
    /// Namespace of the Secret and the Lease of --self-signed
    #[arg(long, value_name = "NAMESPACE", help_heading = "Webhook", default_value = NAMESPACE, env = "POD_NAMESPACE", hide_env_values = true)]
    namespace: String,
    /// Identity of this replica as a holder of the Lease; it must be unique
    #[arg(long, value_name = "NAME", help_heading = "Webhook", env = "POD_NAME", hide_env_values = true)]
    identity: Option<String>,
}

/// [`FailureMode`] as an argument.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum FailureModeArg {
    /// With an error: the failure policy of the webhook configuration decides
    #[default]
    Policy,
    /// Allow, with a warning
    Open,
    /// Deny
    Closed,
}

fn listen_help() -> String {
    format!(
        "Address of the admission and conversion webhook, which needs --tls-cert-file, --self-signed or --dev \
         [default: off, or {} with --dev, which issues a certificate at every start]",
        ServeOptions::DEV_WEBHOOK,
    )
}

/// A duration in days, hours, minutes or seconds, from ten seconds to ten years: a rotation takes seconds.
fn lifetime(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("{text:?} is not a duration from 10s to 3650d, such as 90d, 12h or 30m");
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
    /// The options of the flags; an error where flags contradict each other.
    pub(super) fn options(&self, dev: bool) -> anyhow::Result<Option<WebhookOptions>> {
        let certificates = match (&self.tls_cert_file, &self.tls_private_key_file) {
            (Some(certificate), Some(key)) => {
                CertificateSource::Files { certificate: certificate.clone(), key: key.clone() }
            }
            _ if self.self_signed => CertificateSource::SelfSigned(self.self_signed_options()),
            _ if dev => CertificateSource::InMemory(self.dev_names()),
            _ if self.webhook_listen.is_some() => {
                anyhow::bail!("--webhook-listen needs a certificate: --tls-cert-file, --self-signed or --dev");
            }
            _ => return Ok(None),
        };
        let Some(listen) = self.webhook_listen.or(dev.then_some(ServeOptions::DEV_WEBHOOK)) else {
            anyhow::bail!("--self-signed needs --webhook-listen");
        };
        Ok(Some(WebhookOptions {
            listen,
            any_port: self.webhook_listen.is_none(),
            certificates,
            client_ca: self.client_ca_file.clone(),
            cluster: self.cluster(),
            policy: self.policy.clone(),
            failure_mode: match self.failure_mode {
                FailureModeArg::Policy => FailureMode::Policy,
                FailureModeArg::Open => FailureMode::Open,
                FailureModeArg::Closed => FailureMode::Closed,
            },
            limits: WebhookLimits::default(),
        }))
    }

    /// The chosen cluster; an error if one is chosen, and neither the webhook uses it nor, as `others` says, another part
    /// of the server.
    pub(super) fn cluster_choice(&self, others: bool) -> anyhow::Result<ClusterChoice> {
        if self.kubeconfig.is_given() && !self.cluster && !others {
            anyhow::bail!("--context and --kubeconfig need --cluster or --page-cluster");
        }
        Ok(self.kubeconfig.choice())
    }

    /// The address of the webhook, if it is given.
    pub(super) fn listen(&self) -> Option<SocketAddr> {
        self.webhook_listen
    }

    fn cluster(&self) -> Option<ClusterOptions> {
        self.cluster.then(|| ClusterOptions {
            cluster: self.kubeconfig.choice(),
            configuration: self.webhook_configuration.clone(),
        })
    }

    fn self_signed_options(&self) -> SelfSignedOptions {
        let (ca, leaf) = (self.ca_lifetime, self.certificate_lifetime);
        // A rotation takes twice this time, and must end before the old CA expires.
        let settle = CertificateLifetimes::default().settle.min(leaf / 12).min(ca / 12);
        let identity = self.identity.clone().unwrap_or_else(replica_identity);
        let lifetimes = CertificateLifetimes { ca, leaf, settle };
        webhook::self_signed(&self.namespace, &identity, &self.certificate_name, lifetimes)
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
