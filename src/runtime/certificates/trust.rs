//! Whether a `caBundle` verifies a certificate, as an API server would.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use rustls::{
    CertificateError, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use crate::runtime::tls::{Facts, certificates, provider};

/// Why an API server would refuse the certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// There is nothing in it.
    #[error("the caBundle is empty")]
    Empty,
    /// It cannot be read.
    #[error("the caBundle cannot be read: {0}")]
    Unreadable(String),
    /// None of its CAs made the certificate.
    #[error("the certificate is from none of the CAs in the caBundle")]
    Foreign,
    /// The certificate, or its CA, has ended or not begun.
    #[error("the certificate or its CA is not valid at this time")]
    Dates,
    /// It is for other names.
    #[error("the certificate is not for {0}")]
    Name(String),
    /// Something else.
    #[error("the certificate is not accepted: {0}")]
    Other(String),
}

/// Whether an API server with `bundle` accepts `chain` for `name` at `now`.
pub fn trusts(bundle: &[u8], chain: &[CertificateDer<'_>], name: &str, now: Timestamp) -> Result<(), Distrust> {
    if bundle.trim_ascii().is_empty() {
        return Err(Distrust::Empty);
    }
    let cas = certificates(bundle).map_err(Distrust::Unreadable)?;
    let (leaf, between) = chain.split_first().ok_or(Distrust::Foreign)?;
    if cas.contains(leaf) {
        return itself(leaf, name, now);
    }
    // For rustls a CA that it was given has no dates; for Go it ends as every other certificate.
    let (ended, valid): (Vec<_>, Vec<_>) =
        cas.into_iter().partition(|ca| Facts::of(ca).is_some_and(|f| f.valid(now).is_err()));
    let server = ServerName::try_from(name).map_err(|_| Distrust::Name(name.to_owned()))?;
    match verify(valid, leaf, between, &server, now) {
        Err(Distrust::Foreign) if verify(ended, leaf, between, &server, now) != Err(Distrust::Foreign) => {
            Err(Distrust::Dates)
        }
        result => result,
    }
}

/// Whether one of these CAs made the certificate, for this name and time.
fn verify(
    cas: Vec<CertificateDer<'_>>,
    leaf: &CertificateDer<'_>,
    between: &[CertificateDer<'_>],
    server: &ServerName<'_>,
    now: Timestamp,
) -> Result<(), Distrust> {
    if cas.is_empty() {
        return Err(Distrust::Foreign);
    }
    let mut roots = RootCertStore::empty();
    // Go skips what it cannot use, too.
    roots.add_parsable_certificates(cas);
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let verifier = verifier.map_err(|e| Distrust::Unreadable(e.to_string()))?;
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let at = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    match verifier.verify_server_cert(leaf, between, server, &[], at) {
        Ok(_) => Ok(()),
        Err(rustls::Error::InvalidCertificate(error)) => Err(match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Distrust::Foreign,
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Distrust::Dates,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Distrust::Name(server.to_str().into_owned())
            }
            other => Distrust::Other(other.to_string()),
        }),
        Err(other) => Err(Distrust::Other(other.to_string())),
    }
}

/// Go accepts a certificate that is in the bundle itself, even if it calls itself a CA.
fn itself(leaf: &CertificateDer<'_>, name: &str, now: Timestamp) -> Result<(), Distrust> {
    let facts = Facts::of(leaf).ok_or_else(|| Distrust::Unreadable("it is no X.509 certificate".to_owned()))?;
    facts.valid(now).map_err(|_| Distrust::Dates)?;
    let covers = |pattern: &String| {
        pattern.eq_ignore_ascii_case(name)
            || pattern.strip_prefix('*').is_some_and(|rest| name.find('.').is_some_and(|at| &name[at..] == rest))
    };
    if facts.names.iter().any(covers) { Ok(()) } else { Err(Distrust::Name(name.to_owned())) }
}
