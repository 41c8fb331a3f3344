//! A span: some work, from its begin to its end, with attributes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{Extensions, HeaderMap};
use tokio::time::Instant;
use tracing::field::{DisplayValue, display};

use super::{
    trace_parent::{SpanId, TRACEPARENT, TRACESTATE, TraceId, TraceParent},
    tracer::TracerCore,
};

/// The longest text of an attribute, in bytes. Names of Kubernetes have 253 at most.
const MAX_TEXT: usize = 256;

/// Whether a span answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal,
    Server,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SpanValue {
    Text(String),
    Number(i64),
    Flag(bool),
}

impl From<&str> for SpanValue {
    fn from(text: &str) -> Self {
        Self::Text(text[..text.floor_char_boundary(MAX_TEXT)].to_owned())
    }
}

impl From<usize> for SpanValue {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u16> for SpanValue {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for SpanValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// Some work. A clone is the same work, so that it can be described where it is done. By default nobody wants to know of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span(Option<Arc<OpenSpan>>);

#[derive(Debug)]
struct OpenSpan {
    core: Arc<TracerCore>,
    trace: TraceId,
    id: SpanId,
    /// `None`: it has ended, or it is not recorded.
    record: Mutex<Option<SpanRecord>>,
}

/// What is recorded of work that goes on.
#[derive(Debug)]
struct SpanRecord {
    parent: Option<SpanId>,
    kind: SpanKind,
    name: String,
    /// Nanoseconds since 1970.
    began: i128,
    at: Instant,
    attributes: Vec<(&'static str, SpanValue)>,
    has_failed: bool,
}

/// A span that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FinishedSpan {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) kind: SpanKind,
    pub(super) name: String,
    /// Nanoseconds since 1970.
    pub(super) began: i128,
    pub(super) ended: i128,
    pub(super) attributes: Vec<(&'static str, SpanValue)>,
    pub(super) has_failed: bool,
}

impl Span {
    /// Begins a span. The trace is that of the parent, or a new one.
    pub(super) fn begin(
        core: &Arc<TracerCore>,
        parent: Option<TraceParent>,
        kind: SpanKind,
        name: impl FnOnce() -> String,
    ) -> Self {
        let (trace, is_sampled) = match parent {
            Some(TraceParent { trace, is_sampled, .. }) => (trace, is_sampled),
            None => core.begin_trace(),
        };
        let record = is_sampled.then(|| SpanRecord {
            parent: parent.map(|parent| parent.span),
            kind,
            name: name(),
            began: core.clock.now().as_nanosecond(),
            at: Instant::now(),
            attributes: Vec::with_capacity(8),
            has_failed: false,
        });
        let (core, id, record) = (core.clone(), core.span_id(), Mutex::new(record));
        Self(Some(Arc::new(OpenSpan { core, trace, id, record })))
    }

    /// The span of the request with these extensions.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_default()
    }

    /// A part of the work.
    pub(crate) fn child(&self, name: &'static str) -> Self {
        let Some(span) = self.recorded() else { return Self::default() };
        let parent = TraceParent { trace: span.trace, span: span.id, is_sampled: true };
        Self::begin(&span.core, Some(parent), SpanKind::Internal, || name.to_owned())
    }

    /// Whether it is recorded. Nothing else needs to be computed for it.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorded().is_some()
    }

    fn recorded(&self) -> Option<&Arc<OpenSpan>> {
        self.0.as_ref().filter(|span| span.record().is_some())
    }

    /// Sets an attribute. Attributes hold no bodies, and no names of Secrets.
    pub(crate) fn set(&self, key: &'static str, value: impl Into<SpanValue>) {
        self.change(|record| record.attributes.push((key, value.into())));
    }

    /// Gives it another name.
    pub(crate) fn rename(&self, name: impl FnOnce() -> String) {
        self.change(|record| record.name = name());
    }

    /// The work has failed.
    pub(crate) fn fail(&self) {
        self.change(|record| record.has_failed = true);
    }

    fn change(&self, change: impl FnOnce(&mut SpanRecord)) {
        if let Some(span) = &self.0
            && let Some(record) = span.record().as_mut()
        {
            change(record);
        }
    }

    /// Ends it now, although clones of it remain.
    pub(crate) fn end(&self) {
        if let Some(span) = &self.0 {
            span.end();
        }
    }

    /// The id of the trace as a field of a log line, whether it is recorded or not.
    pub(crate) fn trace_id(&self) -> Option<DisplayValue<TraceId>> {
        self.0.as_ref().map(|span| display(span.trace))
    }

    /// Makes it the parent of what happens elsewhere to a request with these headers. A parent that cannot be read is dropped, and so
    /// is the state of its vendors.
    pub(crate) fn propagate(&self, headers: &mut HeaderMap) {
        if self.0.is_some() && TraceParent::of(headers).is_none() {
            headers.remove(TRACEPARENT);
            headers.remove(TRACESTATE);
        }
        if let Some(OpenSpan { trace, id, .. }) = self.recorded().map(AsRef::as_ref)
            && let Some(value) = (TraceParent { trace: *trace, span: *id, is_sampled: true }).header()
        {
            headers.insert(TRACEPARENT, value);
        }
    }
}

impl OpenSpan {
    fn record(&self) -> MutexGuard<'_, Option<SpanRecord>> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        let Some(record) = self.record().take() else { return };
        let SpanRecord { parent, kind, name, began, at, attributes, has_failed } = record;
        let ended = began + i128::try_from(at.elapsed().as_nanos()).unwrap_or_default();
        let (trace, id) = (self.trace, self.id);
        self.core.finish(FinishedSpan { trace, id, parent, kind, name, began, ended, attributes, has_failed });
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends a span when it is dropped: at the latest when the client has gone.
pub(crate) struct EndsSpan(pub(crate) Span);

impl Drop for EndsSpan {
    fn drop(&mut self) {
        self.0.end();
    }
}
