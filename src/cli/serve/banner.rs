//! The text that `roster serve` prints when its sockets are bound, with a warning about a REST API that others can reach.

use std::{fmt, net::SocketAddr};

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::servers::rest::AccessOptions;

/// The addresses of a server, as text for a terminal.
#[derive(Debug, Default)]
pub(super) struct Banner {
    /// Whether to explain how to try the server.
    pub(super) dev: bool,
    /// The REST API.
    pub(super) rest: Option<SocketAddr>,
    /// Whether it is served with TLS.
    pub(super) rest_tls: bool,
    /// Whether it needs a token.
    pub(super) rest_token: bool,
    /// How it is exposed, as the rest of a sentence.
    pub(super) exposure: Option<&'static str>,
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
            Some(address) if self.dev => self.write_welcome(f, address)?,
            Some(address) => writeln!(f, "listening on {}://{address}", self.scheme())?,
            None => {}
        }
        if let Some(exposure) = self.exposure {
            writeln!(f, "warning: the REST API is {exposure}")?;
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
        match self.rest.filter(|_| self.dev) {
            Some(address) => {
                writeln!(f, "Open {}://{address}/ in a browser. Ctrl-C stops the server.", self.scheme())
            }
            None => Ok(()),
        }
    }
}

impl Banner {
    fn scheme(&self) -> &'static str {
        if self.rest_tls { "https" } else { "http" }
    }

    fn write_welcome(&self, f: &mut fmt::Formatter<'_>, address: SocketAddr) -> fmt::Result {
        let url = format!("{}://{address}", self.scheme());
        let curl = if self.rest_tls { "curl -s --cacert CA.crt" } else { "curl -s" };
        let token = if self.rest_token { " -H \"authorization: Bearer $TOKEN\"" } else { "" };
        write!(
            f,
            "Roster {version}\n\n  \
               page           {url}/\n  \
               documentation  {url}/docs/\n  \
               sample data    {url}/sample\n  \
               metrics        {url}/metrics\n\n\
             Try it:\n\n  \
               {curl} {url}/sample |\n    \
                 {curl}{token} -H 'content-type: application/yaml' --data-binary @- '{url}/v1/explain?service=shop/catalog'\n\n",
            version = env!("CARGO_PKG_VERSION"),
        )
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

/// How the REST API at `address` is exposed, as the rest of a sentence. `None`: it is on loopback, or encrypted and
/// authenticated.
pub(super) fn exposure(address: SocketAddr, access: &AccessOptions) -> Option<&'static str> {
    if address.ip().to_canonical().is_loopback() {
        return None;
    }
    match (access.tls.is_some(), access.authenticates()) {
        (true, true) => None,
        (true, false) => Some("open to everyone who can reach it: see --token-file and --rest-client-ca-file"),
        (false, false) => {
            Some("open to everyone who can reach it, and not encrypted: see --token-file and --rest-tls-cert-file")
        }
        (false, true) => Some("not encrypted: who sees the traffic can read the token; see --rest-tls-cert-file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::tls::{ClientCaFile, TlsFiles};

    #[test]
    fn the_last_line_for_a_developer_is_the_address_to_open() {
        let rest = Some(SocketAddr::from(([127, 0, 0, 1], 8080)));
        let webhook = Some(SocketAddr::from(([127, 0, 0, 1], 9443)));
        for (banner, want) in [
            (
                Banner { dev: true, rest, webhook, ..Banner::default() },
                "Open http://127.0.0.1:8080/ in a browser. Ctrl-C stops the server.",
            ),
            (
                Banner { dev: true, rest, rest_tls: true, ..Banner::default() },
                "Open https://127.0.0.1:8080/ in a browser. Ctrl-C stops the server.",
            ),
            (Banner { rest, ..Banner::default() }, "listening on http://127.0.0.1:8080"),
            (Banner { dev: true, webhook, ..Banner::default() }, "webhook on https://127.0.0.1:9443"),
        ] {
            assert_eq!(banner.to_string().lines().last(), Some(want), "{banner:?}");
        }
    }

    #[test]
    fn only_an_open_or_unencrypted_address_is_mentioned() {
        let tls = |client_ca: Option<&str>| {
            let [certificate, key] = ["tls.crt", "tls.key"].map(Into::into);
            let client_ca = client_ca.map(|path| ClientCaFile::Required(path.into()));
            Some(TlsFiles { certificate, key, client_ca })
        };
        for (address, tls, token, want) in [
            ("127.0.0.1:8080", None, false, ""),
            ("127.8.8.8:8080", None, false, ""),
            ("[::1]:8080", None, false, ""),
            ("[::ffff:127.0.0.1]:8080", None, false, ""),
            ("0.0.0.0:8080", None, false, "open to everyone who can reach it, and not encrypted: "),
            ("[::]:8080", None, false, "open to everyone who can reach it, and not encrypted: "),
            ("192.0.2.1:8080", tls(None), false, "open to everyone who can reach it: "),
            ("192.0.2.1:8080", None, true, "not encrypted: "),
            ("192.0.2.1:8080", tls(None), true, ""),
            ("192.0.2.1:8080", tls(Some("ca.crt")), false, ""),
        ] {
            let access = AccessOptions { tls, token_file: token.then(|| "token".into()), page_cluster: None };
            let got = exposure(address.parse().unwrap(), &access).unwrap_or_default();
            assert_eq!(got.split_inclusive(": ").next().unwrap_or_default(), want, "{address} {access:?}");
        }
    }
}
