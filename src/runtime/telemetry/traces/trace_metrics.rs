//! The metric of spans: sent, or dropped and why.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

/// What became of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanResult {
    Sent,
    /// Dropped: too many wait.
    QueueFull,
    /// Dropped: the collector does not answer.
    Unanswered,
    /// Dropped: the collector answers with an error.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

/// Counts spans. A clone counts into the same metric.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceMetrics(Family<ResultLabel, Counter>);

impl TraceMetrics {
    /// Registers the metric, with all its values.
    pub(super) fn register(&self, registry: &mut Registry) {
        for result in [SpanResult::Sent, SpanResult::QueueFull, SpanResult::Unanswered, SpanResult::Refused] {
            self.count(result, 0);
        }
        let help = "Spans of traces, by result: sent to the collector, or dropped because the queue was full (queue_full), or because \
                    the collector has not answered (unanswered) or has refused them (refused)";
        registry.register("roster_trace_spans", help, self.0.clone());
    }

    pub(super) fn count(&self, result: SpanResult, spans: u64) {
        let result = match result {
            SpanResult::Sent => "sent",
            SpanResult::QueueFull => "queue_full",
            SpanResult::Unanswered => "unanswered",
            SpanResult::Refused => "refused",
        };
        self.0.get_or_create(&ResultLabel { result }).inc_by(spans);
    }
}
