//! Clients that speak no TLS, begin it and stop, send slowly, or send a lot.

use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::sleep,
};

use super::tls;
use crate::{
    load::{Load, OPEN},
    site::Site,
};

/// Connections of each sort to each replica. Handshakes of an unoptimized build take milliseconds, on both sides.
const EACH: usize = 15;
/// Slow bodies to each replica.
const SLOW: usize = 60;
/// More connections than a replica takes: `--max-connections`.
const TOO_MANY: usize = 1200;
/// Bytes of the largest review.
const LARGEST: usize = 7 << 20;

/// What a client sends before it falls silent.
#[derive(Clone)]
enum Sent {
    /// On a bare connection.
    Bare(Vec<u8>),
    /// After the handshake.
    Inside(&'static [u8]),
}

/// Opens a connection, sends, and keeps it open.
async fn hold(address: SocketAddr, bundle: String, sent: Sent) {
    let silent = async |mut io: Box<dyn Io>| {
        // The end of it is the server's affair.
        let _ = io.read_to_end(&mut Vec::new()).await;
        std::future::pending::<()>().await;
    };
    match sent {
        Sent::Bare(bytes) => {
            let Ok(mut tcp) = TcpStream::connect(address).await else { return };
            let _ = tcp.write_all(&bytes).await;
            silent(Box::new(tcp)).await;
        }
        Sent::Inside(bytes) => {
            let Ok(mut tls) = tls::connect(address, &bundle).await else { return };
            let _ = tls.write_all(bytes).await;
            let _ = tls.flush().await;
            silent(Box::new(tls)).await;
        }
    }
}

trait Io: tokio::io::AsyncRead + Send + Unpin {}
impl<T: tokio::io::AsyncRead + Send + Unpin> Io for T {}

pub(super) fn garbage(site: &mut Site, load: &Load) -> String {
    let bundle = site.volume.material.bundle.clone();
    let hello = tls::hello(&bundle);
    let noise = (0..65_536_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let sorts = [
        Sent::Bare(Vec::new()),
        Sent::Bare(noise),
        Sent::Bare(hello[..hello.len() / 2].to_vec()),
        Sent::Bare(hello),
        Sent::Bare(b"POST /validate HTTP/1.1\r\nhost: roster\r\n\r\n".to_vec()),
        Sent::Inside(b""),
        Sent::Inside(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        Sent::Inside(b"POST /validate HTTP/1.1\r\nhost: ros"),
        Sent::Inside(b"\0\x01\x02 no HTTP\r\n\r\n"),
    ];
    let mut clients = JoinSet::new();
    for replica in &site.replicas {
        for sent in sorts.iter().flat_map(|s| std::iter::repeat_n(s, EACH)) {
            clients.spawn_on(hold(replica.webhook(), bundle.clone(), sent.clone()), site.runtime().handle());
        }
    }
    load.go_on(100);
    site.reconnect(5);
    load.go_on(300);
    drop(clients);
    format!("garbage and half-open TLS, {} clients", 2 * EACH * sorts.len())
}

/// Half-open connections take every place that a replica has.
pub(super) fn more_than_there_is_room_for(site: &mut Site, load: &Load) -> String {
    let mut clients = JoinSet::new();
    for replica in &site.replicas {
        for _ in 0..TOO_MANY {
            clients.spawn_on(hold(replica.webhook(), String::new(), Sent::Bare(Vec::new())), site.runtime().handle());
        }
    }
    load.go_on(100);
    site.reconnect(5);
    load.go_on(400);
    drop(clients);
    format!("{} connections that say nothing", 2 * TOO_MANY)
}

/// A body a byte a second, or one that stops before its end.
async fn slow(address: SocketAddr, bundle: String, at_once: usize) {
    let Ok(mut tls) = tls::connect(address, &bundle).await else { return };
    let head = head("/validate?timeout=10s", 7 << 20);
    let _ = tls.write_all(head.as_bytes()).await;
    let _ = tls.write_all(&vec![b' '; at_once]).await;
    while tls.write_all(b" ").await.is_ok() && tls.flush().await.is_ok() {
        sleep(Duration::from_secs(1)).await;
    }
}

fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: roster\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    )
}

pub(super) fn slow_bodies(site: &mut Site, load: &Load) -> String {
    let bundle = site.volume.material.bundle.clone();
    let mut clients = JoinSet::new();
    for replica in &site.replicas {
        for n in 0..SLOW {
            let at_once = if n % 10 == 0 { 6 << 20 } else { 0 };
            clients.spawn_on(slow(replica.webhook(), bundle.clone(), at_once), site.runtime().handle());
        }
    }
    load.go_on(100);
    site.reconnect(5);
    load.go_on(400);
    drop(clients);
    format!("{} slow bodies, a tenth of them of 6 MiB", 2 * SLOW)
}

/// A review of so many bytes.
fn review(length: usize) -> Vec<u8> {
    let text = |padding: usize| {
        let object = json!({
            "metadata": { "name": "web", "namespace": OPEN, "annotations": { "note": "x".repeat(padding) } },
            "spec": { "ports": [{ "port": 80 }] },
        });
        json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "large", "kind": { "group": "", "version": "v1", "kind": "Service" },
                "namespace": OPEN, "name": "web", "operation": "CREATE",
                "userInfo": { "username": "me" }, "object": object,
            },
        })
        .to_string()
    };
    text(length - text(0).len()).into_bytes()
}

