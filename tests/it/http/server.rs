//! A real listener: stalls, limits and shutdown.

use std::time::Duration;

use roster::{
    http::Limits,
    server::{ServeOptions, Server},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, timeout},
};

const SOON: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(20);

struct Running {
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    done: JoinHandle<()>,
}

async fn start(limits: Limits) -> Running {
    let options = ServeOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        limits,
        head_timeout: SOON,
        write_timeout: SOON,
        drain: Duration::from_secs(5),
        ..ServeOptions::default()
    };
    let server = Server::bind(options).await.unwrap();
    let address = server.address();
    let (stop, stopped) = oneshot::channel();
    let done = tokio::spawn(server.run(async {
        let _ = stopped.await;
    }));
    Running { address, stop, done }
}

impl Running {
    /// Sends `text` and reads until the server closes.
    async fn ask(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        read_all(&mut stream).await
    }
}

async fn read_all(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut answer)).await.expect("the server closes");
    String::from_utf8_lossy(&answer).into_owned()
}

const HEAD: &str = "POST /v1/plan HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";

#[tokio::test]
async fn whoever_stalls_is_answered_or_dropped() {
    let limits = Limits { body_idle: SOON, ..Limits::default() };
    let server = start(limits).await;
    let big = "a".repeat(300 << 10);
    for (name, text, want) in [
        ("nothing at all", String::new(), ""),
        ("half a head", "GET /healthz HT".to_owned(), ""),
        ("half the preface of HTTP/2", "PRI * HT".to_owned(), ""),
        ("half a body", format!("{HEAD}content-length: 10\r\n\r\n{{"), "HTTP/1.1 408"),
        ("half a chunked body", format!("{HEAD}transfer-encoding: chunked\r\n\r\n1\r\n{{\r\n"), "HTTP/1.1 408"),
        ("half a cluster", format!("{HEAD}content-length: 10\r\n\r\n{{").replace("plan", "cluster"), "HTTP/1.1 408"),
        ("a huge head", format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx: {big}\r\n\r\n"), "HTTP/1.1 431"),
        ("no HTTP", "\u{1}\u{2}\u{3}\r\n\r\n".to_owned(), "HTTP/1.1 400"),
        ("an idle connection", "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(), "HTTP/1.1 200"),
    ] {
        let began = Instant::now();
        let answer = server.ask(&text).await;
        assert_eq!(answer.get(..12).unwrap_or_default(), want, "{name}: {answer}");
        assert!(began.elapsed() < LONG, "{name}");
    }
}

#[tokio::test]
async fn one_request_too_many_is_shed_and_a_slow_one_times_out() {
    let limits = Limits { requests: 1, request: Duration::from_secs(1), body_idle: LONG, ..Limits::default() };
    let server = start(limits).await;
    let mut slow = TcpStream::connect(server.address).await.unwrap();
    slow.write_all(format!("{HEAD}content-length: 10\r\n\r\n{{").as_bytes()).await.unwrap();
    tokio::time::sleep(SOON).await;
    let shed = server.ask(&format!("{HEAD}connection: close\r\ncontent-length: 2\r\n\r\n{{}}")).await;
    assert!(shed.starts_with("HTTP/1.1 429") && shed.contains("retry-after: 1") && shed.contains(":busy"), "{shed}");
    let health = server.ask("GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    assert!(health.starts_with("HTTP/1.1 200"), "health is never shed: {health}");
    let late = read_all(&mut slow).await;
    assert!(late.starts_with("HTTP/1.1 503") && late.contains(":timeout"), "{late}");
}

#[tokio::test]
async fn a_stop_lets_open_requests_finish() {
    let server = start(Limits::default()).await;
    let mut open = TcpStream::connect(server.address).await.unwrap();
    open.write_all(format!("{HEAD}content-length: 2\r\n\r\n{{").as_bytes()).await.unwrap();
    tokio::time::sleep(SOON).await;
    server.stop.send(()).unwrap();
    tokio::time::sleep(SOON).await;
    assert!(TcpStream::connect(server.address).await.is_err(), "new connections are refused");
    open.write_all(b"}").await.unwrap();
    let answer = read_all(&mut open).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    timeout(LONG, server.done).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_dropped() {
    let server = start(Limits::default()).await;
    let mut greedy = TcpStream::connect(server.address).await.unwrap();
    // Some hundred answers of 400 KB, none of them read: more than all buffers hold.
    let ask = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(200);
    let began = Instant::now();
    let written = timeout(LONG, async {
        loop {
            if greedy.write_all(ask.as_bytes()).await.is_err() {
                return;
            }
        }
    });
    assert!(written.await.is_ok() && began.elapsed() < LONG, "the server closes the connection");
}
