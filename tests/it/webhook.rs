//! The webhook on a real socket with a real TLS client: certificates that change, and clients that misbehave.

pub(crate) mod folder;
mod replay;
pub(crate) mod tls;
mod traces;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use futures::channel::mpsc::{UnboundedSender, unbounded};
use jiff::{SignedDuration, Timestamp};
use roster::{
    cli::serve::{ComposedServer, ServeOptions},
    runtime::{
        certificates::{CertificateLifetimes, Material, advance},
        clock::Clock,
        net::ServerOptions,
    },
    servers::webhook::{CertificateSource, FailureMode, WebhookLimits, WebhookOptions},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};

use folder::Folder;
use tls::Client;

const LONG: Duration = Duration::from_secs(20);

/// A CA and a certificate for loopback.
pub(crate) fn material() -> Material {
    let names = ["localhost", "127.0.0.1"].map(str::to_owned);
    advance(Clock::system().now(), Material::default(), true, &names, &CertificateLifetimes::default()).unwrap().0
}

/// A clock that a test moves.
#[derive(Clone, Default)]
struct Moved(Arc<AtomicI64>);

impl Moved {
    fn clock(&self) -> Clock {
        let (seconds, system) = (self.0.clone(), Clock::system());
        Clock::new(move || system.now() + SignedDuration::from_secs(seconds.load(Ordering::Relaxed)))
    }

    fn to(&self, at: Timestamp) {
        self.0.store(at.as_second() - Clock::system().now().as_second(), Ordering::Relaxed);
    }
}

struct Running {
    webhook: SocketAddr,
    admin: SocketAddr,
    signals: UnboundedSender<()>,
    done: JoinHandle<anyhow::Result<()>>,
}

fn options(folder: &Folder) -> ServeOptions {
    ServeOptions {
        admin_listen: Some(([127, 0, 0, 1], 0).into()),
        webhook: Some(WebhookOptions {
            policy: None,
            listen: ([127, 0, 0, 1], 0).into(),
            any_port: false,
            certificates: CertificateSource::Files { certificate: folder.path("tls.crt"), key: folder.path("tls.key") },
            client_ca: None,
            cluster: None,
            failure_mode: FailureMode::Open,
            limits: WebhookLimits::default(),
        }),
        server: ServerOptions { drain: Duration::from_secs(5), ..ServerOptions::default() },
        ..ServeOptions::default()
    }
}

fn with_server(mut options: ServeOptions, change: impl FnOnce(&mut ServerOptions)) -> ServeOptions {
    change(&mut options.server);
    options
}

async fn start(options: ServeOptions) -> Running {
    let server = ComposedServer::bind(&options).await.unwrap();
    let (webhook, admin) = (server.webhook_address().unwrap(), server.admin_address().unwrap());
    let (signals, received) = unbounded();
    Running { webhook, admin, signals, done: tokio::spawn(server.run(received)) }
}

impl Running {
    /// An answer of the admin listener.
    async fn admin(&self, path: &str) -> String {
        let mut tcp = TcpStream::connect(self.admin).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        tcp.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(LONG, tcp.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }

    /// Asks the admin listener until the answer has `wanted` in it.
    async fn until(&self, path: &str, wanted: &str) -> String {
        let asked = timeout(LONG, async {
            loop {
                let answer = self.admin(path).await;
                if answer.contains(wanted) {
                    return answer;
                }
                tokio::task::yield_now().await;
            }
        });
        asked.await.unwrap_or_else(|_| panic!("{path} never says {wanted}"))
    }
}

/// A review of a Service whose annotations take `padding` bytes.
fn review(uid: &str, padding: usize) -> String {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": { "group": "", "version": "v1", "kind": "Service" },
            "operation": "CREATE",
            "object": {
                "metadata": { "name": "web", "annotations": { "note": "x".repeat(padding) } },
                "spec": { "ports": [{ "port": 80 }] },
            },
        },
    })
    .to_string()
}

fn allowed(uid: &str) -> String {
    format!("\"response\":{{\"uid\":\"{uid}\",\"allowed\":true}}")
}

