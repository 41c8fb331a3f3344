//! The certificate of a client, and who it is.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use rustls::{
    pki_types::{CertificateDer, UnixTime},
    server::danger::ClientCertVerifier,
};
use x509_parser::{
    oid_registry::{OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME},
    prelude::{FromDer, X509Certificate},
};

/// The certificate of a client, whose key it has, and those between it and its CA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientChain(Arc<[CertificateDer<'static>]>);

/// What the subject of a certificate says of its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CertificateSubject {
    /// The last CN, or the empty text.
    pub(crate) common_name: String,
    /// Each O.
    pub(crate) organizations: Vec<String>,
}

impl ClientChain {
    /// The chain that a handshake has verified; `None` if it is empty.
    pub(crate) fn of(certificates: &[CertificateDer<'static>]) -> Option<Self> {
        (!certificates.is_empty()).then(|| Self(certificates.into()))
    }

    /// Verifies it once more.
    pub(super) fn verify(&self, verifier: &dyn ClientCertVerifier, now: Timestamp) -> Result<(), String> {
        let (own, rest) = self.0.split_first().ok_or("there is no certificate")?;
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        verifier.verify_client_cert(own, rest, now).map(|_| ()).map_err(|error| error.to_string())
    }

    /// The subject of the certificate; `None` if a part of it cannot be read.
    pub(crate) fn subject(&self) -> Option<CertificateSubject> {
        let (_, x509) = X509Certificate::from_der(self.0.first()?).ok()?;
        let mut subject = CertificateSubject { common_name: String::new(), organizations: Vec::new() };
        for attribute in x509.subject().iter_attributes() {
            if *attribute.attr_type() == OID_X509_COMMON_NAME {
                attribute.as_str().ok()?.clone_into(&mut subject.common_name);
            } else if *attribute.attr_type() == OID_X509_ORGANIZATION_NAME {
                subject.organizations.push(attribute.as_str().ok()?.to_owned());
            }
        }
        Some(subject)
    }
}
