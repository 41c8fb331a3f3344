//! What a user should know about a REST API that other machines can reach.

use std::net::SocketAddr;

use crate::servers::rest::AccessOptions;

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
            let access = AccessOptions { tls, token_file: token.then(|| "token".into()) };
            let got = exposure(address.parse().unwrap(), &access).unwrap_or_default();
            assert_eq!(got.split_inclusive(": ").next().unwrap_or_default(), want, "{address} {access:?}");
        }
    }
}