#[tokio::test]
async fn a_certificate_changes_with_the_symlink_of_its_secret() {
    let (first, folder) = (material(), Folder::new());
    folder.swap(&first);
    let server = start(options(&folder)).await;
    let mut before = first;
    for round in 0..2 {
        let next = material();
        let open = Client::trusting(&before.bundle).connect(server.webhook).await.unwrap();
        folder.swap(&next);
        server.until("/metrics", &format!("roster_certificate_reloads_total{{result=\"loaded\"}} {}", round + 2)).await;
        let answer = Client::trusting(&next.bundle).ask(server.webhook, "/validate", &review("new", 0)).await;
        assert!(answer.unwrap().contains(&allowed("new")), "round {round}");
        let refused = Client::trusting(&before.bundle).connect(server.webhook).await;
        assert!(refused.is_err(), "the old one is gone");
        // A connection keeps the certificate that it began with.
        assert!(tls::ask_on(open, "/mutate", &review("old", 0)).await.unwrap().contains(&allowed("old")));
        before = next;
    }
    server.until("/metrics", "roster_tls_handshake_errors_total{reason=\"untrusted\"} 2").await;
}

#[tokio::test]
async fn a_bad_pair_is_not_served() {
    let (good, folder) = (material(), Folder::new());
    folder.swap(&good);
    let server = start(options(&folder)).await;
    let another = material();
    for (kept, bad) in [
        (1, Material { key: another.key.clone(), ..good.clone() }),
        (2, Material { certificate: "nonsense".to_owned(), ..good.clone() }),
        (3, Material { key: String::new(), ..good.clone() }),
    ] {
        folder.swap(&bad);
        server.until("/metrics", &format!("roster_certificate_reloads_total{{result=\"kept\"}} {kept}")).await;
        let answer = Client::trusting(&good.bundle).ask(server.webhook, "/validate", &review("u", 0)).await;
        assert!(answer.unwrap().contains(&allowed("u")));
        assert!(server.admin("/readyz").await.starts_with("HTTP/1.1 200"));
    }
    folder.swap(&another);
    server.until("/metrics", "roster_certificate_reloads_total{result=\"loaded\"} 2").await;
    assert!(Client::trusting(&another.bundle).connect(server.webhook).await.is_ok());
}

#[tokio::test]
async fn only_known_clients_are_let_in_where_a_client_ca_is_given() {
    let (ours, folder) = (material(), Folder::new());
    folder.swap(&ours);
    let (known, stranger) = (tls::client_identity(), tls::client_identity());
    folder.write("client.crt", &known.ca);
    let mut options = options(&folder);
    options.webhook.as_mut().unwrap().client_ca = Some(folder.path("client.crt"));
    let server = start(options).await;
    let ask = async |identity: Option<&tls::Identity>| {
        let client = Client::trusting(&ours.bundle);
        let client = identity.into_iter().fold(client, Client::showing);
        client.ask(server.webhook, "/validate", &review("u", 0)).await
    };
    assert!(ask(Some(&known)).await.unwrap().contains(&allowed("u")));
    assert!(ask(Some(&stranger)).await.is_err());
    assert!(ask(None).await.is_err());
    let text = server.until("/metrics", "handshake_errors_total{reason=\"no_client_certificate\"} 1").await;
    assert!(text.contains("roster_tls_handshake_errors_total{reason=\"client_certificate\"} 1"), "{text}");
    // Its own handshake shows no certificate, and is not counted.
    assert!(server.admin("/readyz?verbose").await.contains("[+]tls ok"));
    assert!(server.admin("/metrics").await.contains("handshake_errors_total{reason=\"no_client_certificate\"} 1"));

    folder.write("client.crt", &stranger.ca);
    server.until("/metrics", "roster_certificate_reloads_total{result=\"loaded\"} 3").await;
    assert!(ask(Some(&stranger)).await.is_ok());
    assert!(ask(Some(&known)).await.is_err());
}

