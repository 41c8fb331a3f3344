//! A certificate with its key and what belongs to it, read and checked as one.

use std::{fmt, sync::Arc};

use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};

use super::{Facts, provider};

/// What is needed to serve TLS, in PEM. Its `Debug` shows no key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Pair {
    /// The certificate, and those between it and its CA.
    pub certificate: Vec<u8>,
    /// The key.
    pub key: Vec<u8>,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("certificate", &self.certificate.len()).finish_non_exhaustive()
    }
}

/// Why a pair cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// The certificate cannot be read.
    #[error("the certificate cannot be read: {0}")]
    Certificate(String),
    /// The key cannot be read.
    #[error("the key cannot be read: {0}")]
    Key(String),
    /// Both can be read, and do not belong together, or are of a kind that is not served.
    #[error("the certificate and the key cannot be used together: {0}")]
    Together(#[source] rustls::Error),
    /// The client CAs cannot be read.
    #[error("the client CA cannot be read: {0}")]
    ClientCa(String),
}

/// A pair that can be served.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) config: Arc<ServerConfig>,
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) facts: Facts,
}

impl Pair {
    /// What the certificate says, if it can be served.
    pub(crate) fn facts(&self) -> Result<Facts, PairError> {
        self.check(None).map(|checked| checked.facts)
    }

    /// Reads it, for clients of `client_ca` only if that is given.
    pub(super) fn check(&self, client_ca: Option<&[u8]>) -> Result<Checked, PairError> {
        let chain = certificates(&self.certificate).map_err(PairError::Certificate)?;
        let facts = chain.first().and_then(Facts::of);
        let facts = facts.ok_or_else(|| PairError::Certificate("it is no X.509 certificate".to_owned()))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|e| PairError::Key(unreadable(&e)))?;
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(PairError::Together)?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(ca) => builder.with_client_cert_verifier(client_verifier(ca)?),
        };
        // Refuses a key that is not that of the certificate.
        let mut config = builder.with_single_cert(chain.clone(), key).map_err(PairError::Together)?;
        // API servers speak HTTP/1.1 with a Service, and HTTP/2 with an URL.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Checked { config: Arc::new(config), chain, facts })
    }
}

/// Why there is no key in a PEM text.
fn unreadable(error: &pem::Error) -> String {
    match error {
        pem::Error::NoItemsFound => "there is no private key in it".to_owned(),
        error => error.to_string(),
    }
}

/// All certificates of a PEM text; at least one.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => Err("there is no certificate in it".to_owned()),
        Ok(all) => Ok(all),
        Err(error) => Err(error.to_string()),
    }
}

/// Lets clients of these CAs in, and nobody else.
pub(super) fn client_verifier(pem: &[u8]) -> Result<Arc<dyn ClientCertVerifier>, PairError> {
    let mut roots = RootCertStore::empty();
    for ca in certificates(pem).map_err(PairError::ClientCa)? {
        roots.add(ca).map_err(|e| PairError::ClientCa(e.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
    verifier.build().map_err(|e| PairError::ClientCa(e.to_string()))
}
