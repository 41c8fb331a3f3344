//! From a body to a response: the body, a worker thread, the memory of the response.

use std::sync::Arc;

use axum::{
    extract::Request,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use roster_calls::{Answer, Call, CallLimits, CallRequest, Format, PostedBody, PreparedCall, ProblemKind};
use roster_engine::model::Interrupt;

use super::{
    RestApp,
    body::{self, Encoding},
    object_memory::ObjectMemory,
    problem::ApiError,
};
use crate::runtime::{
    net::{self, BodyError, Claim, CreditWhenRead, Exchange, HeldByResponse, ReceivedBody, SMALL_BODY},
    telemetry::traces::Span,
    workers::{SHORT, WorkError},
};

/// The answer of a call, and the memory that it takes until its client has read it.
pub(crate) struct ComputedAnswer {
    answer: Answer,
    held: Option<HeldByResponse>,
    credit: Option<CreditWhenRead>,
}

impl IntoResponse for ComputedAnswer {
    fn into_response(self) -> Response {
        let Answer { content_type, bytes, problems, .. } = self.answer;
        let mut response = bytes.into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some(count) = problems {
            response.headers_mut().insert("roster-problems", count.into());
        }
        if let Some(held) = self.held {
            response.extensions_mut().insert(held);
        }
        if let Some(credit) = self.credit {
            response.extensions_mut().insert(credit);
        }
        response
    }
}

/// The query of a request.
pub(super) fn query(request: &Request) -> &str {
    request.uri().query().unwrap_or_default()
}

/// The answer of a call that reads no body: it is so small that it is made at once.
pub(super) fn answer_query(request: &Request, call: Call) -> Result<ComputedAnswer, ApiError> {
    let request = CallRequest { query: query(request), content_type: None, body: &[] };
    let answer = call.answer(&request, CallLimits::default(), Interrupt::NEVER)?;
    Ok(ComputedAnswer { answer, held: None, credit: None })
}

/// Reads the body and computes the answer on a worker thread. The computation ends early when the time of the request is over
/// or its client is gone. The memory of its response is free when the client has read the response.
pub(crate) async fn compute(app: &Arc<RestApp>, request: Request, call: Call) -> Result<ComputedAnswer, ApiError> {
    // A wrong query is refused before anything of the body is read.
    let prepared = call.prepare(query(&request))?;
    compute_prepared(app, request, prepared).await
}

/// As [`compute`], with a query that has been read.
pub(super) async fn compute_prepared(
    app: &Arc<RestApp>,
    request: Request,
    prepared: PreparedCall,
) -> Result<ComputedAnswer, ApiError> {
    let exchange = Exchange::of(request.extensions());
    match tokio::time::timeout(app.limits.request, read_and_work(app, request, &exchange, prepared)).await {
        Ok(answer) => answer,
        Err(_) => {
            Err(ApiError::new(ProblemKind::Timeout, format!("not done after {} s", app.limits.request.as_secs_f32())))
        }
    }
}

async fn read_and_work(
    app: &Arc<RestApp>,
    request: Request,
    exchange: &Exchange,
    prepared: PreparedCall,
) -> Result<ComputedAnswer, ApiError> {
    let span = Span::of(request.extensions());
    let format = body::format(request.headers())?;
    let encoding = body::encoding(request.headers())?;
    let limit = app.limits.call().body_in(format);
    let limits = app.limits.of_body(limit as u64);
    let received = net::receive(request.into_body(), limits, &app.memory, exchange).await;
    let ReceivedBody { bytes, memory: mut claim } = received.map_err(|error| match error {
        BodyError::TooLarge(_) => app.limits.call().too_large(format).into(),
        error => app.body_error(error),
    })?;
    if (SMALL_BODY + 1..=SHORT).contains(&bytes.len()) {
        // The answer may be as long again. Where there is room for it now, it is not refused once it is computed.
        claim.grow_if_free(2 * bytes.len() as u64);
    }
    let memory = BodyMemory { app: app.clone(), claim };
    let body = match encoding {
        Encoding::Identity => WaitingBody { bytes, is_gzip: false, memory },
        Encoding::Gzip => decompress_if_short(app, exchange, bytes, memory, limit.min(SHORT)).await?,
    };
    let (worker, account, credit) = (app.clone(), ObjectMemory::new(app, exchange), exchange.credit_when_read());
    let done = app.workers.run_while_wanted(exchange.peer, (), body.work(limit), move |interrupt| {
        let app = worker;
        let _computed = span.child("compute");
        let (bytes, mut memory) = body.decompress(format, interrupt)?;
        app.metrics.body_bytes.inc_by(bytes.len() as u64);
        let posted = PostedBody::new(&bytes, format, app.limits.call())?.until(interrupt).charged_to(&account);
        let answer = prepared.answer(&posted)?;
        app.metrics.planned_many(answer.planned.unchanged, answer.planned.changed);
        drop((bytes, account));
        // The body is gone. So an answer that is no longer than what the body has charged is never refused.
        memory.resize(answer.bytes.len())?;
        let held = Some(HeldByResponse::new(memory.claim.into_holding()));
        Ok(ComputedAnswer { answer, held, credit: Some(credit) })
    });
    done.await.map_err(|error| app.work_error(error))?
}

/// A body that was received, and that may still be compressed.
struct WaitingBody {
    bytes: Bytes,
    is_gzip: bool,
    memory: BodyMemory,
}

/// Decompresses a body if it has no more than `longest` bytes then. How long it is only decompressing tells, and a long one must not be taken for a
/// short job.
async fn decompress_if_short(
    app: &Arc<RestApp>,
    exchange: &Exchange,
    bytes: Bytes,
    mut memory: BodyMemory,
    longest: usize,
) -> Result<WaitingBody, ApiError> {
    let compressed = bytes.len();
    if compressed > SHORT {
        return Ok(WaitingBody { bytes, is_gzip: true, memory });
    }
    let done = app.workers.run(exchange.peer, (), compressed, move || {
        let short = body::gunzip(&bytes, longest, |decompressed| memory.resize(compressed + decompressed))?;
        let is_gzip = short.is_none();
        memory.resize(short.as_ref().map_or(compressed, Bytes::len))?;
        Ok(WaitingBody { bytes: short.unwrap_or(bytes), is_gzip, memory })
    });
    done.await.map_err(|error| app.work_error(error))?
}

impl WaitingBody {
    /// About how many bytes it has after decompression, of at most `limit`.
    fn work(&self, limit: usize) -> usize {
        /// By which factor JSON and YAML are usually longer. One that is still compressed is long.
        const RATIO: usize = 10;
        let length = self.bytes.len();
        if self.is_gzip { length.saturating_mul(RATIO).min(limit).max(SHORT + 1) } else { length }
    }

    fn decompress(self, format: Format, interrupt: Interrupt<'_>) -> Result<(Bytes, BodyMemory), ApiError> {
        let Self { bytes, is_gzip, mut memory } = self;
        let app = memory.app.clone();
        if !is_gzip {
            return Ok((bytes, memory));
        }
        let compressed = bytes.len();
        let charge = |decompressed| {
            interrupt.check()?;
            memory.resize(compressed + decompressed)
        };
        let decompressed = body::gunzip(&bytes, app.limits.call().body_in(format), charge)?;
        let decompressed = decompressed.ok_or_else(|| app.limits.call().too_large(format))?;
        Ok((decompressed, memory))
    }
}

/// The memory of a body, and then of the response to it.
struct BodyMemory {
    app: Arc<RestApp>,
    /// Nothing is held while all of it is small: the place of the connection or of the HTTP/2 request covers it.
    claim: Claim,
}

impl BodyMemory {
    fn resize(&mut self, bytes: usize) -> Result<(), ApiError> {
        let is_covered = bytes <= SMALL_BODY && !self.claim.is_held();
        if is_covered || self.claim.resize(bytes as u64) {
            return Ok(());
        }
        Err(self.app.body_error(BodyError::NoMemory))
    }
}

impl RestApp {
    /// The error of a body that was not received.
    fn body_error(&self, error: BodyError) -> ApiError {
        if error == BodyError::NoMemory {
            self.metrics.shed.inc();
        }
        error.into()
    }

    /// The error of a request whose work was not done.
    fn work_error(&self, error: WorkError) -> ApiError {
        match error {
            WorkError::Busy => self.busy("too many requests wait"),
            WorkError::Panicked => {
                tracing::error!("a computation panicked");
                ApiError::new(ProblemKind::Internal, "this is a bug: report it with the value of `instance`")
            }
        }
    }

    /// The error of a request that is refused because of others.
    pub(super) fn busy(&self, detail: impl Into<String>) -> ApiError {
        self.metrics.shed.inc();
        ApiError::new(ProblemKind::Busy, detail)
    }
}
