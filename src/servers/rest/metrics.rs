//! Metrics of the REST API.

use std::{fmt, sync::atomic::AtomicU64, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

use super::part::TLS;
use crate::runtime::{
    known_method::known_method,
    net::{Health, TlsOptions},
};

/// Labels of an answered request. All values come from small sets: the route is the template, not the
/// path, and a method that HTTP does not define is `other`.
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

/// Metrics of the REST API.
pub struct RestMetrics {
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
    /// Requests that are being answered.
    pub in_flight: Gauge,
    /// Requests that were refused because too many others are being answered.
    pub shed: Counter,
    /// Bytes of bodies, after decompression; bodies of whole clusters as they were sent.
    pub body_bytes: Counter<u64, AtomicU64>,
    plans: Family<OutcomeLabels, Counter>,
}

impl fmt::Debug for RestMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestMetrics").finish_non_exhaustive()
    }
}

/// Buckets from 0.5 ms to 65 s, each twice the previous one: a small plan takes less than a millisecond, a whole
/// cluster some seconds.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 18))
}

impl Default for RestMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            in_flight: Gauge::default(),
            shed: Counter::default(),
            body_bytes: Counter::default(),
            plans: Family::default(),
        }
    }
}

impl RestMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("http_requests", "Requests answered, by route, method and code", self.requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time from the head of a request to the head of its response",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register("http_requests_in_flight", "Requests being answered", self.in_flight.clone());
        registry.register("http_requests_shed", "Requests refused by a concurrency limit", self.shed.clone());
        registry.register_with_unit(
            "http_request_body",
            "Bytes of bodies, after decompression; those of /v1/cluster as they were sent",
            Unit::Bytes,
            self.body_bytes.clone(),
        );
        registry.register(
            "roster_plans",
            "Services planned, by outcome: none (nothing changes) or change",
            self.plans.clone(),
        );
    }

    /// Counts an answered request.
    pub fn answered(&self, route: &str, method: &http::Method, code: u16, took: Duration) {
        let method = known_method(method).unwrap_or("other");
        self.requests.get_or_create(&RequestLabels { route: route.to_owned(), method, code }).inc();
        self.seconds.get_or_create(&RouteLabels { route: route.to_owned(), method }).observe(took.as_secs_f64());
    }

    /// Counts a planned Service.
    pub fn planned(&self, noop: bool) {
        self.planned_many(noop.into(), (!noop).into());
    }

    /// Counts planned Services: without and with changes.
    pub fn planned_many(&self, none: u64, change: u64) {
        for (outcome, count) in [("none", none), ("change", change)] {
            self.plans.get_or_create(&OutcomeLabels { outcome }).inc_by(count);
        }
    }
}

/// Registers all metrics of a REST server, each with a value: for their documentation.
pub fn example_metrics(health: &Health) {
    let metrics = RestMetrics::default();
    health.metrics.register(|registry| metrics.register(registry));
    metrics.answered("/v1/plan", &http::Method::POST, 200, Duration::ZERO);
    metrics.planned(false);
    TlsOptions::example(&TLS, health);
}
