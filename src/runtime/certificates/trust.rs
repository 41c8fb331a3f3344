//! Whether a `caBundle` verifies a certificate, as an API server would.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use rustls::{
    CertificateError, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use crate::runtime::tls::{CertificateInfo, certificates, provider};

/// Why an API server would refuse a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// The caBundle is empty.
    #[error("the caBundle is empty")]
    Empty,
    /// The caBundle cannot be read.
    #[error("the caBundle cannot be read: {0}")]
    Unreadable(String),
    /// None of its CAs issued the certificate.
    #[error("no CA in the caBundle issued the certificate")]
    Foreign,
    /// The certificate or its CA has expired, or is not valid yet.
    #[error("the certificate or its CA is not valid at this time")]
    Dates,
    /// The certificate is for other names.
    #[error("the certificate is not for {0}")]
    Name(String),
    /// Another reason.
    #[error("the certificate is not accepted: {0}")]
    Other(String),
}

/// Whether an API server with `bundle` accepts `chain` for `name` at `now`.
pub fn trusts(bundle: &[u8], chain: &[CertificateDer<'_>], name: &str, now: Timestamp) -> Result<(), TrustError> {
    if bundle.trim_ascii().is_empty() {
        return Err(TrustError::Empty);
    }
    let cas = certificates(bundle).map_err(TrustError::Unreadable)?;
    let (leaf, intermediates) = chain.split_first().ok_or(TrustError::Foreign)?;
    if cas.contains(leaf) {
        return itself(leaf, name, now);
    }
    // rustls ignores the dates of a given CA; Go checks them as those of every other certificate.
    let (expired, valid): (Vec<_>, Vec<_>) =
        cas.into_iter().partition(|ca| CertificateInfo::of(ca).is_some_and(|f| f.valid(now).is_err()));
    let server = ServerName::try_from(name).map_err(|_| TrustError::Name(name.to_owned()))?;
    match verify(valid, leaf, intermediates, &server, now) {
        Err(TrustError::Foreign) if verify(expired, leaf, intermediates, &server, now) != Err(TrustError::Foreign) => {
            Err(TrustError::Dates)
        }
        result => result,
    }
}

/// Whether one of these CAs issued the certificate, for this name and time.
fn verify(
    cas: Vec<CertificateDer<'_>>,
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    server: &ServerName<'_>,
    now: Timestamp,
) -> Result<(), TrustError> {
    if cas.is_empty() {
        return Err(TrustError::Foreign);
    }
    let mut roots = RootCertStore::empty();
    // Go also skips what it cannot use.
    roots.add_parsable_certificates(cas);
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let verifier = verifier.map_err(|e| TrustError::Unreadable(e.to_string()))?;
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let at = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    match verifier.verify_server_cert(leaf, intermediates, server, &[], at) {
        Ok(_) => Ok(()),
        Err(rustls::Error::InvalidCertificate(error)) => Err(match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => TrustError::Foreign,
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => TrustError::Dates,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TrustError::Name(server.to_str().into_owned())
            }
            other => TrustError::Other(other.to_string()),
        }),
        Err(other) => Err(TrustError::Other(other.to_string())),
    }
}

/// Go accepts a certificate that is in the bundle itself, even if it calls itself a CA.
fn itself(leaf: &CertificateDer<'_>, name: &str, now: Timestamp) -> Result<(), TrustError> {
    let info =
        CertificateInfo::of(leaf).ok_or_else(|| TrustError::Unreadable("not an X.509 certificate".to_owned()))?;
    info.valid(now).map_err(|_| TrustError::Dates)?;
    let covers = |pattern: &String| {
        pattern.eq_ignore_ascii_case(name)
            || pattern.strip_prefix('*').is_some_and(|rest| name.find('.').is_some_and(|at| &name[at..] == rest))
    };
    if info.names.iter().any(covers) { Ok(()) } else { Err(TrustError::Name(name.to_owned())) }
}
