//! Tests of the node proxy over connections: clients that leave, and upgrades.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{Extensions, Request, StatusCode},
};
use roster_engine::view::KeyOrder;
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};
use tower::ServiceExt;

use crate::runtime::net::{BoundSocket, Exchange, Health, Server, ServerOptions, ServerPart, Socket};
use crate::servers::edge::{
    access::{access_reviews::AccessReviews, caller_places},
    cache::{edge_cache::EdgeCache, node_state::NodeState, scheme::EdgeScheme, versions::Versions},
    clients::app::{EdgeApp, router},
    encoding::protobuf_list::ProtobufLists,
    metrics::{EdgeMetrics, LISTENER},
    tests::{GOOD, SERVICES, TestedEdge, service},
    upstream::{api_server::ApiServer, proxy::Proxy, reachability::Reachability},
};

/// Serves a router on a port, until the sender is dropped or sends.
pub(super) fn serve(router: axum::Router, health: Health) -> (std::net::SocketAddr, oneshot::Sender<()>) {
    let socket = Socket::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = socket.address();
    let (stop, _) = serve_on(socket, ServerPart::new(LISTENER, router), health, ServerOptions::default());
    (address, stop)
}

/// Serves a part on a socket, until the sender is dropped or sends; then the task ends.
pub(super) fn serve_on(
    socket: impl Into<BoundSocket>,
    part: ServerPart,
    health: Health,
    options: ServerOptions,
) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let mut server = Server::new(options, health);
    server.add(socket, part);
    let (stop, stopped) = oneshot::channel::<()>();
    let signals = futures::stream::once(async move { drop(stopped.await) });
    (stop, tokio::spawn(async move { server.run(signals).await.unwrap() }))
}

/// Reads until the text has come.
pub(super) async fn read_until(stream: &mut (impl AsyncRead + Unpin), end: &str) -> String {
    let mut text = Vec::new();
    while !text.ends_with(end.as_bytes()) {
        let byte = stream.read_u8().await.unwrap();
        text.push(byte);
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn a15_l1_a_connection_that_is_closed_ends_its_watch() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let (address, _stop) = serve(edge.router.clone(), Health::default());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /api/v1/services?watch=1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer good\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(&mut stream, "\"ADDED\"").await;
    edge.put(&service("next", &json!({})));
    read_until(&mut stream, "\"next\"").await;
    assert_eq!(edge.slots.held(), 1);
    drop(stream);
    while edge.slots.held() > 0 {
        tokio::task::yield_now().await;
    }
}

/// An API server that upgrades, and then sends back what it reads.
async fn echo(listener: TcpListener) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let head = read_until(&mut stream, "\r\n\r\n").await;
    let response = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nx-mine: 1\r\n\r\n";
    stream.write_all(response.as_bytes()).await.unwrap();
    let (mut from, mut to) = stream.split();
    tokio::io::copy(&mut from, &mut to).await.unwrap();
    head
}

#[tokio::test]
async fn an_upgraded_connection_is_joined_with_the_api_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut config = kube::Config::new(url.parse().unwrap());
    config.auth_info.token = Some("of-roster".to_owned().into());
    let echo = tokio::spawn(echo(listener));

    let _ = rustls::crypto::ring::default_provider().install_default();
    let (api, health) = (Arc::new(ApiServer::new(&config).unwrap()), Health::default());
    let reachability = Reachability::new(ApiServer::new(&config).unwrap());
    let state = NodeState::new("edge-1".into(), EdgeScheme::KubeProxy, KeyOrder::AnyKey);
    let metrics = EdgeMetrics::default();
    let app = EdgeApp {
        node: "edge-1".into(),
        scheme: EdgeScheme::KubeProxy,
        cache: Arc::new(EdgeCache::new(state, Versions::from(1))),
        proxy: Proxy::new(api.clone(), health.clone()),
        access: Arc::new(AccessReviews::new(api, None, reachability, &health)),
        certificates: None,
        slots: caller_places::of_watches(),
        protobuf_lists: Arc::new(ProtobufLists::new(metrics.unencodable.clone())),
        metrics,
        health: health.clone(),
        hosts: None,
    };
    let (address, _stop) = serve(router(Arc::new(app)), health);
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = "POST /api/v1/namespaces/shop/pods/p/exec?command=sh HTTP/1.1\r\nhost: localhost\r\n\
                   authorization: Bearer of-client\r\nconnection: Upgrade\r\nupgrade: websocket\r\ncontent-length: 0\r\n\r\n";
    client.write_all(request.as_bytes()).await.unwrap();
    let head = read_until(&mut client, "\r\n\r\n").await.to_ascii_lowercase();
    assert!(
        head.starts_with("http/1.1 101 ") && head.contains("upgrade: websocket") && head.contains("x-mine: 1"),
        "{head}"
    );
    for text in ["first", "second"] {
        client.write_all(text.as_bytes()).await.unwrap();
        assert_eq!(read_until(&mut client, text).await, text);
    }
    drop(client);
    let seen = echo.await.unwrap().to_ascii_lowercase();
    assert!(seen.starts_with("post /api/v1/namespaces/shop/pods/p/exec?command=sh http/1.1\r\n"), "{seen}");
    assert!(seen.contains("authorization: bearer of-client\r\n") && !seen.contains("of-roster"), "{seen}");
}

#[tokio::test]
async fn a_peer_that_asks_for_more_watches_than_its_share_loses_its_credit() {
    let (edge, exchange) = (TestedEdge::new(EdgeScheme::SuperEdge), Exchange::of(&Extensions::new()));
    let ask = async || {
        let request = Request::get(format!("{SERVICES}?watch=1")).header(GOOD.0, GOOD.1).extension(exchange.clone());
        edge.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    };
    let mut watches = Vec::new();
    for _ in 0..256 {
        watches.push(ask().await);
    }
    assert!(watches.iter().all(|response| response.status() == StatusCode::OK) && exchange.has_credit());
    assert_eq!(ask().await.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(!exchange.has_credit());
}
