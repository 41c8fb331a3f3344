//! From a body to an answer: limit, read, compute on a blocking thread, serialize.

use std::sync::Arc;

use axum::{
    extract::Request,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;

use super::{
    RestApp,
    body::{self, Encoding, Format},
    limits::SMALL,
    problem::{ApiError, ProblemKind},
};

/// A decompressed body.
pub(crate) struct PostedBody {
    pub bytes: Bytes,
    pub format: Format,
}

/// A serialized answer.
pub(crate) struct JsonAnswer {
    json: Vec<u8>,
    problems: Option<usize>,
}

impl JsonAnswer {
    pub(crate) fn json(value: &impl Serialize) -> Result<Self, ApiError> {
        match serde_json::to_vec(value) {
            Ok(json) => Ok(Self { json, problems: None }),
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
        response
    }
}

/// Reads the body and computes the answer on a blocking thread: the time depends on the content of the body, not on its
/// length. A large body waits for a permit after it has arrived, not before: its client may be slow.
pub(crate) async fn compute(
    app: &Arc<RestApp>,
    request: Request,
    work: impl FnOnce(&RestApp, PostedBody) -> Result<JsonAnswer, ApiError> + Send + 'static,
) -> Result<JsonAnswer, ApiError> {
    let Ok(slot) = app.requests.clone().try_acquire_owned() else {
        app.metrics.shed.inc();
        return Err(ApiError::new(ProblemKind::Busy, format!("{} requests are being answered", app.limits.requests)));
    };
    match tokio::time::timeout(app.limits.request, read_and_work(app, request, slot, work)).await {
        Ok(answer) => answer,
        Err(_) => {
            Err(ApiError::new(ProblemKind::Timeout, format!("not done after {} s", app.limits.request.as_secs_f32())))
        }
    }
}

async fn read_and_work(
    app: &Arc<RestApp>,
    request: Request,
    slot: OwnedSemaphorePermit,
    work: impl FnOnce(&RestApp, PostedBody) -> Result<JsonAnswer, ApiError> + Send + 'static,
) -> Result<JsonAnswer, ApiError> {
    let format = body::format(request.headers())?;
    let encoding = body::encoding(request.headers())?;
    let limit = app.limits.body;
    let body::BufferedBody { bytes, memory } = body::receive(app, request.into_body()).await?;
    let large = if bytes.len() <= SMALL && encoding == Encoding::Identity {
        None
    } else {
        let permit = app.large.clone().acquire_owned().await;
        Some(permit.map_err(|_| ApiError::new(ProblemKind::NotReady, "stopping"))?)
    };
    let app = app.clone();
    let done = tokio::task::spawn_blocking(move || {
        // Held until the work ends: a time-out does not stop it.
        let _held = (slot, large, memory);
        let bytes = match encoding {
            Encoding::Identity => bytes.freeze(),
            Encoding::Gzip => body::gunzip(&bytes, limit)?,
        };
        app.metrics.body_bytes.inc_by(bytes.len() as u64);
        work(&app, PostedBody { bytes, format })
    });
    done.await.map_err(|e| {
        tracing::error!(error = %e, "a computation panicked");
        ApiError::new(ProblemKind::Internal, "this is a bug: report it with the value of `instance`")
    })?
}
