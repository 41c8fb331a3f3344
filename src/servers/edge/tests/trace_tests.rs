//! Tests of the traces of the node proxy: what its spans say, and what the API server learns of them.

use std::{net::SocketAddr, sync::atomic::Ordering};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
};

use super::connection_tests::{read_until, serve};
use crate::runtime::{net::Health, telemetry::traces::recorded_spans::RecordedSpans};
use crate::servers::edge::{
    cache::scheme::EdgeScheme,
    tests::{SERVICES, TestedEdge},
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// A node proxy that serves on a port and records this share of the traces that begin there.
struct TracedEdge {
    edge: TestedEdge,
    spans: RecordedSpans,
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl TracedEdge {
    fn of_share(share: f64) -> Self {
        let edge = TestedEdge::new(EdgeScheme::SuperEdge);
        let (tracer, spans) = RecordedSpans::of_share(share);
        let mut health = Health::default();
        health.tracer = tracer;
        let (address, stop) = serve(edge.router.clone(), health);
        Self { edge, spans, address, _stop: stop }
    }

    /// Sends a request, which may be a part of a trace with these flags. The connection ends after the response.
    async fn send(&self, request: &str, flags: Option<&str>) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let parent = flags.map(|flags| format!("traceparent: 00-{TRACE}-{CALLER}-{flags}\r\n")).unwrap_or_default();
        let head = format!(
            "{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer good\r\n{parent}\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    /// The same, until the end of the response.
    async fn ask(&self, request: &str, flags: Option<&str>) {
        self.send(request, flags).await.read_to_end(&mut Vec::new()).await.unwrap();
    }
}

#[tokio::test]
async fn a_span_says_what_is_asked_and_names_no_object() {
    let mut traced = TracedEdge::of_share(1.0);
    for (request, is_away, name, code) in [
        ("GET /api/v1/services", false, "list services", 200),
        ("GET /apis/discovery.k8s.io/v1/endpointslices", false, "list endpointslices", 200),
        ("GET /api/v1/namespaces/shop/services/web", false, "get services", 200),
        ("GET /api/v1/namespaces/shop/services/none", false, "get services", 404),
        ("GET /api/v1", false, "discover", 200),
        ("GET /api/v1/namespaces/shop/secrets/web", false, "forward", 200),
        ("DELETE /api/v1/namespaces/shop/services/web", false, "forward", 200),
        ("GET /api/v1/namespaces/shop/secrets/web", true, "forward", 503),
        ("GET /api/v1/watch/services", false, "GET", 404),
    ] {
        traced.edge.api.is_away.store(is_away, Ordering::Relaxed);
        traced.ask(request, None).await;
        let span = traced.spans.next().await;
        assert_eq!((span.name.as_str(), span.parent.as_str()), (name, ""), "{request}");
        let method = request.split(' ').next().unwrap();
        let want = [format!("http.request.method={method}"), format!("http.response.status_code={code}")];
        assert_eq!((span.attributes, span.has_failed), (want.to_vec(), code == 503), "{request}");
    }
    for probe in ["GET /livez", "GET /readyz", "GET /healthz"] {
        traced.ask(probe, Some("01")).await;
        assert!(traced.spans.is_empty(), "{probe}");
    }
}

#[tokio::test]
async fn the_span_of_a_watch_ends_when_the_watch_begins() {
    let mut traced = TracedEdge::of_share(1.0);
    let mut watch = traced.send("GET /apis/discovery.k8s.io/v1/endpointslices?watch=1", None).await;
    read_until(&mut watch, "\"ADDED\"").await;
    assert_eq!(traced.spans.next().await.name, "watch endpointslices");
    assert_eq!(traced.edge.slots.held(), 1, "it goes on");
}

/// The API server gets the span of the proxy as the parent, or what the caller has sent if there is no such span. The questions of the
/// proxy itself are a part of no trace.
#[tokio::test]
async fn what_is_forwarded_is_a_part_of_the_trace() {
    for (name, share, flags, is_recorded) in [
        ("the caller records", 1.0, Some("01"), true),
        ("the caller records more than the share", 0.0, Some("01"), false),
        ("the caller does not", 1.0, Some("00"), false),
        ("nobody calls", 1.0, None, true),
        ("nobody calls, and nothing is recorded", 0.0, None, false),
    ] {
        let mut traced = TracedEdge::of_share(share);
        traced.ask("GET /api/v1/secrets", flags).await;
        let forwarded = traced.edge.api.trace_parents();
        let want = if is_recorded {
            let span = traced.spans.next().await;
            let caller = flags.map_or(("", false), |_| (CALLER, true));
            assert_eq!((span.parent.as_str(), span.trace == TRACE), caller, "{name}");
            format!("00-{}-{}-01", span.trace, span.id)
        } else {
            flags.map(|flags| format!("00-{TRACE}-{CALLER}-{flags}")).unwrap_or_default()
        };
        assert_eq!(forwarded, [want], "{name}");
        traced.ask(&format!("GET {SERVICES}"), flags).await;
        assert_eq!(traced.edge.api.trace_parents(), [""], "{name}: whether the client may read Services");
        if is_recorded {
            traced.spans.next().await;
        }
        assert!(traced.spans.is_empty(), "{name}");
    }
}
