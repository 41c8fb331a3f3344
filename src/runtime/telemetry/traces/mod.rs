//! Traces: what a request, a plan or a sync did and how long it took, for a collector of OpenTelemetry.
//!
//! ```text
//! traceparent ─► Tracer ─► Span ─ ends ─► queue ─► TraceExporter ─► POST /v1/traces, as OTLP in JSON
//! ```
//!
//! Traces are off unless an endpoint is given. A span never waits: if the queue is full, the span is dropped and counted.

mod collector_headers;
mod collector_url;
mod exporter;
mod otlp_json;
#[cfg(test)]
pub(crate) mod recorded_spans;
mod span;
#[cfg(test)]
mod tests;
mod trace_metrics;
mod trace_parent;
mod tracer;

pub use collector_headers::CollectorHeaders;
pub use collector_url::CollectorUrl;
pub use exporter::{TraceExporter, TraceOptions};
pub(crate) use span::{EndsSpan, Span};
pub use tracer::{CallerSampling, Tracer};
