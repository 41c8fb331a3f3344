//! `edge` as a process: who may read after it was killed.

use std::{
    fs,
    io::{Read, Write},
    net::SocketAddr,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    extract::Request,
    http::{StatusCode, header},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime};

const SERVICES: &str = "/api/v1/services";
const LONG: Duration = Duration::from_secs(20);

/// An API server without objects, which streams no lists. It accepts each token until it refuses the token `revoked`.
fn api_server(runtime: &Runtime, refuses: Arc<AtomicBool>) -> SocketAddr {
    let answer = async move |request: Request| {
        let token = request.headers().get(header::AUTHORIZATION);
        let is_refused = token.is_some_and(|token| token == "Bearer revoked") && refuses.load(Ordering::Relaxed);
        let query = request.uri().query().unwrap_or_default();
        match request.uri().path().rsplit('/').next() {
            Some("selfsubjectaccessreviews") if is_refused => (StatusCode::UNAUTHORIZED, Json(json!({}))),
            Some("selfsubjectaccessreviews") => (StatusCode::CREATED, Json(json!({ "status": { "allowed": true } }))),
            _ if query.contains("sendInitialEvents=true") => (
                StatusCode::UNPROCESSABLE_ENTITY,
                Json(json!({ "status": "Failure", "reason": "Invalid", "code": 422, "message": "no such option" })),
            ),
            _ if query.contains("watch=true") => std::future::pending::<(StatusCode, Json<Value>)>().await,
            _ => (StatusCode::OK, Json(json!({ "metadata": { "resourceVersion": "1" }, "items": [] }))),
        }
    };
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    address
}

/// A running proxy. It is killed with the value.
struct Edge {
    child: Child,
    socket: PathBuf,
}

impl Edge {
    /// Starts it with what is saved in the folder.
    fn start(folder: &Path, api_server: SocketAddr) -> Self {
        let (kubeconfig, socket) = (folder.join("kubeconfig"), folder.join("edge.sock"));
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://{api_server}")}}],
            "users": [{"name": "u", "user": {"token": "proxy"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        });
        fs::write(&kubeconfig, text.to_string()).unwrap();
        let mut command = Command::new(crate::program());
        command.args(["edge", "--node", "edge-1", "--log", "off", "--kubeconfig"]).arg(kubeconfig);
        command.arg("--state-file").arg(folder.join("edge.state"));
        command.arg("--listen").arg(format!("unix:{}", socket.display()));
        let edge = Self { child: command.stdout(Stdio::null()).spawn().unwrap(), socket };
        wait("it is ready", || edge.try_get("/readyz", "").is_some_and(|status| status == 200));
        edge
    }

    /// The status of the answer to a client with this token.
    fn get(&self, path: &str, token: &str) -> u16 {
        self.try_get(path, token).unwrap()
    }

    fn try_get(&self, path: &str, token: &str) -> Option<u16> {
        let mut stream = UnixStream::connect(&self.socket).ok()?;
        stream.set_read_timeout(Some(LONG)).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.split(' ').nth(1)?.parse().ok()
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn wait(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "{what}: not after {LONG:?}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_refused_token_reads_nothing_after_a_kill_while_the_api_server_is_away() {
    let (runtime, folder, refuses) = (Runtime::new().unwrap(), tempfile::tempdir().unwrap(), Arc::default());
    let edge = Edge::start(folder.path(), api_server(&runtime, Arc::clone(&refuses)));
    let tokens = ["kept", "revoked"];
    assert_eq!(tokens.map(|token| edge.get(SERVICES, token)), [200, 200]);
    let journal = folder.path().join("edge.state.journal.0");
    wait("both permissions are saved", || fs::read_to_string(&journal).unwrap().matches(" access ").count() == 2);
    refuses.store(true, Ordering::Relaxed);
    // The proxy has not asked about this yet.
    assert_eq!(edge.get("/api/v1/namespaces", "revoked"), 401);
    // SIGKILL.
    drop(edge);
    let nobody = ([127, 0, 0, 1], 1).into();
    let edge = Edge::start(folder.path(), nobody);
    assert_eq!(tokens.map(|token| edge.get(SERVICES, token)), [200, 503]);
}
