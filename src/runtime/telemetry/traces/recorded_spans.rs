//! A tracer whose spans a test reads.

use tokio::sync::mpsc::{self, Receiver};

use super::{
    Tracer,
    span::{FinishedSpan, SpanValue},
    trace_metrics::TraceMetrics,
    tracer::{QUEUE, Queued},
};
use crate::runtime::clock::Clock;

/// The spans of a tracer, in the order in which they end.
pub(crate) struct RecordedSpans(Receiver<Queued>);

/// A span that has ended. Its ids are as headers have them.
#[derive(Debug)]
pub(crate) struct RecordedSpan {
    pub(crate) name: String,
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty: the span begins the trace.
    pub(crate) parent: String,
    /// As `key=value`, in the order in which they were set.
    pub(crate) attributes: Vec<String>,
    pub(crate) has_failed: bool,
}

impl RecordedSpans {
    /// A tracer that records this share of the traces that begin there, and its spans.
    pub(crate) fn of_share(share: f64) -> (Tracer, Self) {
        let (sender, queue) = mpsc::channel(QUEUE);
        (Tracer::new(sender, TraceMetrics::default(), share, Clock::system()), Self(queue))
    }

    /// The next span that ends.
    pub(crate) async fn next(&mut self) -> RecordedSpan {
        loop {
            if let Queued::Span(span) = self.0.recv().await.unwrap() {
                return (*span).into();
            }
        }
    }

    /// Whether no other span has ended.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<FinishedSpan> for RecordedSpan {
    fn from(span: FinishedSpan) -> Self {
        let attribute = |(key, value): (&'static str, SpanValue)| match value {
            SpanValue::Text(text) => format!("{key}={text}"),
            SpanValue::Number(number) => format!("{key}={number}"),
            SpanValue::Flag(flag) => format!("{key}={flag}"),
        };
        Self {
            name: span.name,
            trace: span.trace.to_string(),
            id: span.id.to_string(),
            parent: span.parent.map(|parent| parent.to_string()).unwrap_or_default(),
            attributes: span.attributes.into_iter().map(attribute).collect(),
            has_failed: span.has_failed,
        }
    }
}