#[tokio::test]
async fn garbage_and_half_open_connections_disturb_nobody() {
    let (ours, folder) = (material(), Folder::new());
    folder.swap(&ours);
    let server = start(options(&folder)).await;
    let mut held = Vec::new();
    for text in ["GET / HTTP/1.1\r\nhost: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00", "", "\0\0\0\0\0\0\0\0"] {
        for _ in 0..20 {
            let mut tcp = TcpStream::connect(server.webhook).await.unwrap();
            tcp.write_all(text.as_bytes()).await.unwrap();
            held.push(tcp);
        }
    }
    let client = Client::trusting(&ours.bundle);
    for i in 0..20 {
        let uid = format!("u{i}");
        let answer = timeout(LONG, client.ask(server.webhook, "/validate", &review(&uid, 0))).await.unwrap();
        assert!(answer.unwrap().contains(&allowed(&uid)));
    }
    server.until("/metrics", "roster_tls_handshake_errors_total{reason=\"not_tls\"} 40").await;
    drop(held);
    server.until("/metrics", "roster_tls_handshake_errors_total{reason=\"closed\"} 40").await;
    server.until("/metrics", "roster_webhook_connections 0").await;
}

/// Where every place is taken, the oldest connection without a request yet goes; one with an answered review stays.
#[tokio::test]
async fn connections_that_say_nothing_give_way() {
    let (ours, folder) = (material(), Folder::new());
    folder.swap(&ours);
    let server = start(with_server(options(&folder), |server| server.max_connections = 4)).await;
    let client = Client::trusting(&ours.bundle);
    let mut answered = client.connect(server.webhook).await.unwrap();
    tls::exchange(&mut answered, "/validate", &review("first", 0)).await;
    let mut silent = Vec::new();
    for n in 0..8 {
        let mut tcp = TcpStream::connect(server.webhook).await.unwrap();
        if n % 2 == 0 {
            tcp.write_all(b"\x16\x03\x01\x02\x00\x01\x00").await.unwrap();
        }
        silent.push(tcp);
    }
    // Long before the limit of a handshake.
    let soon = Duration::from_secs(5);
    for uid in ["a", "b"] {
        let answer = timeout(soon, client.ask(server.webhook, "/validate", &review(uid, 0))).await.unwrap();
        assert!(answer.unwrap().contains(&allowed(uid)));
    }
    assert_eq!(timeout(soon, silent[0].read(&mut [0; 1])).await.unwrap().unwrap_or(0), 0, "the oldest is gone");
    let answer = tls::exchange(&mut answered, "/validate", &review("second", 0)).await;
    assert!(answer.contains(&allowed("second")), "{answer}");
    // There is one place for a handshake: seven of eight went for the next one, and the last for the reviews.
    server.until("/metrics", "roster_evictions_total{listener=\"webhook\",resource=\"handshakes\"} 8").await;
}

