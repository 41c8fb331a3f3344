//! Handshakes: in time, or not at all, and why not.

use std::{io, net::SocketAddr, time::Duration};

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{Probe, Served};

/// Longest handshake. An API server gives up after 10 s itself.
const LIMIT: Duration = Duration::from_secs(10);

/// Opens TLS on a connection; `None` if that fails.
pub(crate) async fn handshake(
    tcp: TcpStream,
    peer: SocketAddr,
    served: &Served,
    probe: &Probe,
) -> Option<TlsStream<TcpStream>> {
    // What is served at this moment, for this connection.
    let config = served.current()?.config.clone();
    let reason = match timeout(LIMIT, TlsAcceptor::from(config).accept(tcp)).await {
        Ok(Ok(tls)) => return Some(tls),
        Ok(Err(error)) => {
            let reason = reason(&error);
            tracing::debug!(%peer, %error, reason, "handshake");
            reason
        }
        Err(_) => "timeout",
    };
    // The probe shows no client certificate.
    if !probe.is(peer) {
        if reason == "untrusted" {
            served.refuse();
            if served.may_warn() {
                tracing::warn!(%peer, "a client does not trust the certificate: is the caBundle the right one?");
            }
        }
        served.metrics().handshake_failed(reason);
    }
    None
}

/// One of a few words: a label.
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
        // What a client says that does not accept the certificate: its caBundle is foreign, or the certificate ended.
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
