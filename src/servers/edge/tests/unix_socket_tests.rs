//! Tests of the node proxy on a Unix socket: what holds for loopback holds for it as well.

use std::{io::ErrorKind, path::Path, time::Duration};

use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::UnixStream,
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::connection_tests::{read_until, serve_on};
use crate::runtime::net::{ServerOptions, ServerPart, UnixSocket};
use crate::servers::edge::{
    cache::scheme::EdgeScheme,
    metrics::LISTENER,
    tests::{GOOD, SERVICES, TestedEdge, service},
};

const MOMENT: Duration = Duration::from_secs(10);

/// Serves the proxy on a socket, with this many connections.
async fn serve(edge: &TestedEdge, path: &Path, max_connections: usize) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let socket = UnixSocket::bind(path, UnixSocket::MODE).await.unwrap();
    let options = ServerOptions { max_connections, ..ServerOptions::default() };
    serve_on(socket, ServerPart::new(LISTENER, edge.router.clone()), edge.health.clone(), options)
}

async fn send(path: &Path, target: &str, headers: &[(&str, &str)]) -> UnixStream {
    let mut stream = UnixStream::connect(path).await.unwrap();
    let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!("GET {target} HTTP/1.1\r\nhost: edge\r\n{}\r\n", headers.concat());
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// The code of a response.
async fn code(path: &Path, target: &str, headers: &[(&str, &str)]) -> u16 {
    let head = read_until(&mut send(path, target, headers).await, "\r\n").await;
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_unix_socket_asks_for_credentials_and_ends_with_the_server() {
    let (edge, dir) = (TestedEdge::new(EdgeScheme::SuperEdge), tempfile::tempdir().unwrap());
    let path = dir.path().join("edge.sock");
    let (stop, ended) = serve(&edge, &path, ServerOptions::default().max_connections).await;
    for (target, headers, want) in [
        ("/healthz", &[][..], 200),
        (SERVICES, &[], 401),
        ("/api/v1/secrets", &[], 401),
        (SERVICES, &[("authorization", "Bearer wrong")], 401),
        (SERVICES, &[("authorization", "Bearer poor")], 403),
        (SERVICES, &[GOOD], 200),
        ("/api/v1/secrets", &[GOOD], 200),
        ("/api/v1/services/../secrets", &[GOOD], 400),
    ] {
        assert_eq!(code(&path, target, headers).await, want, "{target} {headers:?}");
    }

    let mut watch = send(&path, &format!("{SERVICES}?watch=1"), &[GOOD]).await;
    read_until(&mut watch, "\"ADDED\"").await;
    edge.put(&service("next", &json!({})));
    read_until(&mut watch, "\"next\"").await;
    assert_eq!(edge.slots.held(), 1);
    drop(watch);
    while edge.slots.held() > 0 {
        tokio::task::yield_now().await;
    }

    stop.send(()).unwrap();
    timeout(MOMENT, ended).await.unwrap().unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn the_connections_of_a_unix_socket_are_limited() {
    let (edge, dir) = (TestedEdge::new(EdgeScheme::SuperEdge), tempfile::tempdir().unwrap());
    let path = dir.path().join("edge.sock");
    let (_stop, _ended) = serve(&edge, &path, 16).await;
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(UnixStream::connect(&path).await.unwrap());
    }
    assert_eq!(code(&path, SERVICES, &[GOOD]).await, 200);
    let is_closed = |stream: &UnixStream| match stream.try_read(&mut [0]) {
        Ok(0) => true,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
        Ok(_) => false,
    };
    let closed = async {
        while idle.iter().filter(|stream| is_closed(stream)).count() < 40 - 16 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(MOMENT, closed).await.unwrap();
}
