//! Certificates in PEM.

use rustls::pki_types::{CertificateDer, pem::PemObject};

/// The certificates of a PEM text, at least one.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => Err("it contains no certificate".to_owned()),
        Ok(all) => Ok(all),
        Err(error) => Err(error.to_string()),
    }
}
