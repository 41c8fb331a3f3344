//! `--page-cluster`: a real listener before an API server with TLS, which notes what it is asked.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use futures::channel::mpsc::{UnboundedSender, unbounded};
use roster::{
    cli::serve::{ComposedServer, ServeOptions},
    kube_api::ClusterChoice,
    runtime::certificates::Material,
    servers::rest::AccessOptions,
};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use crate::webhook::{folder::Folder, material};

const LONG: Duration = Duration::from_secs(20);
/// The tokens: of this server, of the caller for the cluster, and of the kubeconfig.
const OF_SERVER: &str = "token-of-this-server";
const OF_CALLER: &str = "of-jane";
const OF_KUBECONFIG: &str = "token-of-the-kubeconfig";

/// A request, as the API server got it.
#[derive(Clone, Debug)]
struct Asked {
    head: String,
    has_certificate: bool,
}

/// An API server with TLS.
#[derive(Clone, Default)]
struct ApiServer {
    asked: Arc<Mutex<Vec<Asked>>>,
    /// The open watches.
    watches: Arc<AtomicUsize>,
    /// Where it sends those who ask for the version.
    elsewhere: Option<SocketAddr>,
}

impl ApiServer {
    async fn start(self, material: &Material) -> SocketAddr {
        let certificates =
            CertificateDer::pem_slice_iter(material.certificate.as_bytes()).map(Result::unwrap).collect();
        let mut roots = RootCertStore::empty();
        for ca in CertificateDer::pem_slice_iter(material.bundle.as_bytes()) {
            roots.add(ca.unwrap()).unwrap();
        }
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(certificates, PrivateKeyDer::from_pem_slice(material.key.as_bytes()).unwrap())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (server, acceptor) = (self.clone(), acceptor.clone());
                tokio::spawn(async move {
                    let Ok(mut tls) = acceptor.accept(tcp).await else { return };
                    let has_certificate = tls.get_ref().1.peer_certificates().is_some();
                    while let Some(head) = head(&mut tls).await {
                        server.asked.lock().unwrap().push(Asked { head: head.clone(), has_certificate });
                        if server.answer(&head, &mut tls).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        address
    }

    async fn answer(&self, head: &str, stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> std::io::Result<()> {
        let target = head.split(' ').nth(1).unwrap();
        let (status, body) = if let (Some(elsewhere), "/version") = (self.elsewhere, target) {
            (format!("302 Found\r\nlocation: http://{elsewhere}/version"), Value::Null)
        } else if target == "/version" {
            ("200 OK".to_owned(), json!({ "gitVersion": "v1.34.1" }))
        } else if target.contains("sendInitialEvents") {
            let status = json!({ "kind": "Status", "code": 422, "message": "no such option", "reason": "Invalid" });
            ("422 Unprocessable Entity".to_owned(), status)
        } else if target.contains("watch=true") {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n").await?;
            stream.flush().await?;
            self.watches.fetch_add(1, Ordering::Relaxed);
            // Until the client is gone, with or without a farewell.
            let _ = stream.read_to_end(&mut Vec::new()).await;
            self.watches.fetch_sub(1, Ordering::Relaxed);
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        } else {
            let items = if target.contains("services") {
                json!([{ "metadata": { "name": "web", "namespace": "shop" } }])
            } else {
                json!([])
            };
            ("200 OK".to_owned(), json!({ "kind": "List", "metadata": { "resourceVersion": "1" }, "items": items }))
        };
        let body = body.to_string();
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).await?;
        stream.flush().await
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// The head of a request.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

/// A kubeconfig whose user has a token and a certificate.
fn kubeconfig(folder: &Folder, material: &Material, cluster: &Value) -> PathBuf {
    let pem = |text: &str| BASE64_STANDARD.encode(text);
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{ "name": "c", "cluster": cluster }],
        "users": [{ "name": "u", "user": { "token": OF_KUBECONFIG,
            "client-certificate-data": pem(&material.certificate), "client-key-data": pem(&material.key) } }],
        "contexts": [{ "name": "here", "context": { "cluster": "c", "user": "u" } }],
    });
    folder.write("kubeconfig", &text.to_string());
    folder.path("kubeconfig")
}

fn trusted(address: SocketAddr, material: &Material) -> Value {
    let ca = BASE64_STANDARD.encode(&material.bundle);
    json!({ "server": format!("https://{address}"), "certificate-authority-data": ca })
}

struct Running {
    address: SocketAddr,
    _signals: UnboundedSender<()>,
}

async fn start(listen: &str, kubeconfig: PathBuf, folder: &Folder) -> anyhow::Result<Running> {
    folder.write("token", OF_SERVER);
    let access = AccessOptions {
        token_file: Some(folder.path("token")),
        page_cluster: Some(ClusterChoice { context: None, kubeconfig: Some(kubeconfig) }),
        ..AccessOptions::default()
    };
    let options = ServeOptions { listen: Some(listen.parse().unwrap()), access, ..ServeOptions::default() };
    let server = ComposedServer::bind(&options).await?;
    let address = server.rest_address().unwrap();
    let (signals, received) = unbounded();
    tokio::spawn(server.run(received));
    Ok(Running { address, _signals: signals })
}

impl Running {
    /// A call with these headers. The response is not read yet.
    async fn call(&self, host: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let headers = headers.concat();
        let head = format!("GET /v1/live?namespace=shop HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }
}

/// Reads until the response has `wanted` in it.
async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut text = String::new();
    let read = async {
        let mut part = [0; 4096];
        while !text.contains(wanted) {
            let bytes = stream.read(&mut part).await.unwrap();
            assert!(bytes > 0, "{text}");
            text.push_str(std::str::from_utf8(&part[..bytes]).unwrap());
        }
    };
    timeout(LONG, read).await.unwrap();
    text
}

const BOTH: [(&str, &str); 2] = [("authorization", "Bearer token-of-this-server"), ("roster-cluster-token", OF_CALLER)];

#[tokio::test]
async fn the_api_server_hears_the_caller_and_never_this_server() {
    let (material, folder, api) = (material(), Folder::new(), ApiServer::default());
    let address = api.clone().start(&material).await;
    let server =
        start("127.0.0.1:0", kubeconfig(&folder, &material, &trusted(address, &material)), &folder).await.unwrap();
    for (headers, host, want) in [
        (&BOTH[..1], "localhost", "cluster-token"),
        (&BOTH[1..], "localhost", "unauthorized"),
        (&BOTH[..], "evil.example", "problem:host"),
    ] {
        let mut refused = server.call(host, headers).await;
        read_until(&mut refused, want).await;
    }
    assert!(api.asked().is_empty(), "{:?}", api.asked());

    let mut response = server.call("localhost", &BOTH).await;
    let text = read_until(&mut response, "\"unread\":[]").await;
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("\"release\":\"1.34\""), "{text}");
    assert!(text.contains("\"name\":\"web\"") && !text.contains(OF_CALLER), "{text}");
    let is_watched = async {
        while !api.asked().iter().any(|asked| asked.head.contains("/pods?") && asked.head.contains("watch=true")) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LONG, is_watched).await.unwrap();
    for Asked { head, has_certificate } in api.asked() {
        assert!(head.starts_with("GET /") && !has_certificate, "{head}");
        let tokens: Vec<&str> =
            head.lines().filter(|line| line.to_ascii_lowercase().starts_with("authorization:")).collect();
        assert!(tokens.len() == 1 && tokens[0].ends_with(" Bearer of-jane"), "{head}");
        assert!(![OF_SERVER, OF_KUBECONFIG, "roster-cluster-token"].iter().any(|other| head.contains(other)), "{head}");
    }

    // The client is gone, and so are the watches.
    assert!(api.watches.load(Ordering::Relaxed) > 0);
    drop(response);
    let ends = async {
        while api.watches.load(Ordering::Relaxed) > 0 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LONG, ends).await.unwrap();
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (material, folder) = (material(), Folder::new());
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = ApiServer { elsewhere: Some(elsewhere.local_addr().unwrap()), ..ApiServer::default() };
    let address = api.clone().start(&material).await;
    let server =
        start("127.0.0.1:0", kubeconfig(&folder, &material, &trusted(address, &material)), &folder).await.unwrap();
    let mut response = server.call("localhost", &BOTH).await;
    let text = read_until(&mut response, "cluster-away").await;
    assert!(text.starts_with("HTTP/1.1 502 ") && !text.contains(OF_CALLER), "{text}");
    assert!(timeout(Duration::from_millis(200), elsewhere.accept()).await.is_err(), "the token went elsewhere");
}

#[tokio::test]
async fn tokens_are_only_sent_and_taken_where_nobody_else_reads_them() {
    let (material, folder) = (material(), Folder::new());
    let https = || trusted(([127, 0, 0, 1], 6443).into(), &material);
    let plain = json!({ "server": "http://127.0.0.1:6443" });
    let blind = json!({ "server": "https://127.0.0.1:6443", "insecure-skip-tls-verify": true });
    for (listen, cluster, want) in [
        ("0.0.0.0:0", https(), "--page-cluster needs --rest-tls-cert-file or a loopback address"),
        ("127.0.0.1:0", plain, "tokens are not sent to http://127.0.0.1:6443/: it is not an address with TLS"),
        ("127.0.0.1:0", blind, "insecure-skip-tls-verify would let anybody answer for it"),
    ] {
        let error = start(listen, kubeconfig(&folder, &material, &cluster), &folder).await.err();
        let error = error.map(|error| format!("{error:#}")).unwrap_or_default();
        assert!(error.contains(want), "{listen}: {error}");
    }
    let missing = start("127.0.0.1:0", folder.path("nothing"), &folder).await.err().unwrap();
    assert!(format!("{missing:#}").contains("no kubeconfig at"), "{missing:#}");
    assert!(fs::exists(folder.path("token")).unwrap());
}
