//! Reads stored certificates.

use rcgen::{KeyPair, PublicKeyData};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{
    Material,
    renewal::{CaCertificate, LeafCertificate, StoredCertificates},
};
use crate::runtime::tls::{CertificateInfo, certificates};

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
