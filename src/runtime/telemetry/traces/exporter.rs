//! Sends spans to a collector, in batches. A collector that is slow or gone costs spans, and nothing else.

use std::time::Duration;

use anyhow::Context;
use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header},
};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{ClientConfig, RootCertStore};
use tokio::{
    sync::{
        mpsc::{self, error::TryRecvError},
        oneshot,
    },
    time::{Instant, sleep_until, timeout},
};

use super::{
    collector_headers::CollectorHeaders,
    collector_url::CollectorUrl,
    otlp_json::{self, TraceResource},
    span::FinishedSpan,
    trace_metrics::{SpanResult, TraceMetrics},
    tracer::{QUEUE, Queued, Tracer},
};
use crate::runtime::{clock::Clock, telemetry::registry::MetricsRegistry, tls::provider};

/// Most spans of a request.
const BATCH: usize = 512;
/// How long spans are collected after the first one.
const COLLECTS: Duration = Duration::from_secs(1);
/// The longest time until the collector has answered. Meanwhile, spans wait in the queue.
const ANSWER: Duration = Duration::from_secs(5);
/// The longest answer that is read, so that the connection can be used again.
const MAX_ANSWER: usize = 64 << 10;

/// Where traces go, and how many.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// The collector.
    pub endpoint: CollectorUrl,
    /// Headers of each request to it, such as credentials.
    pub headers: CollectorHeaders,
    /// The share that is recorded, from 0 to 1, of the traces that begin here, and of those of callers whose sampling
    /// [is limited](super::CallerSampling::IsLimited).
    pub share: f64,
    /// The name of the program in traces.
    pub service: &'static str,
    /// The name of the replica.
    pub instance: Option<String>,
}

/// Sends spans to a collector.
#[derive(Debug)]
pub struct TraceExporter {
    endpoint: Uri,
    headers: HeaderMap,
    resource: TraceResource,
    client: Client<HttpsConnector<HttpConnector>, Body>,
    queue: mpsc::Receiver<Queued>,
    metrics: TraceMetrics,
    /// Whether the last batch was not sent: of failures in a row, the first is logged.
    is_failing: bool,
}

/// Spans that are sent together.
#[derive(Default)]
struct SpanBatch {
    spans: Vec<FinishedSpan>,
    /// Who waits until they are sent.
    flushed: Vec<oneshot::Sender<()>>,
}

impl SpanBatch {
    fn add(&mut self, queued: Queued) {
        match queued {
            Queued::Span(span) => self.spans.push(*span),
            Queued::Flush(sent) => self.flushed.push(sent),
        }
    }

    fn is_due(&self) -> bool {
        self.spans.len() >= BATCH || !self.flushed.is_empty()
    }
}

impl TraceExporter {
    /// A tracer, and the exporter of its spans, which is to [run](Self::run). The metric of spans is added to `metrics`.
    pub fn new(options: TraceOptions, clock: &Clock, metrics: &MetricsRegistry) -> anyhow::Result<(Tracer, Self)> {
        let TraceOptions { endpoint: CollectorUrl(endpoint), headers, share, service, instance } = options;
        let CollectorHeaders(mut headers) = headers;
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let counted = TraceMetrics::default();
        metrics.register(|registry| counted.register(registry));
        let (sender, queue) = mpsc::channel(QUEUE);
        let tracer = Tracer::new(sender, counted.clone(), share, clock.clone());
        let resource = TraceResource { service, instance };
        let client = Client::builder(TokioExecutor::new()).build(connector(&endpoint)?);
        Ok((tracer, Self { endpoint, headers, resource, client, queue, metrics: counted, is_failing: false }))
    }

    /// Sends spans as long as there is a tracer.
    pub async fn run(mut self) {
        while let Some(batch) = self.collect().await {
            self.send(&batch.spans).await;
        }
    }

    /// The next spans. `None`: there will be none.
    async fn collect(&mut self) -> Option<SpanBatch> {
        let mut batch = SpanBatch::default();
        batch.add(self.queue.recv().await?);
        let end = Instant::now() + COLLECTS;
        while !batch.is_due() {
            match self.queue.try_recv() {
                Ok(queued) => batch.add(queued),
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => tokio::select! {
                    Some(queued) = self.queue.recv() => batch.add(queued),
                    () = sleep_until(end) => break,
                },
            }
        }
        Some(batch)
    }

    async fn send(&mut self, spans: &[FinishedSpan]) {
        if spans.is_empty() {
            return;
        }
        let (result, error) = match timeout(ANSWER, self.post(spans)).await {
            Ok(Ok(status)) if status.is_success() => (SpanResult::Sent, None),
            Ok(Ok(status)) => (SpanResult::Refused, Some(format!("it answers {status}"))),
            Ok(Err(error)) => (SpanResult::Unanswered, Some(format!("{error:#}"))),
            Err(_) => (SpanResult::Unanswered, Some(format!("no response within {} s", ANSWER.as_secs()))),
        };
        if let Some(error) = error.as_ref().filter(|_| !self.is_failing) {
            tracing::warn!(error, "traces cannot be sent to the collector: spans are dropped");
        }
        self.is_failing = error.is_some();
        // Last: a reader of the count finds the line in the log.
        self.metrics.count(result, spans.len() as u64);
    }

    async fn post(&self, spans: &[FinishedSpan]) -> anyhow::Result<StatusCode> {
        let body = otlp_json::body(&self.resource, spans.iter())?;
        let mut request = Request::new(Body::from(body));
        (*request.method_mut(), *request.uri_mut()) = (Method::POST, self.endpoint.clone());
        *request.headers_mut() = self.headers.clone();
        let answer = self.client.request(request).await.context("the collector cannot be reached")?;
        let status = answer.status();
        // What is longer closes the connection.
        drop(to_bytes(Body::new(answer.into_body()), MAX_ANSWER).await);
        Ok(status)
    }
}

/// Connects with TLS if the endpoint has it, and trusts the CAs of the system (or those of `SSL_CERT_FILE`) then.
fn connector(endpoint: &Uri) -> anyhow::Result<HttpsConnector<HttpConnector>> {
    let builder = HttpsConnectorBuilder::new();
    let config = if endpoint.scheme_str() == Some("https") {
        builder.with_provider_and_native_roots(provider()).context("the CAs of the system")?
    } else {
        let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
        builder.with_tls_config(config.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
    };
    Ok(config.https_or_http().enable_http1().build())
}
