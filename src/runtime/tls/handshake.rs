//! TLS handshakes, with a time limit and a reason for each failure.

use std::{io, net::SocketAddr, time::Duration};

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible, server::Acceptor};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};

use super::{DynamicCertificate, TlsProbe};

/// The time limit of a handshake. An API server gives up after 10 s as well.
const LIMIT: Duration = Duration::from_secs(10);

/// What rustls buffers of a response whose client does not read. Every connection may have as much.
const SEND_BUFFER: usize = 16 << 10;

/// Performs the handshake of a connection; `None` if it fails. A client of a Unix socket has no address. `greeted` is called
/// once the client has sent its first message.
pub(crate) async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    peer: Option<SocketAddr>,
    certificate: &DynamicCertificate,
    probe: &TlsProbe,
    greeted: impl FnOnce(),
) -> Option<TlsStream<S>> {
    let shake_hands = async {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        greeted();
        // A connection keeps the certificate that it began with.
        let current = certificate.current().ok_or(io::ErrorKind::NotConnected)?;
        hello.into_stream_with(current.config.clone(), |tls| tls.set_buffer_limit(Some(SEND_BUFFER))).await
    };
    let reason = match timeout(LIMIT, shake_hands).await {
        Ok(Ok(tls)) => return Some(tls),
        Ok(Err(error)) => {
            let reason = reason(&error);
            tracing::debug!(peer = peer.map(display), %error, reason, "handshake");
            reason
        }
        Err(_) => "timeout",
    };
    // The probe presents no client certificate.
    if !peer.is_some_and(|peer| probe.is(peer)) {
        if reason == "untrusted" {
            certificate.report_untrusted();
            if certificate.may_warn() {
                tracing::warn!(peer = peer.map(display), "a client does not trust the certificate; check its caBundle");
            }
        }
        certificate.metrics().handshake_failed(reason);
    }
    None
}

/// The value of the label `reason`, from a small set.
fn reason(error: &io::Error) -> &'static str {
    let Some(tls) = error.get_ref().and_then(|e| e.downcast_ref::<Error>()) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => "closed",
            _ => "other",
        };
    };
    match tls {
        Error::InvalidMessage(_) | Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            "not_tls"
        }
        Error::NoCertificatesPresented => "no_client_certificate",
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "client_certificate_expired"
        }
        Error::InvalidCertificate(_) => "client_certificate",
        // Alerts of a client that rejects the certificate: its caBundle is of another CA, or the certificate has expired.
        Error::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired,
        ) => "untrusted",
        Error::AlertReceived(_) => "alert",
        Error::PeerIncompatible(
            PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled
            | PeerIncompatible::SupportedVersionsExtensionRequired,
        ) => "version",
        Error::PeerIncompatible(_) | Error::NoApplicationProtocol => "incompatible",
        _ => "other",
    }
}
