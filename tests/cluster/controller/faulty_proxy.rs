//! A proxy before an API server that refuses requests, answers some that were carried out as if they had failed, and ends watches.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::{StreamExt, stream};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use roster_engine::model::installed::CONTROLLER;
use serde_json::json;
use tokio::{net::TcpListener, runtime::Runtime, sync::watch};

use super::installed_account;
use crate::{control_plane::ControlPlane, parity::rng::Rng};

/// The proxy. It ends with the test.
pub(super) struct FaultyProxy {
    faults: Arc<Faults>,
    address: String,
    _runtime: Runtime,
}

/// What it does to requests.
struct Faults {
    client: Client,
    rng: Mutex<Rng>,
    /// How many requests of a hundred are refused.
    percent: AtomicU32,
    refused: AtomicUsize,
    /// How many of the next watches get the answer that their version is too old.
    expired: AtomicUsize,
    /// Open watches end when it changes.
    cut: watch::Sender<()>,
}

impl FaultyProxy {
    /// A proxy that sends requests on as the account of the controller, and a kubeconfig for it.
    pub(super) fn before(plane: &ControlPlane, dir: &Path) -> (Self, PathBuf) {
        let proxy = Self::start(&installed_account(CONTROLLER, plane, dir));
        let config = dir.join("proxied.kubeconfig");
        fs::write(&config, proxy.kubeconfig()).unwrap();
        (proxy, config)
    }

    fn start(kubeconfig: &Path) -> Self {
        let runtime = Runtime::new().unwrap();
        let (faults, address) = runtime.block_on(async {
            let config = Kubeconfig::read_from(kubeconfig).unwrap();
            let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
            let faults = Arc::new(Faults {
                client: Client::try_from(config).unwrap(),
                rng: Mutex::new(Rng::new(1, 0)),
                percent: AtomicU32::new(0),
                refused: AtomicUsize::new(0),
                expired: AtomicUsize::new(0),
                cut: watch::Sender::new(()),
            });
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let router = Router::new().fallback(answer).with_state(faults.clone());
            tokio::spawn(async move { axum::serve(listener, router).await });
            (faults, address)
        });
        Self { faults, address, _runtime: runtime }
    }

    /// A kubeconfig for it. Any token is right.
    fn kubeconfig(&self) -> String {
        let cluster = json!({ "name": "c", "cluster": { "server": format!("http://{}", self.address) } });
        let context = json!({ "name": "x", "context": { "cluster": "c", "user": "u" } });
        let config = json!({ "apiVersion": "v1", "kind": "Config", "current-context": "x", "clusters": [cluster],
            "users": [{ "name": "u", "user": {} }], "contexts": [context] });
        config.to_string()
    }

    /// Refuses this many requests of a hundred from now on.
    pub(super) fn refuse(&self, percent: u32) {
        self.faults.percent.store(percent, Ordering::Relaxed);
    }

    /// How many requests were refused.
    pub(super) fn refused(&self) -> usize {
        self.faults.refused.load(Ordering::Relaxed)
    }

    /// Ends all watches in the middle.
    pub(super) fn cut(&self) {
        self.faults.cut.send_replace(());
    }

    /// Ends all watches, and says to those that go on that their version is too old: etcd was compacted.
    pub(super) fn expire(&self) {
        self.faults.expired.store(5, Ordering::Relaxed);
        self.cut();
    }
}

impl Faults {
    /// One of so many kinds of refusals, if the request is to be refused.
    fn kind(&self, kinds: usize) -> Option<usize> {
        let mut rng = self.rng.lock().unwrap();
        let is_refused = rng.percent(self.percent.load(Ordering::Relaxed));
        is_refused.then(|| {
            self.refused.fetch_add(1, Ordering::Relaxed);
            rng.below(kinds)
        })
    }

    fn takes_expired(&self) -> bool {
        self.expired.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

async fn answer(State(faults): State<Arc<Faults>>, request: Request) -> Response {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    if is_watch {
        // The first watch of a list that is streamed has no version that could be too old.
        let has_version = request.uri().query().is_some_and(|query| !query.contains("sendInitialEvents=true"));
        if has_version && faults.takes_expired() {
            let status = status(410, "Expired");
            return json!({ "type": "ERROR", "object": status }).to_string().into_response();
        }
        return until_cut(send(&faults, request).await, &faults);
    }
    let is_write = request.method() != http::Method::GET;
    match faults.kind(if is_write { 4 } else { 2 }) {
        None => send(&faults, request).await,
        Some(0) => refusal(500, "InternalError").into_response(),
        // As priority and fairness refuses: without a status.
        Some(1) => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")], "try again").into_response(),
        Some(2) => refusal(409, "Conflict").into_response(),
        // It was done, and the answer says otherwise.
        Some(_) => {
            send(&faults, request).await;
            refusal(500, "InternalError").into_response()
        }
    }
}

fn status(code: u16, reason: &str) -> serde_json::Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason })
}

fn refusal(code: u16, reason: &str) -> (StatusCode, axum::Json<serde_json::Value>) {
    (StatusCode::from_u16(code).unwrap(), axum::Json(status(code, reason)))
}

async fn send(faults: &Faults, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    for name in [header::HOST, header::CONNECTION, header::AUTHORIZATION] {
        head.headers.remove(name);
    }
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let request = http::Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    match faults.client.send(request).await {
        Ok(response) => response.map(Body::new),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// The answer to a watch, which breaks off when watches are cut.
fn until_cut(response: Response, faults: &Faults) -> Response {
    let mut cut = faults.cut.subscribe();
    response.map(|body| {
        let events = body.into_data_stream().map(|part| part.map_err(std::io::Error::other));
        let events = events.take_until(async move { cut.changed().await });
        let broken = stream::once(async { Err(std::io::Error::other("cut")) });
        Body::from_stream(events.chain(broken))
    })
}
