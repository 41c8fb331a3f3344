//! Makes spans, and gives those that have ended to the exporter.

use std::{
    hash::{BuildHasher, RandomState},
    num::{NonZeroU64, NonZeroU128},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::http::HeaderMap;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{
    span::{FinishedSpan, Span, SpanKind},
    trace_metrics::{SpanResult, TraceMetrics},
    trace_parent::{SpanId, TraceId, TraceParent},
};
use crate::runtime::clock::Clock;

/// Most spans that wait to be sent. One has some hundred bytes.
pub(super) const QUEUE: usize = 2048;

/// What the exporter gets.
#[derive(Debug)]
pub(super) enum Queued {
    Span(Box<FinishedSpan>),
    /// The server ends: everything before is to be sent at once. Dropped when it was.
    Flush(oneshot::Sender<()>),
}

/// Who decides whether a request of a caller's trace is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerSampling {
    /// The caller: it is an API server, and its operator has chosen how much is recorded.
    Decides,
    /// The caller and the share: everyone can call, and nobody gets more recorded than the share allows.
    IsLimited,
}

/// Makes spans. A clone gives them to the same exporter. By default it makes none.
#[derive(Clone, Debug, Default)]
pub struct Tracer(Option<Arc<TracerCore>>);

/// What a tracer that is on consists of.
#[derive(Debug)]
pub(super) struct TracerCore {
    queue: mpsc::Sender<Queued>,
    metrics: TraceMetrics,
    /// A trace is recorded if a random number is below this: the first half of its id if it begins here.
    sampled_below: u64,
    pub(super) clock: Clock,
    /// The ids of spans: a keyed hash of a number, so that nobody guesses them and two processes have different ones.
    seed: RandomState,
    next: AtomicU64,
}

impl Tracer {
    /// A tracer that records this share of the traces that begin here.
    pub(super) fn new(queue: mpsc::Sender<Queued>, metrics: TraceMetrics, share: f64, clock: Clock) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "saturates"
        )]
        let sampled_below = (share * u64::MAX as f64) as u64;
        let (seed, next) = (RandomState::new(), AtomicU64::new(0));
        Self(Some(Arc::new(TracerCore { queue, metrics, sampled_below, clock, seed, next })))
    }

    /// Whether it makes spans.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The span of a request: a part of the caller's trace, if the caller has one.
    pub(crate) fn request(&self, headers: &HeaderMap, sampling: CallerSampling, name: impl FnOnce() -> String) -> Span {
        let Some(core) = &self.0 else { return Span::default() };
        let mut parent = TraceParent::of(headers);
        if let (CallerSampling::IsLimited, Some(parent)) = (sampling, &mut parent) {
            // Not by the id of the trace, which the caller chooses.
            parent.is_sampled &= core.samples(core.random());
        }
        Span::begin(core, parent, SpanKind::Server, name)
    }

    /// The span of work that nobody asked for.
    pub(crate) fn work(&self, name: &'static str) -> Span {
        let Some(core) = &self.0 else { return Span::default() };
        Span::begin(core, None, SpanKind::Internal, || name.to_owned())
    }

    /// Resolves when everything until now was sent, or was dropped, or after this time.
    pub(crate) async fn flush(&self, limit: Duration) {
        let Some(core) = &self.0 else { return };
        let (sent, done) = oneshot::channel();
        let flushed = async {
            if core.queue.send(Queued::Flush(sent)).await.is_ok() {
                // The sender is dropped, which is an error here.
                done.await.unwrap_or_default();
            }
        };
        if timeout(limit, flushed).await.is_err() {
            tracing::debug!("stopped with traces unsent");
        }
    }
}

impl TracerCore {
    /// A new trace, and whether it is recorded.
    pub(super) fn begin_trace(&self) -> (TraceId, bool) {
        let high = self.random();
        let id = (u128::from(high) << 64) | u128::from(self.random());
        let id = NonZeroU128::new(id).unwrap_or(NonZeroU128::MIN);
        (TraceId(id), self.samples(high))
    }

    /// Whether the share has room for what has this random number.
    fn samples(&self, random: u64) -> bool {
        random < self.sampled_below || self.sampled_below == u64::MAX
    }

    pub(super) fn span_id(&self) -> SpanId {
        SpanId(NonZeroU64::new(self.random()).unwrap_or(NonZeroU64::MIN))
    }

    fn random(&self) -> u64 {
        self.seed.hash_one(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Gives a span to the exporter, if it has room.
    pub(super) fn finish(&self, span: FinishedSpan) {
        if self.queue.try_send(Queued::Span(Box::new(span))).is_err() {
            self.metrics.count(SpanResult::QueueFull, 1);
        }
    }
}
