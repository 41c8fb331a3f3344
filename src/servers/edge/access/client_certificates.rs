//! Clients with a certificate: whether it is still one of the CA, and who they are.

use std::sync::Arc;

use super::{caller::unauthorized, certificate_user::CertificateUser};
use crate::runtime::{
    clock::Clock,
    status_error::StatusError,
    tls::{ClientChain, DynamicCertificate},
};

/// Knows clients by their certificates.
#[derive(Clone, Debug)]
pub(crate) struct ClientCertificates {
    pub(crate) served: Arc<DynamicCertificate>,
    pub(crate) clock: Clock,
}

impl ClientCertificates {
    /// The user of a client. As an API server does, it looks at the certificate for each request: since the handshake, it may
    /// have expired, or the CA may be another one.
    pub(crate) fn user(&self, client: &ClientChain) -> Result<CertificateUser, StatusError> {
        self.served.verify_client(client, self.clock.now()).map_err(|why| {
            let why = format!("the client certificate is not valid any more: {why}");
            unauthorized(&why)
        })?;
        let user = client.subject().and_then(CertificateUser::of);
        user.ok_or_else(|| unauthorized("the client certificate names no user: its subject has no CN that can be read"))
    }
}
