//! CAs, certificate and keys, as they are stored: where, and what they contain.

use std::fmt;

use rcgen::{KeyPair, PublicKeyData};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::renewal::{CaCertificate, CertificateLifetimes, LeafCertificate, StoredCertificates};
use crate::runtime::tls::{CertificateInfo, CertificateKeyPair, certificates};

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

/// What `material` contains. What cannot be read counts as missing.
pub fn inspect(material: &Material, published: bool) -> StoredCertificates {
    let bundle = certificates(material.bundle.as_bytes()).unwrap_or_default();
    let cas: Vec<CaCertificate> =
        bundle.iter().filter_map(CertificateInfo::of).map(|info| CaCertificate { info }).collect();
    // A CA that cannot be read would shift the positions of the others.
    let whole = cas.len() == bundle.len();
    let can_sign = whole && bundle.first().is_some_and(|ca| is_key_of(&material.ca_key, ca));
    // As a listener reads it: a certificate without its key does not count.
    let leaf = material.key_pair().info().ok().map(|info| {
        let signer = cas.iter().position(|ca| ca.info.subject == info.issuer);
        LeafCertificate { info, signer }
    });
    StoredCertificates { cas, can_sign, leaf, published }
}

fn is_key_of(pem: &str, certificate: &[u8]) -> bool {
    let Ok(key) = KeyPair::from_pem(pem) else { return false };
    let Ok((_, x509)) = X509Certificate::from_der(certificate) else { return false };
    x509.public_key().raw == key.subject_public_key_info()
}

/// Certificates that Roster issues, and where it stores them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfSignedOptions {
    /// The namespace of the Secret and the Lease.
    pub namespace: String,
    /// The name of the Secret.
    pub secret: String,
    /// The name of the Lease.
    pub lease: String,
    /// The identity of this replica as a holder of the Lease.
    pub identity: String,
    /// The names in the certificate.
    pub names: Vec<String>,
    /// How long certificates are valid.
    pub life: CertificateLifetimes,
}
