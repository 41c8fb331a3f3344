//! From a body to a response: the body, a worker thread, the memory of the response.

use std::sync::Arc;

use axum::{
    extract::Request,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::Serialize;

use super::{
    RestApp, RestLimits,
    body::{self, Encoding, Format},
    object_memory::ObjectMemory,
    problem::{ApiError, ProblemKind},
};
use crate::{
    decode::{self, DecodeReason, MemoryAccount, Source},
    runtime::{
        net::{self, BodyError, Exchange, HeldByResponse, Holding, ReceivedBody, SMALL_BODY},
        workers::WorkError,
    },
};

/// A decompressed body.
pub(crate) struct PostedBody {
    pub bytes: Bytes,
    pub format: Format,
    /// The most memory that its objects may take.
    max_memory: usize,
    /// The most memory that its computation may take besides.
    max_charge: usize,
    account: ObjectMemory,
}

impl PostedBody {
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
            ..Source::body()
        }
    }
}

/// A serialized answer.
pub(crate) struct JsonAnswer {
    json: Vec<u8>,
    problems: Option<usize>,
    held: Option<HeldByResponse>,
}

impl JsonAnswer {
    pub(crate) fn json(value: &impl Serialize) -> Result<Self, ApiError> {
        match serde_json::to_vec(value) {
            Ok(json) => Ok(Self { json, problems: None, held: None }),
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
        response
    }
}

/// Reads the body and computes the answer on a worker thread: the time depends on the content of the body, not on its
/// length. The memory of its response is free when the client has read the response.
pub(crate) async fn compute(
    app: &Arc<RestApp>,
    request: Request,
    work: impl FnOnce(&RestApp, PostedBody) -> Result<JsonAnswer, ApiError> + Send + 'static,
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
    work: impl FnOnce(&RestApp, PostedBody) -> Result<JsonAnswer, ApiError> + Send + 'static,
) -> Result<JsonAnswer, ApiError> {
    let format = body::format(request.headers())?;
    let encoding = body::encoding(request.headers())?;
    let limit = app.limits.body;
    let limits = app.limits.of_body(limit as u64);
    let received = net::receive(request.into_body(), limits, &app.memory, exchange).await;
    let ReceivedBody { bytes, memory } = received.map_err(|error| app.body_error(error))?;
    let (worker, account) = (app.clone(), ObjectMemory::new(app, exchange));
    let (length, sender) = (bytes.len(), exchange.clone());
    let done = app.workers.run(exchange.peer, (), length, move || {
        let app = worker;
        let mut memory = BodyMemory { app: &app, exchange: sender, held: memory };
        let mut charge = |bytes| memory.resize(bytes);
        let bytes = match encoding {
            Encoding::Identity => bytes,
            Encoding::Gzip => {
                let compressed = bytes.len();
                body::gunzip(&bytes, limit, |decompressed| charge(compressed + decompressed))?
            }
        };
        app.metrics.body_bytes.inc_by(bytes.len() as u64);
        let posted = bytes.len();
        let RestLimits { body_objects: max_memory, object_memory, .. } = app.limits;
        let max_charge = object_memory / 2;
        let answer = work(&app, PostedBody { bytes, format, max_memory, max_charge, account })?;
        // Both were there while the answer was written.
        charge(posted + answer.json.len())?;
        charge(answer.json.len())?;
        Ok(JsonAnswer { held: Some(HeldByResponse::new(memory.held)), ..answer })
    });
    done.await.map_err(|error| match error {
        WorkError::Busy => app.busy("too many requests wait"),
        WorkError::Panicked => {
            tracing::error!("a computation panicked");
            ApiError::new(ProblemKind::Internal, "this is a bug: report it with the value of `instance`")
        }
    })?
}

/// The memory of a body, and then of the response to it.
struct BodyMemory<'a> {
    app: &'a RestApp,
    exchange: Exchange,
    /// `None` while all of it is small: the place of the connection or of the HTTP/2 request covers it.
    held: Option<Holding>,
}

impl BodyMemory<'_> {
    fn resize(&mut self, bytes: usize) -> Result<(), ApiError> {
        let has_enough = match &self.held {
            Some(held) => held.resize(bytes as u64),
            None if bytes <= SMALL_BODY => true,
            None => {
                self.held = self.app.memory.take(self.exchange.peer, bytes as u64, &self.exchange.activity);
                self.held.is_some()
            }
        };
        if has_enough { Ok(()) } else { Err(self.app.body_error(BodyError::NoMemory)) }
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

    /// The error of a request that is refused because of others.
    pub(super) fn busy(&self, detail: impl Into<String>) -> ApiError {
        self.metrics.shed.inc();
        ApiError::new(ProblemKind::Busy, detail)
    }
}
