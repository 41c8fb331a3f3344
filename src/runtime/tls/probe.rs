//! A handshake with ourselves: the one proof that TLS is served.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::{Instant, timeout},
};
use tokio_rustls::TlsConnector;

use super::{Served, provider};

/// Longest handshake with ourselves; a kubelet waits for two seconds in all.
const LIMIT: Duration = Duration::from_secs(1);
/// So long a result counts: whoever asks in a loop costs nothing.
const FRESH: Duration = Duration::from_secs(1);

/// Shakes hands with our own listener, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    /// Our end of the last handshake: the listener may be done with it after we are.
    own: Mutex<Option<SocketAddr>>,
    last: tokio::sync::Mutex<Option<(Instant, Result<(), String>)>>,
}

impl Probe {
    /// Whether the listener at `address` answers with the certificate that is served. Its dates are another check.
    pub(crate) async fn run(&self, address: SocketAddr, served: &Served) -> Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some((at, result)) = &*last
            && at.elapsed() < FRESH
        {
            return result.clone();
        }
        let done = timeout(LIMIT, self.shake(address, served)).await;
        let result = done.unwrap_or_else(|_| Err(format!("no handshake within {} s", LIMIT.as_secs())));
        *last = Some((Instant::now(), result.clone()));
        result
    }

    /// Whether it is our end.
    pub(super) fn is(&self, peer: SocketAddr) -> bool {
        self.lock().is_some_and(|own| own.port() == peer.port() && own.ip() == peer.ip().to_canonical())
    }

    async fn shake(&self, address: SocketAddr, served: &Served) -> Result<(), String> {
        let before = served.current().ok_or("there is no certificate yet")?;
        let tcp = self.connect(reachable(address)).await.map_err(|e| format!("cannot connect: {e}"))?;
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyDate(provider())))
            .with_no_client_auth();
        let name = ServerName::IpAddress(address.ip().into());
        let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await;
        let tls = tls.map_err(|e| format!("the handshake failed: {e}"))?;
        let shown = tls.get_ref().1.peer_certificates().and_then(|c| c.first());
        // It may have changed meanwhile.
        let after = served.current();
        if [Some(before), after].iter().flatten().any(|c| c.chain.first() == shown) {
            Ok(())
        } else {
            Err("another certificate is served".to_owned())
        }
    }

    async fn connect(&self, address: SocketAddr) -> std::io::Result<TcpStream> {
        let (socket, any): (_, IpAddr) = match address {
            SocketAddr::V4(_) => (TcpSocket::new_v4()?, address.ip()),
            SocketAddr::V6(_) => (TcpSocket::new_v6()?, address.ip()),
        };
        // Bound first: the listener must know who comes before it sees the first byte.
        if any.is_loopback() {
            socket.bind(SocketAddr::new(any, 0))?;
            *self.lock() = socket.local_addr().ok();
        }
        let tcp = socket.connect(address).await?;
        *self.lock() = tcp.local_addr().ok();
        Ok(tcp)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<SocketAddr>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An address of our own where somebody listens who listens everywhere.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Accepts every certificate whose key the other side has. That it is the right one is looked at afterwards.
#[derive(Debug)]
struct AnyDate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyDate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
