//! TLS clients that accept every certificate: what is tested is the server, not its identity.

use std::sync::Arc;

use anyhow::Result;
use rustls::{ClientConfig, client::Resumption};
use tokio_rustls::TlsConnector;

use any_certificate::AnyCertificate;

/// The verifier of Roster's own TLS probe.
#[path = "../../src/runtime/tls/any_certificate.rs"]
mod any_certificate;

/// A client that offers these protocols by ALPN. Every handshake is a full one, as an API server makes it.
pub(crate) fn connector(protocols: &[&[u8]]) -> Result<TlsConnector> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let config = config.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)));
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|p| p.to_vec()).collect();
    config.resumption = Resumption::disabled();
    Ok(TlsConnector::from(Arc::new(config)))
}
