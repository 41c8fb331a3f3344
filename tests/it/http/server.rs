//! A real listener: stalls, limits and shutdown. Limits to the second are tested in memory, in `src/runtime/net/tests`.

use std::time::Duration;

use futures::channel::mpsc::{UnboundedSender, unbounded};
use roster::{
    cli::serve::{ComposedServer, ServeOptions},
    runtime::net::ServerOptions,
    servers::rest::RestLimits,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
    time::{Instant, timeout},
};

const SOON: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(20);

struct Running {
    address: std::net::SocketAddr,
    signals: UnboundedSender<()>,
    done: JoinHandle<anyhow::Result<()>>,
}

async fn start(limits: RestLimits) -> Running {
    let server = ServerOptions { head_timeout: SOON, drain: Duration::from_secs(5), ..ServerOptions::default() };
    start_with(ServeOptions { limits, server, ..ServeOptions::default() }).await
}

async fn start_with(options: ServeOptions) -> Running {
    let options = ServeOptions { listen: Some(([127, 0, 0, 1], 0).into()), ..options };
    let server = ComposedServer::bind(&options).await.unwrap();
    let address = server.rest_address().unwrap();
    let (signals, received) = unbounded();
    let done = tokio::spawn(server.run(received));
    Running { address, signals, done }
}

async fn start_with_server(server: ServerOptions) -> Running {
    start_with(ServeOptions { server, ..ServeOptions::default() }).await
}

impl Running {
    fn signal(&self) {
        self.signals.unbounded_send(()).unwrap();
    }

    /// Asks for a page on a connection of its own.
    async fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")).await
    }

    /// A connection with half a request on it, which is being answered.
    async fn half_a_request(&self) -> TcpStream {
        let mut open = TcpStream::connect(self.address).await.unwrap();
        open.write_all(format!("{HEAD}content-length: 2\r\n\r\n{{").as_bytes()).await.unwrap();
        self.until("/metrics", "http_requests_in_flight 2").await;
        open
    }

    /// Asks until the answer has `wanted` in it.
    async fn until(&self, path: &str, wanted: &str) -> String {
        let asked = timeout(LONG, async {
            loop {
                let answer = self.get(path).await;
                if answer.contains(wanted) {
                    return answer;
                }
            }
        });
        asked.await.unwrap_or_else(|_| panic!("{path} never has {wanted}"))
    }

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

const HEAD: &str = "POST /v1/plan HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";

