//! `serve` with a collector of traces that has TLS. A process reads `SSL_CERT_FILE` once, so that each case is a process.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use axum::{Json, Router, http::HeaderMap, routing::post, serve::Listener};
use roster::runtime::certificates::Material;
use rustls::{
    ServerConfig,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::Value;
use tokio::{net::TcpListener, runtime::Runtime};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::roster_with;
use crate::webhook::material;

const LONG: Duration = Duration::from_secs(20);

/// Accepts connections with TLS, of clients that trust it.
struct TlsListener {
    tcp: TcpListener,
    tls: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<tokio::net::TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (tcp, address) = self.tcp.accept().await.unwrap();
            if let Ok(tls) = self.tls.accept(tcp).await {
                return (tls, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

/// Starts a collector with a certificate, and returns the headers and the bodies that it gets.
fn collector(runtime: &Runtime, material: &Material) -> (SocketAddr, Receiver<(HeaderMap, Value)>) {
    let chain = CertificateDer::pem_slice_iter(material.certificate.as_bytes()).map(Result::unwrap).collect();
    let tls = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_slice(material.key.as_bytes()).unwrap())
        .unwrap();
    let tcp = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let (address, (sender, received)) = (tcp.local_addr().unwrap(), channel());
    let take = async move |headers: HeaderMap, Json(body): Json<Value>| sender.send((headers, body)).unwrap();
    let listener = TlsListener { tcp, tls: TlsAcceptor::from(Arc::new(tls)) };
    runtime.spawn(async move { axum::serve(listener, Router::new().route("/v1/traces", post(take))).await });
    (address, received)
}

/// A running server with a REST API. It is killed with the value.
struct Serve {
    child: Child,
    address: String,
}

impl Serve {
    /// Starts it. It trusts the CAs of a file, and sends traces to a collector.
    fn start(cas: &Path, collector: SocketAddr) -> Self {
        let mut child = Command::new(crate::program())
            .args(["serve", "--listen", "127.0.0.1:0", "--otlp-endpoint", &format!("https://{collector}")])
            .env("SSL_CERT_FILE", cas)
            .env_remove("SSL_CERT_DIR")
            .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2")
            .env_remove("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix("listening on http://").unwrap_or_else(|| panic!("{said:?}")).to_owned();
        Self { child, address }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The log, to the end.
    fn log(mut self) -> String {
        self.child.kill().unwrap();
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        log
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn the_certificate_of_a_collector_must_be_of_a_ca_in_the_file() {
    let (runtime, folder, ours, other) =
        (Runtime::new().unwrap(), tempfile::tempdir().unwrap(), material(), material());
    for (ca, result, name, warns) in [(&ours, "sent", Some("GET /sample"), false), (&other, "unanswered", None, true)] {
        let (address, received) = collector(&runtime, &ours);
        let cas = folder.path().join("ca.crt");
        fs::write(&cas, &ca.bundle).unwrap();
        let server = Serve::start(&cas, address);
        assert!(server.get("/sample").contains(" 200 OK"), "{result}");
        let (counted, began) = (format!("roster_trace_spans_total{{result=\"{result}\"}} 1\n"), Instant::now());
        while !server.get("/metrics").contains(&counted) {
            assert!(began.elapsed() < LONG, "{counted}: not after {LONG:?}");
            sleep(Duration::from_millis(20));
        }
        let request = received.try_recv().ok();
        let headers = request.as_ref().map(|(headers, _)| ["authorization", "content-type"].map(|name| &headers[name]));
        assert!(headers.is_none_or(|headers| headers == ["Bearer hunter2", "application/json"]), "{headers:?}");
        let span = request.as_ref().map(|(_, body)| &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"]);
        assert_eq!(span.and_then(Value::as_str), name, "{result}");
        let log = server.log();
        let warning = "spans are dropped error=\"the collector cannot be reached: ";
        // Both CAs have the same name: either their names or their signatures are found to differ.
        let is_foreign = ["UnknownIssuer", "BadSignature"].iter().any(|why| log.contains(why));
        assert_eq!(log.contains(warning) && is_foreign, warns, "{result}: {log}");
        assert!(!log.contains("hunter2"), "{log}");
    }
}

#[test]
fn a_file_without_cas_is_an_error_at_the_start() {
    let args = ["serve", "--listen", "127.0.0.1:0", "--otlp-endpoint", "https://127.0.0.1:1"];
    let ran = roster_with(&args, &[("SSL_CERT_FILE", "/nowhere/ca.crt"), ("SSL_CERT_DIR", "")], "");
    assert!(ran.code == 2 && ran.err.contains("the CAs of the system: "), "{}", ran.err);
}

#[test]
fn credentials_that_cannot_be_used_are_an_error_at_the_start_and_not_shown() {
    for (command, endpoint, headers, want) in [
        ("serve", "http://user:hunter2@127.0.0.1:1", "", "--otlp-endpoint: a URL such as"),
        (
            "serve",
            "http://127.0.0.1:1",
            "authorization: Bearer hunter2",
            "OTEL_EXPORTER_OTLP_HEADERS: header 1 is not like",
        ),
        ("edge", "http://user:hunter2@127.0.0.1:1", "", "--otlp-endpoint: a URL such as"),
    ] {
        let variables = [("OTEL_EXPORTER_OTLP_HEADERS", headers), ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "")];
        let ran = roster_with(&[command, "--otlp-endpoint", endpoint], &variables, "");
        assert!(ran.code == 2 && ran.err.contains(want) && !ran.err.contains("hunter2"), "{}", ran.err);
    }
}
