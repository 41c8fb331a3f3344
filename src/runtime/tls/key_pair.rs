//! Certificates in PEM, and a certificate with its key, read and checked as one.

use std::{fmt, sync::Arc};

use rustls::{
    ServerConfig,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    server::danger::ClientCertVerifier,
};

use super::{CertificateInfo, client_ca::ClientCa, provider};

/// A certificate and its key in PEM. Its `Debug` shows no key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CertificateKeyPair {
    /// The certificate, and those between it and its CA.
    pub certificate: Vec<u8>,
    /// The key.
    pub key: Vec<u8>,
}

impl fmt::Debug for CertificateKeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateKeyPair").field("certificate", &self.certificate.len()).finish_non_exhaustive()
    }
}

/// A certificate and its key, ready to be served.
#[derive(Debug)]
pub(super) struct LoadedKeyPair {
    pub(super) config: Arc<ServerConfig>,
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) info: CertificateInfo,
    pub(super) client_verifier: Option<Arc<dyn ClientCertVerifier>>,
}

impl CertificateKeyPair {
    /// What the certificate contains, if it can be served.
    pub(crate) fn info(&self) -> Result<CertificateInfo, KeyPairError> {
        self.load(None).map(|loaded| loaded.info)
    }

    /// Reads both. With `client_ca`, only clients with a certificate of it may connect, or those without any as well.
    pub(super) fn load(&self, client_ca: Option<&ClientCa>) -> Result<LoadedKeyPair, KeyPairError> {
        let chain = certificates(&self.certificate).map_err(KeyPairError::Certificate)?;
        let info = chain.first().and_then(CertificateInfo::of);
        let info = info.ok_or_else(|| KeyPairError::Certificate("not an X.509 certificate".to_owned()))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|e| KeyPairError::Key(unreadable(&e)))?;
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(KeyPairError::Together)?;
        let client_verifier = client_ca.map(ClientCa::verifier).transpose()?;
        let builder = match client_verifier.clone() {
            None => builder.with_no_client_auth(),
            Some(verifier) => builder.with_client_cert_verifier(verifier),
        };
        // This refuses the key of another certificate.
        let mut config = builder.with_single_cert(chain.clone(), key).map_err(KeyPairError::Together)?;
        // API servers speak HTTP/1.1 with a Service, and HTTP/2 with a URL.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(LoadedKeyPair { config: Arc::new(config), chain, info, client_verifier })
    }
}

/// Why a PEM text has no key.
fn unreadable(error: &pem::Error) -> String {
    match error {
        pem::Error::NoItemsFound => "it contains no private key".to_owned(),
        error => error.to_string(),
    }
}

/// Why a certificate and its key cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum KeyPairError {
    /// The certificate cannot be read.
    #[error("the certificate cannot be read: {0}")]
    Certificate(String),
    /// The key cannot be read.
    #[error("the key cannot be read: {0}")]
    Key(String),
    /// Both can be read, but do not belong together, or have an unsupported algorithm.
    #[error("the certificate and the key cannot be used together: {0}")]
    Together(#[source] rustls::Error),
    /// The client CAs cannot be read.
    #[error("the client CA cannot be read: {0}")]
    ClientCa(String),
}

/// The certificates of a PEM text, at least one.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => Err("it contains no certificate".to_owned()),
        Ok(all) => Ok(all),
        Err(error) => Err(error.to_string()),
    }
}