#[tokio::test]
async fn whoever_stalls_is_answered_or_dropped() {
    let limits = RestLimits { body_idle: SOON, ..RestLimits::default() };
    let server = start(limits).await;
    let big = "a".repeat(300 << 10);
    for (name, text, want) in [
        ("nothing at all", String::new(), ""),
        ("half a head", "GET /healthz HT".to_owned(), ""),
        ("half the preface of HTTP/2", "PRI * HT".to_owned(), ""),
        ("half a body", format!("{HEAD}content-length: 10\r\n\r\n{{"), "HTTP/1.1 408"),
        ("half a chunked body", format!("{HEAD}transfer-encoding: chunked\r\n\r\n1\r\n{{\r\n"), "HTTP/1.1 408"),
        ("half a cluster", format!("{HEAD}content-length: 10\r\n\r\n{{").replace("plan", "cluster"), "HTTP/1.1 408"),
        ("a huge head", format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: {big}\r\n\r\n"), "HTTP/1.1 431"),
        ("no HTTP", "\u{1}\u{2}\u{3}\r\n\r\n".to_owned(), "HTTP/1.1 400"),
        ("an idle connection", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(), "HTTP/1.1 200"),
    ] {
        let began = Instant::now();
        let answer = server.ask(&text).await;
        assert_eq!(answer.get(..12).unwrap_or_default(), want, "{name}: {answer}");
        assert!(began.elapsed() < LONG, "{name}");
    }
}

#[tokio::test]
async fn one_request_too_many_is_shed_and_a_slow_one_times_out() {
    let limits = RestLimits {
        memory: 64 << 10,
        cluster_requests: 1,
        cluster_turn: Duration::from_millis(100),
        request: Duration::from_secs(2),
        body_idle: LONG,
        ..RestLimits::default()
    };
    let server = start(limits).await;
    let begin = async |head: &str, want: &str| {
        let mut slow = TcpStream::connect(server.address).await.unwrap();
        let body = "a".repeat(30_000);
        slow.write_all(format!("{head}content-length: 40000\r\n\r\n{body}").as_bytes()).await.unwrap();
        server.until("/metrics", want).await;
        slow
    };
    // The second takes the memory of the first, which has been incomplete for longer; and of two clusters, the turn.
    let clusters = HEAD.replace("plan", "cluster");
    for (resource, head) in [("memory", HEAD), ("clusters", &clusters)] {
        let mut first = begin(head, "http_requests_in_flight 2").await;
        let evicted = format!("roster_evictions_total{{listener=\"rest\",resource=\"{resource}\"}} 1");
        let mut slow = begin(head, &evicted).await;
        let shed = read_all(&mut first).await;
        let is_busy = shed.starts_with("HTTP/1.1 429") && shed.contains("retry-after: 1") && shed.contains(":busy");
        assert!(is_busy, "{resource}: {shed}");
        drop(slow.shutdown().await);
    }
    let mut slow = begin(HEAD, "http_requests_in_flight 2").await;
    let health = server.ask("GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
    assert!(health.starts_with("HTTP/1.1 200"), "health is never shed: {health}");
    let late = read_all(&mut slow).await;
    assert!(late.starts_with("HTTP/1.1 503") && late.contains(":timeout"), "{late}");
}

/// What it sent is still in the socket: nobody reads it before its turn. It is little enough for the end to be there as well.
#[tokio::test]
async fn who_hangs_up_while_it_waits_for_its_turn_has_none() {
    let limits = RestLimits { cluster_requests: 1, cluster_turn: LONG * 100, body_idle: LONG, ..RestLimits::default() };
    let server = start(limits).await;
    let head = HEAD.replace("plan", "cluster");
    let mut clients = Vec::new();
    for (length, want) in [(1, "http_requests_in_flight 2"), (32 << 10, "http_requests_in_flight 3")] {
        let mut client = TcpStream::connect(server.address).await.unwrap();
        let body = "a".repeat(length);
        client.write_all(format!("{head}content-length: 400000\r\n\r\n{body}").as_bytes()).await.unwrap();
        server.until("/metrics", want).await;
        clients.push(client);
    }
    drop(clients.pop());
    server.until("/metrics", "http_requests_in_flight 2").await;
}

#[tokio::test]
async fn a_stop_lets_open_requests_finish() {
    let server = start(RestLimits::default()).await;
    let mut open = server.half_a_request().await;
    server.signal();
    refused(server.address).await;
    open.write_all(b"}").await.unwrap();
    let answer = read_all(&mut open).await;
    // `{}` is a whole request, though one about nothing.
    assert!(answer.starts_with("HTTP/1.1 422"), "{answer}");
    timeout(LONG, server.done).await.unwrap().unwrap().unwrap();
}

/// Returns when nobody listens there any more.
async fn refused(address: std::net::SocketAddr) {
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    timeout(LONG, refused).await.expect("new connections are refused");
}

#[tokio::test]
async fn connections_without_a_request_do_not_hold_up_a_stop() {
    let server = start_with_server(ServerOptions { drain: LONG * 100, ..ServerOptions::default() }).await;
    let _idle = TcpStream::connect(server.address).await.unwrap();
    server.until("/metrics", "http_connections 2").await;
    server.signal();
    timeout(LONG, server.done).await.expect("it does not wait for the drain limit").unwrap().unwrap();
}

#[tokio::test]
async fn a_second_signal_ends_the_drain() {
    let server = start_with_server(ServerOptions { drain: LONG * 100, ..ServerOptions::default() }).await;
    let _open = server.half_a_request().await;
    server.signal();
    refused(server.address).await;
    assert!(!server.done.is_finished());
    server.signal();
    timeout(LONG, server.done).await.expect("it does not wait for the drain limit").unwrap().unwrap();
}

/// As kube-apiserver does with `--shutdown-delay-duration`.
#[tokio::test]
async fn before_it_stops_it_says_that_it_will_and_goes_on_answering() {
    let server =
        start_with_server(ServerOptions { shutdown_delay: Some(LONG * 100), ..ServerOptions::default() }).await;
    assert!(server.get("/readyz").await.starts_with("HTTP/1.1 200"));
    server.signal();
    let answer = server.until("/readyz", "HTTP/1.1 503").await;
    assert!(answer.contains(":not-ready"), "{answer}");
    for path in ["/livez", "/healthz", "/v1/compat"] {
        let answer = server.get(path).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    server.signal();
    timeout(LONG, server.done).await.expect("a second signal ends the delay").unwrap().unwrap();
    refused(server.address).await;
}

#[tokio::test(start_paused = true)]
async fn the_delay_ends_by_itself() {
    for (address, delay, want) in [
        ("127.0.0.1", None, 0),
        ("127.0.0.1", Some(Duration::from_secs(7)), 7),
        ("0.0.0.0", None, 5),
        ("0.0.0.0", Some(Duration::ZERO), 0),
    ] {
        let listen = Some(format!("{address}:0").parse().unwrap());
        let server = ServerOptions { shutdown_delay: delay, ..ServerOptions::default() };
        let options = ServeOptions { listen, server, ..ServeOptions::default() };
        let server = ComposedServer::bind(&options).await.unwrap();
        let began = Instant::now();
        server.run(futures::stream::once(async {})).await.unwrap();
        assert_eq!(began.elapsed().as_secs(), want, "{address} {delay:?}");
    }
}

/// The table of limits in `docs/reference/rest.md` and the code are one.
#[test]
fn the_documented_limits_are_those_of_the_code() {
    let document = include_str!("../../../docs/reference/rest.md");
    let ServeOptions { limits, server, .. } = ServeOptions::default();
    let ServerOptions { max_connections, head_timeout, write_timeout, drain, .. } = server;
    let seconds = |d: Duration| format!("{} s", d.as_secs());
    let mebibytes =
        |n: u64| if n.is_multiple_of(1 << 30) { format!("{} GiB", n >> 30) } else { format!("{} MiB", n >> 20) };
    let rows = [
        ("body, after decompression", mebibytes(limits.body as u64)),
        ("body of `/v1/cluster`, after decompression", mebibytes(limits.cluster_body)),
        ("requests computed at once", "one per core; of bodies over 1 MiB, one fewer, but at least one".to_owned()),
        ("requests of `/v1/cluster` at once", limits.cluster_requests.to_string()),
        ("requests that wait for either", limits.requests.to_string()),
        ("body of `/v1/cluster` while another one waits", seconds(limits.cluster_turn)),
        ("memory for bodies, and for responses until they are read", mebibytes(limits.memory as u64)),
        (
            "memory for the objects in a body",
            format!(
                "{}; `/v1/cluster`: {}",
                mebibytes(limits.body_objects as u64),
                mebibytes(limits.cluster_objects as u64)
            ),
        ),
        ("memory for the objects in all bodies", mebibytes(limits.object_memory as u64)),
        ("pause between two pieces of a body", seconds(limits.body_idle)),
        (
            "minimum average transfer rate of a body, after the first 10 s of waiting for it",
            format!("{} KiB/s", limits.body_rate >> 10),
        ),
        ("a whole request", seconds(limits.request)),
        ("a whole request to `/v1/cluster`", seconds(limits.cluster_request)),
        ("connections", max_connections.to_string()),
        ("head of a request", format!("32 KiB (HTTP/2: 16 KiB), {}", seconds(head_timeout))),
        ("a client that stops reading the response, or reads less than 16 KiB/s", seconds(write_timeout)),
        (
            "from SIGTERM or SIGINT until connections are refused",
            format!("{}, or 0 s on loopback", seconds(ServerOptions::DELAY_BEHIND_A_SERVICE)),
        ),
        ("open requests after that", seconds(drain)),
    ];
    for (what, value) in rows {
        let row = format!("| {what} | {value} |");
        assert!(document.contains(&row), "docs/reference/rest.md has no row {row}");
    }
}
