//! A listener: it accepts connections, and performs TLS handshakes.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{connection::Connections, peer::Peer, socket::Socket};
use crate::runtime::{
    clock::Clock,
    tls::{DynamicCertificate, TlsProbe, handshake},
};

/// The pause after a failed accept, most likely for lack of file descriptors. Connections end meanwhile.
const BACK_OFF: Duration = Duration::from_millis(50);

/// A socket and its connections.
pub(super) struct Listener {
    socket: Socket,
    pub(super) connections: Connections,
    tls: Option<TlsOptions>,
}

/// What a listener needs to serve TLS.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// The certificate of the listener.
    pub certificate: Arc<DynamicCertificate>,
    /// The time against which readiness and metrics check the certificate.
    pub clock: Clock,
    pub(super) names: TlsNames,
    pub(super) probe: Arc<TlsProbe>,
}

/// What the certificate of a listener is called in metrics and readiness checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TlsNames {
    pub(super) expiration: &'static str,
    pub(super) certificate: &'static str,
    pub(super) handshake: &'static str,
}

impl TlsOptions {
    /// TLS of the webhook, with this certificate.
    pub fn new(certificate: Arc<DynamicCertificate>, clock: Clock) -> Self {
        let names = TlsNames {
            expiration: "roster_certificate_expiration_seconds",
            certificate: "certificate",
            handshake: "tls",
        };
        Self { certificate, clock, names, probe: Arc::default() }
    }

    /// TLS of the REST API, with this certificate.
    pub fn of_rest(certificate: Arc<DynamicCertificate>, clock: Clock) -> Self {
        let names = TlsNames {
            expiration: "roster_rest_certificate_expiration_seconds",
            certificate: "rest-certificate",
            handshake: "rest-tls",
        };
        Self { names, ..Self::new(certificate, clock) }
    }

    /// TLS of the node proxy, with this certificate.
    pub fn of_edge(certificate: Arc<DynamicCertificate>, clock: Clock) -> Self {
        let names = TlsNames {
            expiration: "roster_edge_certificate_expiration_seconds",
            certificate: "edge-certificate",
            handshake: "edge-tls",
        };
        Self { names, ..Self::new(certificate, clock) }
    }
}

impl Listener {
    pub(super) fn new(socket: Socket, connections: Connections, tls: Option<TlsOptions>) -> Self {
        Self { socket, connections, tls }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    /// Accepts connections until it is dropped.
    pub(super) async fn accept(&self) {
        // Without a certificate connections wait, as they do before the first accept.
        if let Some(tls) = &self.tls {
            tls.certificate.first().await;
        }
        loop {
            let (tcp, peer) = match self.socket.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "accept failed");
                    sleep(BACK_OFF).await;
                    continue;
                }
            };
            // If this fails, small responses may wait for an acknowledgement, but they are correct.
            let _ = tcp.set_nodelay(true);
            let from = Peer::of(peer);
            match self.tls.clone() {
                None => self.connections.spawn(from, std::future::ready(Some(tcp))),
                Some(TlsOptions { certificate, probe, .. }) => {
                    let opening = async move { handshake(tcp, peer, &certificate, &probe).await };
                    self.connections.spawn(from, opening);
                }
            }
        }
    }
}
