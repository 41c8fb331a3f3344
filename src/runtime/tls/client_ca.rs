//! The CAs of clients, and the verifier of the certificates that they issue.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    pki_types::{CertificateDer, UnixTime},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};

use super::{CertificateInfo, KeyPairError, certificates, provider};

/// CAs of clients.
#[derive(Clone, Debug)]
pub(super) struct ClientCa {
    /// The certificates in PEM.
    pub(super) pem: Vec<u8>,
    /// Whether a client without a certificate is refused.
    pub(super) is_required: bool,
}

impl ClientCa {
    /// A verifier of the certificates of clients.
    pub(super) fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, KeyPairError> {
        let all = certificates(&self.pem).map_err(KeyPairError::ClientCa)?;
        let dated = |ca: &CertificateDer<'static>| {
            let info = CertificateInfo::of(ca);
            let info = info.ok_or_else(|| KeyPairError::ClientCa("not an X.509 certificate".to_owned()))?;
            Ok(DatedCa { verifier: self.verifier_of(std::slice::from_ref(ca))?, info })
        };
        let cas = all.iter().map(dated).collect::<Result<_, _>>()?;
        Ok(Arc::new(DatedVerifier { of_all: self.verifier_of(&all)?, cas }))
    }

    fn verifier_of(&self, cas: &[CertificateDer<'static>]) -> Result<Arc<dyn ClientCertVerifier>, KeyPairError> {
        let mut roots = RootCertStore::empty();
        for ca in cas {
            roots.add(ca.clone()).map_err(|e| KeyPairError::ClientCa(e.to_string()))?;
        }
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
        let builder = if self.is_required { builder } else { builder.allow_unauthenticated() };
        builder.build().map_err(|e| KeyPairError::ClientCa(e.to_string()))
    }
}

/// A verifier that also looks at the dates of the CAs, as Go does: rustls ignores those of a given CA.
#[derive(Debug)]
struct DatedVerifier {
    of_all: Arc<dyn ClientCertVerifier>,
    cas: Vec<DatedCa>,
}

#[derive(Debug)]
struct DatedCa {
    verifier: Arc<dyn ClientCertVerifier>,
    info: CertificateInfo,
}

impl ClientCertVerifier for DatedVerifier {
    fn offer_client_auth(&self) -> bool {
        self.of_all.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.of_all.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.of_all.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let second = i64::try_from(now.as_secs()).ok().and_then(|second| Timestamp::from_second(second).ok());
        let is_valid = |ca: &&DatedCa| second.is_some_and(|now| ca.info.valid(now).is_ok());
        // Another CA with the same key may still be valid.
        let by_valid = self.cas.iter().filter(is_valid);
        let mut accepted = by_valid.filter_map(|ca| ca.verifier.verify_client_cert(own, intermediates, now).ok());
        // Only a refusal needs all of them: it says whether the CA or the certificate is at fault.
        let refusal = || {
            let of_all = self.of_all.verify_client_cert(own, intermediates, now);
            of_all.err().unwrap_or(Error::InvalidCertificate(CertificateError::Expired))
        };
        accepted.next().ok_or_else(refusal)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.of_all.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.of_all.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.of_all.supported_verify_schemes()
    }
}
