//! A TLS handshake with our own listener, for the readiness check: only this proves that TLS is served.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::{Instant, timeout},
};
use tokio_rustls::TlsConnector;

use super::{DynamicCertificate, any_certificate::AnyCertificate, provider};

/// The time limit of the handshake; a kubelet waits for two seconds in all.
const LIMIT: Duration = Duration::from_secs(1);
/// How long a result is reused, so that frequent requests cost nothing.
const FRESH: Duration = Duration::from_secs(1);

/// A client of our own listener. It performs one handshake at a time.
#[derive(Debug, Default)]
pub(crate) struct TlsProbe {
    /// The local address of the last handshake: the listener may report it after the client has finished.
    local: Mutex<Option<SocketAddr>>,
    last: tokio::sync::Mutex<Option<(Instant, Result<(), String>)>>,
}

impl TlsProbe {
    /// Checks that the listener at `address` presents the current certificate. Its dates are another check.
    pub(crate) async fn run(&self, address: SocketAddr, certificate: &DynamicCertificate) -> Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some((at, result)) = &*last
            && at.elapsed() < FRESH
        {
            return result.clone();
        }
        let result = timeout(LIMIT, self.handshake(address, certificate)).await;
        let result = result.unwrap_or_else(|_| Err(format!("no handshake within {} s", LIMIT.as_secs())));
        *last = Some((Instant::now(), result.clone()));
        result
    }

    /// Whether `peer` is this client.
    pub(super) fn is(&self, peer: SocketAddr) -> bool {
        self.lock().is_some_and(|local| local.port() == peer.port() && local.ip() == peer.ip().to_canonical())
    }

    async fn handshake(&self, address: SocketAddr, certificate: &DynamicCertificate) -> Result<(), String> {
        let before = certificate.current().ok_or("no certificate is loaded yet")?;
        let tcp = self.connect(reachable(address)).await.map_err(|e| format!("cannot connect: {e}"))?;
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider())))
            .with_no_client_auth();
        let name = ServerName::IpAddress(address.ip().into());
        let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await;
        let tls = tls.map_err(|e| format!("the handshake failed: {e}"))?;
        let shown = tls.get_ref().1.peer_certificates().and_then(|c| c.first());
        // The certificate may have changed meanwhile.
        let after = certificate.current();
        if [Some(before), after].iter().flatten().any(|c| c.chain.first() == shown) {
            Ok(())
        } else {
            Err("the listener presents another certificate".to_owned())
        }
    }

    async fn connect(&self, address: SocketAddr) -> std::io::Result<TcpStream> {
        let (socket, any): (_, IpAddr) = match address {
            SocketAddr::V4(_) => (TcpSocket::new_v4()?, address.ip()),
            SocketAddr::V6(_) => (TcpSocket::new_v6()?, address.ip()),
        };
        // Bind first: the listener must know the address before it sees the first byte.
        if any.is_loopback() {
            socket.bind(SocketAddr::new(any, 0))?;
            *self.lock() = socket.local_addr().ok();
        }
        let tcp = socket.connect(address).await?;
        *self.lock() = tcp.local_addr().ok();
        Ok(tcp)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<SocketAddr>> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address to connect to: loopback where the listener is bound to all addresses.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
