//! Metrics in the `OpenMetrics` text format. No global registry: every server has its own.

use std::{fmt, sync::atomic::AtomicU64, time::Duration};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
        info::Info,
    },
    registry::{Registry, Unit},
};

pub(crate) use super::admission::Reviewed;
pub use super::{admission::AdmissionMetrics, cache::CacheMetrics, tls::TlsMetrics};

/// Content type of [`Metrics::encode`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Labels of a finished request. All three come from small sets: the route is the template, not the
/// path, and a method that HTTP does not know is `other`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    method: &'static str,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
    method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

/// The numbers of one server.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
    /// Requests that are being answered.
    pub in_flight: Gauge,
    /// Requests refused because too many others are being answered.
    pub shed: Counter,
    /// Bytes of bodies, after decompression; those of whole clusters as they came.
    pub body_bytes: Counter<u64, AtomicU64>,
    /// Open connections.
    pub connections: Gauge,
    plans: Family<OutcomeLabels, Counter>,
    /// Numbers of the webhook.
    pub admission: AdmissionMetrics,
    /// Numbers of the copy of the cluster.
    pub cache: CacheMetrics,
    /// Numbers of the TLS listener.
    pub tls: TlsMetrics,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// 0.5 ms to 65 s, each twice the one before: a small plan takes less than a millisecond, a whole
/// cluster some seconds.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 18))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let metrics = Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            in_flight: Gauge::default(),
            shed: Counter::default(),
            body_bytes: Counter::default(),
            connections: Gauge::default(),
            plans: Family::default(),
            admission: AdmissionMetrics::default(),
            cache: CacheMetrics::default(),
            tls: TlsMetrics::default(),
            registry: Registry::default(),
        };
        registry.register("http_requests", "Requests answered", metrics.requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time from the head of a request to the head of its answer",
            Unit::Seconds,
            metrics.seconds.clone(),
        );
        registry.register("http_requests_in_flight", "Requests being answered", metrics.in_flight.clone());
        registry.register("http_requests_shed", "Requests refused by the concurrency limit", metrics.shed.clone());
        registry.register_with_unit(
            "http_request_body",
            "Bodies read, after decompression",
            Unit::Bytes,
            metrics.body_bytes.clone(),
        );
        registry.register("http_connections", "Open connections", metrics.connections.clone());
        registry.register("roster_plans", "Services planned, by what there is to do", metrics.plans.clone());
        metrics.admission.register(&mut registry);
        metrics.cache.register(&mut registry);
        metrics.tls.register(&mut registry);
        registry.register("roster_build", "This build", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// Counts an answered request.
    pub fn answered(&self, route: &str, method: &http::Method, code: u16, took: Duration) {
        let method = known(method);
        self.requests.get_or_create(&RequestLabels { route: route.to_owned(), method, code }).inc();
        self.seconds.get_or_create(&RouteLabels { route: route.to_owned(), method }).observe(took.as_secs_f64());
    }

    /// Counts a planned Service.
    pub fn planned(&self, noop: bool) {
        self.planned_many(noop.into(), (!noop).into());
    }

    /// Counts planned Services: with nothing to do, and with something.
    pub fn planned_many(&self, none: u64, change: u64) {
        for (outcome, count) in [("none", none), ("change", change)] {
            self.plans.get_or_create(&OutcomeLabels { outcome }).inc_by(count);
        }
    }

    /// The `OpenMetrics` text.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// A label of few values, whatever a client sends.
fn known(method: &http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
