//! The text that `roster serve` prints when its sockets are bound.

use std::{fmt, net::SocketAddr};

use base64::{Engine, prelude::BASE64_STANDARD};

/// The addresses of a server, as text for a terminal.
#[derive(Debug, Default)]
pub(super) struct Banner {
    /// Whether to explain how to try the server.
    pub(super) dev: bool,
    /// The REST API.
    pub(super) rest: Option<SocketAddr>,
    /// Health and metrics.
    pub(super) admin: Option<SocketAddr>,
    /// The webhook.
    pub(super) webhook: Option<SocketAddr>,
    /// The CA of the webhook's certificate in PEM, if it is issued anew at every start.
    pub(super) webhook_ca: Option<String>,
}

impl fmt::Display for Banner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rest {
            Some(address) if self.dev => write_welcome(f, address)?,
            Some(address) => writeln!(f, "listening on http://{address}")?,
            None => {}
        }
        if let Some(address) = self.webhook {
            writeln!(f, "webhook on https://{address}")?;
            if let Some(ca) = &self.webhook_ca {
                write_client_config(f, address, ca)?;
            }
        }
        if let Some(address) = self.admin {
            writeln!(f, "health and metrics on http://{address}")?;
        }
        Ok(())
    }
}

fn write_client_config(f: &mut fmt::Formatter<'_>, address: SocketAddr, ca: &str) -> fmt::Result {
    writeln!(
        f,
        "\nThe certificate is new at every start. For a webhook configuration:\n\n  \
           clientConfig:\n    \
             url: https://{address}/validate   # or /mutate, /convert\n    \
             caBundle: {}\n",
        BASE64_STANDARD.encode(ca),
    )
}

fn write_welcome(f: &mut fmt::Formatter<'_>, address: SocketAddr) -> fmt::Result {
    write!(
        f,
        "Roster {version}\n\n  \
           documentation  http://{address}/docs/\n  \
           sample data    http://{address}/sample\n  \
           metrics        http://{address}/metrics\n\n\
         Try it:\n\n  \
           curl -s http://{address}/sample |\n    \
             curl -s -H 'content-type: application/yaml' --data-binary @- 'http://{address}/v1/explain?service=shop/catalog'\n\n\
         Ctrl-C stops the server.\n\n",
        version = env!("CARGO_PKG_VERSION"),
    )
}
