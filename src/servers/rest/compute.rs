//! From a body to a response: the body, a worker thread, the memory of the response.

use std::sync::Arc;

use axum::{
    extract::Request,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use roster_engine::model::Interrupt;
use roster_manifests::decode::{self, DecodeReason, MemoryAccount, Source};
use serde::Serialize;

use super::{
    RestApp, RestLimits,
    body::{self, Encoding, Format},
    object_memory::ObjectMemory,
    problem::{ApiError, ProblemKind},
};
use crate::runtime::{
    net::{self, BodyError, Claim, CreditWhenRead, Exchange, HeldByResponse, ReceivedBody, SMALL_BODY},
    telemetry::traces::Span,
    workers::{SHORT, WorkError},
};

/// A decompressed body.
pub(crate) struct PostedBody<'w> {
    pub bytes: Bytes,
    pub format: Format,
    /// Whether nobody waits for the answer any more.
    pub interrupt: Interrupt<'w>,
    /// The most memory that its objects may take.
    max_memory: usize,
    /// The most memory that its computation may take besides.
    max_charge: usize,
    account: ObjectMemory,
}

impl PostedBody<'_> {
    /// Charges what a computation takes besides the objects, until it is done.
    pub(super) fn charge(&self, bytes: usize) -> Result<(), ApiError> {
        if bytes > self.max_charge {
            let detail = format!("the computation takes more than {} bytes of memory", self.max_charge);
            return Err(ApiError::new(ProblemKind::TooLarge, detail));
        }
        if self.account.take(bytes) {
            return Ok(());
        }
        Err(ApiError::new(ProblemKind::Busy, DecodeReason::NoMemory.to_string()))
    }

    /// How to read objects from it.
    pub(super) fn source(&self) -> Source<'_> {
        let format = match self.format {
            Format::Json | Format::Ndjson => decode::InputFormat::Json,
            Format::Yaml => decode::InputFormat::Yaml,
        };
        // The limit of its length has been applied already.
        Source {
            format,
            max_bytes: None,
            max_object_bytes: usize::MAX,
            max_memory: self.max_memory,
            account: Some(&self.account),
            interrupt: self.interrupt,
            ..Source::body()
        }
    }
}

/// A serialized answer.
pub(crate) struct JsonAnswer {
    json: Vec<u8>,
    problems: Option<usize>,
    held: Option<HeldByResponse>,
    credit: Option<CreditWhenRead>,
}

impl JsonAnswer {
    pub(crate) fn json(value: &impl Serialize) -> Result<Self, ApiError> {
        match serde_json::to_vec(value) {
            Ok(json) => Ok(Self { json, problems: None, held: None, credit: None }),
            Err(e) => Err(ApiError::new(ProblemKind::Internal, e.to_string())),
        }
    }

    /// Adds the header `roster-problems`, for answers that cannot list findings.
    pub(crate) fn with_problems(self, count: usize) -> Self {
        Self { problems: Some(count), ..self }
    }
}

impl IntoResponse for JsonAnswer {
    fn into_response(self) -> Response {
        let mut response = self.json.into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(count) = self.problems {
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

/// Reads the body and computes the answer on a worker thread. The computation ends early when the time of the request is over
/// or its client is gone. The memory of its response is free when the client has read the response.
pub(crate) async fn compute(
    app: &Arc<RestApp>,
    request: Request,
    work: impl FnOnce(&RestApp, PostedBody<'_>) -> Result<JsonAnswer, ApiError> + Send + 'static,
) -> Result<JsonAnswer, ApiError> {
    let exchange = Exchange::of(request.extensions());
    match tokio::time::timeout(app.limits.request, read_and_work(app, request, &exchange, work)).await {
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
    work: impl FnOnce(&RestApp, PostedBody<'_>) -> Result<JsonAnswer, ApiError> + Send + 'static,
) -> Result<JsonAnswer, ApiError> {
    let span = Span::of(request.extensions());
    let format = body::format(request.headers())?;
    let encoding = body::encoding(request.headers())?;
    let limit = app.limits.body_in(format);
    let limits = app.limits.of_body(limit as u64);
    let received = net::receive(request.into_body(), limits, &app.memory, exchange).await;
    let ReceivedBody { bytes, memory: mut claim } = received.map_err(|error| match error {
        BodyError::TooLarge(_) => too_large(&app.limits, format),
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
        let RestLimits { body_objects: max_memory, object_memory, .. } = app.limits;
        let max_charge = object_memory / 2;
        let answer = work(&app, PostedBody { bytes, format, interrupt, max_memory, max_charge, account })?;
        // The body is gone. So an answer that is no longer than what the body has charged is never refused.
        memory.resize(answer.json.len())?;
        let held = Some(HeldByResponse::new(memory.claim.into_holding()));
        Ok(JsonAnswer { held, credit: Some(credit), ..answer })
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
        let decompressed = body::gunzip(&bytes, app.limits.body_in(format), charge)?;
        let decompressed = decompressed.ok_or_else(|| too_large(&app.limits, format))?;
        Ok((decompressed, memory))
    }
}

fn too_large(limits: &RestLimits, format: Format) -> ApiError {
    let limit = limits.body_in(format);
    if format != Format::Yaml {
        return body::too_large(limit);
    }
    let as_json = limits.body_in(Format::Json);
    let detail =
        format!("the body has more than {limit} bytes of YAML after decompression; of JSON, it may have {as_json}");
    ApiError::new(ProblemKind::TooLarge, detail)
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