/// Posts `body`; the whole answer.
async fn post(address: SocketAddr, bundle: &str, body: &[u8]) -> String {
    let mut tls = tls::connect(address, bundle).await.unwrap();
    tls.write_all(head("/validate?timeout=10s", body.len()).as_bytes()).await.unwrap();
    // It may be refused before its end.
    let _ = tls.write_all(body).await;
    let _ = tls.flush().await;
    let mut answer = Vec::new();
    let _ = tls.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

pub(super) fn large_reviews(site: &mut Site, _: &Load) -> String {
    let bundle = site.volume.material.bundle.clone();
    for replica in &site.replicas {
        for (more, want) in [(0, "HTTP/1.1 200"), (1, "HTTP/1.1 413")] {
            let body = review(LARGEST + more);
            assert_eq!(body.len(), LARGEST + more);
            let answer = site.runtime().block_on(post(replica.webhook(), &bundle, &body));
            assert!(answer.starts_with(want), "{answer:.400}");
            assert!(more > 0 || answer.contains(r#""uid":"large","allowed":true"#), "{answer:.400}");
        }
    }
    for _ in 0..3 {
        let written = largest_endpoints(site);
        assert_eq!(written["subsets"][0]["addresses"].as_array().map(Vec::len), Some(1000));
        assert_eq!(written["metadata"]["annotations"]["endpoints.kubernetes.io/over-capacity"], "truncated");
    }
    "reviews of 7 MiB, Endpoints of 2.9 MiB".to_owned()
}

/// As large an object as an API server takes: 3 MiB.
fn largest_endpoints(site: &Site) -> Value {
    let mut addresses = Vec::new();
    let mut length = 0;
    for n in 0_u32.. {
        let [_, a, b, c] = n.to_be_bytes();
        let address = json!({
            "ip": format!("10.{a}.{b}.{c}"), "nodeName": format!("node-{:04}.eu-central-1.compute.internal", n % 5000),
            "targetRef": { "kind": "Pod", "namespace": OPEN, "name": format!("catalog-7d4b9c6f5d-{n:06}"),
                           "uid": format!("00000000-0000-4000-8000-{n:012}") },
        });
        length += address.to_string().len() + 1;
        if length > 2_900 << 10 {
            break;
        }
        addresses.push(address);
    }
    let object = json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": "large" },
        "subsets": [{ "addresses": addresses, "ports": [{ "port": 8080 }] }],
    });
    site.api.create(&format!("/api/v1/namespaces/{OPEN}/endpoints?dryRun=All"), &object)
}
