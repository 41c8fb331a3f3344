//! A TLS client that speaks just enough HTTP.

use std::{io, net::SocketAddr, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// A certificate that a client shows, and the CA that made it.
pub(crate) struct Identity {
    pub(crate) ca: String,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

pub(crate) fn client_identity() -> Identity {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut client = CertificateParams::new(["kube-apiserver".to_owned()]).unwrap();
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = client.signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
    Identity { ca: ca_certificate.pem(), certificate: certificate.der().clone(), key: key.serialize_der() }
}

#[derive(Clone)]
pub(crate) struct Client {
    roots: Arc<RootCertStore>,
    identity: Option<(CertificateDer<'static>, Vec<u8>)>,
}

impl Client {
    pub(crate) fn trusting(bundle: &str) -> Self {
        let mut roots = RootCertStore::empty();
        for ca in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            roots.add(ca.unwrap()).unwrap();
        }
        Self { roots: Arc::new(roots), identity: None }
    }

    pub(crate) fn showing(self, identity: &Identity) -> Self {
        Self { identity: Some((identity.certificate.clone(), identity.key.clone())), ..self }
    }

    pub(crate) async fn connect(&self, address: SocketAddr) -> io::Result<TlsStream<TcpStream>> {
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots.clone());
        let config = match &self.identity {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let key = PrivateKeyDer::try_from(key.clone()).unwrap();
                config.with_client_auth_cert(vec![certificate.clone()], key).unwrap()
            }
        };
        let tcp = TcpStream::connect(address).await?;
        TlsConnector::from(Arc::new(config)).connect(ServerName::IpAddress(address.ip().into()), tcp).await
    }

    /// The answer to a review on a connection of its own.
    pub(crate) async fn ask(&self, address: SocketAddr, path: &str, body: &str) -> io::Result<String> {
        ask_on(self.connect(address).await?, path, body).await
    }
}

pub(crate) async fn ask_on(tls: TlsStream<TcpStream>, path: &str, body: &str) -> io::Result<String> {
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    request_on(tls, &format!("{head}{body}")).await
}

/// The answer to a request, the last one of its connection.
pub(crate) async fn request_on(mut tls: TlsStream<TcpStream>, request: &str) -> io::Result<String> {
    // A body over the limit is refused while it is written.
    let _ = tls.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    match tls.read_to_end(&mut answer).await {
        Err(error) if answer.is_empty() => Err(error),
        // What ends the connection after an answer does not matter.
        _ if answer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}

/// A review on a connection that stays open.
pub(crate) async fn exchange(tls: &mut TlsStream<TcpStream>, path: &str, body: &str) -> String {
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    tls.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // Every answer ends with the end of its JSON.
    while !answer.ends_with("}}") {
        let mut piece = [0; 4096];
        let n = tls.read(&mut piece).await.unwrap();
        assert!(n > 0, "the connection ended: {answer}");
        answer.push_str(std::str::from_utf8(&piece[..n]).unwrap());
    }
    answer
}
