//! A client of the webhook that can also misbehave.

use std::{net::SocketAddr, sync::Arc};

use roster::runtime::certificates::Material;
use roster_engine::model::installed::{NAMESPACE, SERVICE};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

fn config(bundle: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for ca in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(ca.unwrap()).unwrap();
    }
    Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

fn name() -> ServerName<'static> {
    ServerName::try_from(format!("{SERVICE}.{NAMESPACE}.svc")).unwrap()
}

/// A connection like one of an API server that has this bundle.
pub(super) async fn connect(address: SocketAddr, bundle: &str) -> std::io::Result<TlsStream<TcpStream>> {
    TlsConnector::from(config(bundle)).connect(name(), TcpStream::connect(address).await?).await
}

/// Whether a client that trusts the CA of `material` is shown its certificate.
pub(super) async fn shows(address: SocketAddr, material: &Material) -> bool {
    let tls = connect(address, &material.bundle).await.unwrap();
    let shown = tls.get_ref().1.peer_certificates().and_then(|c| c.first()).cloned();
    shown == CertificateDer::from_pem_slice(material.certificate.as_bytes()).ok()
}

/// The first bytes of a client.
pub(super) fn hello(bundle: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    ClientConnection::new(config(bundle), name()).unwrap().write_tls(&mut bytes).unwrap();
    bytes
}
