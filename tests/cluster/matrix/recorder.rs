//! Records what the API server asks and what is answered: a TLS proxy before the webhook, made where
//! `ROSTER_RECORD_REVIEWS` names the file to write. `tests/it/webhook/replay.rs` asks the same again.

use std::{
    convert::Infallible,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, header::CONTENT_TYPE, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::{Client, Config, client::Body};
use rustls::{
    ServerConfig,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime};
use tokio_rustls::TlsAcceptor;

use super::{LABEL, Webhook};

/// A proxy that remembers.
pub(super) struct Recorder {
    /// Where API servers call.
    pub(super) address: String,
    file: PathBuf,
    lines: Arc<Mutex<Vec<String>>>,
    /// Its threads end with it.
    _runtime: Runtime,
}

impl Recorder {
    /// A proxy, if it is asked for.
    pub(super) fn wanted(server: &Webhook) -> Option<Self> {
        let file = std::env::var_os("ROSTER_RECORD_REVIEWS")?.into();
        let runtime = Runtime::new().unwrap();
        let lines = Arc::default();
        let address = runtime.block_on(serve(server, &lines));
        Some(Self { address, file, lines, _runtime: runtime })
    }

    /// Forgets what was asked so far.
    pub(super) fn begin(&self) {
        self.lines.lock().unwrap().clear();
    }

    /// Writes what was asked, a line for each review.
    pub(super) fn write(&self) {
        let lines = self.lines.lock().unwrap();
        assert!(!lines.is_empty(), "nobody asked");
        fs::write(&self.file, lines.join("\n") + "\n").unwrap();
    }
}

async fn serve(server: &Webhook, lines: &Arc<Mutex<Vec<String>>>) -> String {
    let pem = |name: &str| fs::read(server.certs.join(name)).unwrap();
    let certificates = |name| CertificateDer::pem_slice_iter(&pem(name)).map(Result::unwrap).collect::<Vec<_>>();
    let tls = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates("tls.crt"), PrivateKeyDer::from_pem_slice(&pem("tls.key")).unwrap())
        .unwrap();
    let mut config = Config::new(format!("https://{}", server.address).parse().unwrap());
    config.root_cert = Some(certificates("ca.crt").into_iter().map(|c| c.to_vec()).collect());
    let webhook = Client::try_from(config).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (acceptor, lines) = (TlsAcceptor::from(Arc::new(tls)), lines.clone());
    tokio::spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            let (acceptor, webhook, lines) = (acceptor.clone(), webhook.clone(), lines.clone());
            tokio::spawn(async move {
                let tls = acceptor.accept(tcp).await.unwrap();
                let pass = service_fn(|request| pass(&webhook, &lines, request));
                // The API server ends it when it likes.
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(tls), pass).await;
            });
        }
    });
    address
}

/// Passes a request on, and remembers it with its answer.
async fn pass(
    webhook: &Client,
    lines: &Mutex<Vec<String>>,
    request: Request<Incoming>,
) -> Result<Response<Full<bytes::Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let asked = body.collect().await.unwrap().to_bytes();
    let request = Request::post(head.uri.path_and_query().unwrap().as_str())
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(asked.to_vec()))
        .unwrap();
    let response = webhook.send(request).await.unwrap();
    let answered = response.into_body().collect().await.unwrap().to_bytes();
    if head.uri.path() != "/convert" {
        lines.lock().unwrap().push(line(head.uri.path(), &asked, &answered));
    }
    Ok(Response::builder().header(CONTENT_TYPE, "application/json").body(Full::new(answered)).unwrap())
}

/// A review and its answer, without what differs from run to run.
fn line(path: &str, asked: &[u8], answered: &[u8]) -> String {
    let mut review: Value = serde_json::from_slice(asked).unwrap();
    let request = &mut review["request"];
    let uid = request["uid"].as_str().unwrap().to_owned();
    let case = request["object"]["metadata"]["labels"][LABEL].as_str().unwrap().to_owned();
    for field in ["object", "oldObject"] {
        settle(&mut request[field], &case);
    }
    request["uid"] = case.as_str().into();
    let answer = String::from_utf8(answered.to_vec()).unwrap().replace(&uid, &case);
    json!({ "path": path, "review": review, "answer": answer }).to_string()
}

/// What an API server draws, and what its clock says.
fn settle(object: &mut Value, case: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.insert("uid".to_owned(), case.into());
    for time in ["creationTimestamp", "deletionTimestamp"] {
        metadata.entry(time).and_modify(|t| *t = "2026-01-01T00:00:00Z".into());
    }
    metadata.entry("resourceVersion").and_modify(|v| *v = "1".into());
    // Who wrote which field decides nothing, and tells the time.
    metadata.remove("managedFields");
    let Some(spec) = object.get_mut("spec") else { return };
    if spec["clusterIP"].as_str().is_some_and(|ip| ip != "None") {
        spec["clusterIP"] = "10.96.0.99".into();
        spec["clusterIPs"] = json!(["10.96.0.99"]);
    }
    for port in spec["ports"].as_array_mut().into_iter().flatten() {
        if port.get("nodePort").is_some() {
            port["nodePort"] = 30080.into();
        }
    }
}
