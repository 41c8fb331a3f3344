//! CAs, certificate and keys, as they are stored.

use std::fmt;

use crate::runtime::tls::CertificateKeyPair;

/// The content of the Secret. Its `Debug` shows no key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Material {
    /// CAs in PEM, the newest first: the `caBundle` of API servers.
    pub bundle: String,
    /// The key of the newest CA.
    pub ca_key: String,
    /// The certificate.
    pub certificate: String,
    /// The key of the certificate.
    pub key: String,
}

impl Material {
    /// The certificate and key that a listener serves.
    pub fn key_pair(&self) -> CertificateKeyPair {
        CertificateKeyPair { certificate: self.certificate.clone().into_bytes(), key: self.key.clone().into_bytes() }
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material")
            .field("bundle", &self.bundle)
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}
