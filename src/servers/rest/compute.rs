//! From a body to an answer: shed, read, compute in the right place, serialise.

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
    App,
    body::{self, Encoding, Format, SMALL},
    problem::{ApiError, Kind},
};

/// A body as it was posted, decompressed.
pub(crate) struct Posted {
    pub bytes: Bytes,
    pub format: Format,
}

/// A serialised answer.
pub(crate) struct Answer {
    json: Vec<u8>,
    problems: Option<usize>,
}

impl Answer {
    pub(crate) fn json(value: &impl Serialize) -> Result<Self, ApiError> {
        match serde_json::to_vec(value) {
            Ok(json) => Ok(Self { json, problems: None }),
            Err(e) => Err(ApiError::new(Kind::Internal, e.to_string())),
        }
    }

    /// Adds the header `roster-problems`, for answers that have no room for problems.
    pub(crate) fn with_problems(self, count: usize) -> Self {
        Self { problems: Some(count), ..self }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = self.json.into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(count) = self.problems {
            response.headers_mut().insert("roster-problems", count.into());
        }
        response
    }
}

/// Reads the body and computes the answer, on a thread that may block: how long it takes depends on what
/// the body says, not on how long it is. A large body waits for a permit when it is all there, not before: its
/// client may be slow.
pub(crate) async fn compute(
    app: &Arc<App>,
    request: Request,
    work: impl FnOnce(&App, Posted) -> Result<Answer, ApiError> + Send + 'static,
) -> Result<Answer, ApiError> {
    let Ok(slot) = app.requests.clone().try_acquire_owned() else {
        app.metrics.shed.inc();
        return Err(ApiError::new(Kind::Busy, format!("{} requests are being answered", app.limits.requests)));
    };
    match tokio::time::timeout(app.limits.request, read_and_work(app, request, slot, work)).await {
        Ok(answer) => answer,
        Err(_) => Err(ApiError::new(Kind::Timeout, format!("not done after {} s", app.limits.request.as_secs_f32()))),
    }
}

async fn read_and_work(
    app: &Arc<App>,
    request: Request,
    slot: OwnedSemaphorePermit,
    work: impl FnOnce(&App, Posted) -> Result<Answer, ApiError> + Send + 'static,
) -> Result<Answer, ApiError> {
    let format = body::format(request.headers())?;
    let encoding = body::encoding(request.headers())?;
    let limit = app.limits.body;
    let body::Received { bytes, room } = body::receive(app, request.into_body()).await?;
    let large = if bytes.len() <= SMALL && encoding == Encoding::Identity {
        None
    } else {
        let permit = app.large.clone().acquire_owned().await;
        Some(permit.map_err(|_| ApiError::new(Kind::NotReady, "stopping"))?)
    };
    let app = app.clone();
    let done = tokio::task::spawn_blocking(move || {
        // Held until the work ends, which a time-out does not stop.
        let _held = (slot, large, room);
        let bytes = match encoding {
            Encoding::Identity => bytes.freeze(),
            Encoding::Gzip => body::gunzip(&bytes, limit)?,
        };
        app.metrics.body_bytes.inc_by(bytes.len() as u64);
        work(&app, Posted { bytes, format })
    });
    done.await.map_err(|e| {
        tracing::error!(error = %e, "a computation panicked");
        ApiError::new(Kind::Internal, "this is a bug: please report it with the instance")
    })?
}