#[tokio::test]
async fn seven_mebibytes_are_reviewed_and_slow_ones_are_not_waited_for() {
    let (ours, folder) = (material(), Folder::new());
    folder.swap(&ours);
    let mut options = options(&folder);
    // A long review has a thread of low priority, and the other tests leave it little time.
    if let Some(webhook) = &mut options.webhook {
        webhook.limits.request = Duration::from_mins(10);
    }
    let server = start(options).await;
    let client = Client::trusting(&ours.bundle);
    let largest = review("large", (7 << 20) - review("large", 0).len());
    let answer = client.ask(server.webhook, "/validate", &largest).await.unwrap();
    assert!(answer.contains(&allowed("large")), "{answer}");
    assert!(client.ask(server.webhook, "/validate", &review("over", 7 << 20)).await.unwrap().contains(" 413 "));

    let mut slow = client.connect(server.webhook).await.unwrap();
    let head = "POST /validate?timeout=1s HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{";
    slow.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    timeout(LONG, slow.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn an_expired_certificate_is_not_ready() {
    let (ours, folder, clock) = (material(), Folder::new(), Moved::default());
    folder.swap(&ours);
    let server = start(ServeOptions { clock: clock.clock(), ..options(&folder) }).await;
    let checks = ["[+]ping ok", "[+]shutdown ok", "[+]certificate ok", "[+]tls ok", "readyz check passed"];
    assert!(server.admin("/readyz?verbose").await.ends_with(&(checks.join("\n") + "\n")));
    assert!(server.admin("/livez").await.ends_with("\r\n\r\nok"));

    clock.to(Clock::system().now() + SignedDuration::from_hours(24 * 91));
    let answer = server.admin("/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("[-]certificate failed: the certificate expired at "), "{answer}");
    assert!(server.admin("/readyz?exclude=certificate").await.starts_with("HTTP/1.1 200"));
    let metrics = server.admin("/metrics").await;
    assert!(metrics.contains("roster_certificate_expiration_seconds -86"), "{metrics}");
    // It lives all the same: to start it anew would not help.
    assert!(server.admin("/livez").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_certificate_in_memory_tells_its_ca_and_not_its_key() {
    let mut options = options(&Folder::new());
    options.webhook.as_mut().unwrap().certificates = CertificateSource::InMemory(vec!["127.0.0.1".to_owned()]);
    let server = ComposedServer::bind(&options).await.unwrap();
    let banner = server.banner();
    assert!(banner.contains("caBundle: "), "{banner}");
    assert!(!banner.contains("PRIVATE"), "{banner}");
}

#[tokio::test]
async fn a_client_is_told_to_leave_before_its_connection_ends() {
    let (ours, folder) = (material(), Folder::new());
    folder.swap(&ours);
    let server = start(with_server(options(&folder), |server| server.shutdown_delay = Some(LONG))).await;
    let client = Client::trusting(&ours.bundle);
    let mut open = client.connect(server.webhook).await.unwrap();
    let answer = tls::exchange(&mut open, "/validate", &review("before", 0)).await;
    assert!(!answer.contains("connection: close"), "{answer}");
    server.signals.unbounded_send(()).unwrap();
    server.until("/readyz", "[-]shutdown failed").await;
    let answer = tls::exchange(&mut open, "/validate", &review("after", 0)).await;
    assert!(answer.contains("connection: close") && answer.contains(&allowed("after")), "{answer}");
    assert_eq!(timeout(LONG, open.read(&mut [0; 1])).await.unwrap().unwrap(), 0);
    // A connection that is made now is served as well.
    let late = client.connect(server.webhook).await.unwrap();
    server.signals.unbounded_send(()).unwrap();
    assert!(tls::ask_on(late, "/validate", &review("late", 0)).await.unwrap().contains(&allowed("late")));
    timeout(LONG, server.done).await.unwrap().unwrap().unwrap();
}

/// The table of limits in `docs/reference/webhook.md` and the code are one.
#[test]
fn the_documented_limits_are_those_of_the_code() {
    let document = include_str!("../../docs/reference/webhook.md");
    let WebhookLimits {
        review,
        conversion,
        memory,
        conversion_memory,
        body_pace,
        request,
        large: _,
        conversions,
        queue,
    } = WebhookLimits::default();
    let mebibytes = |n: usize| format!("{} MiB", n >> 20);
    for (what, value) in [
        ("an admission review", mebibytes(review)),
        ("a conversion review", mebibytes(conversion)),
        ("memory for the bodies of reviews", mebibytes(memory)),
        ("memory for conversions and their responses", mebibytes(conversion_memory)),
        (
            "minimum average transfer rate of a body, after the first 10 s of waiting for it",
            format!("{} KiB/s", body_pace >> 10),
        ),
        ("from the head of a request to its decision", format!("{} s, or a shorter `?timeout=`", request.as_secs())),
        ("reviews over 32 KiB computed at once", "one per core".to_owned()),
        ("conversions computed at once", conversions.to_string()),
        ("large reviews, and conversions, that wait", queue.to_string()),
    ] {
        let row = format!("| {what} | {value}");
        assert!(document.contains(&row), "docs/reference/webhook.md has no row {row}");
    }
}
