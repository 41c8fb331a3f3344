//! Answers in the `OpenAPI` document: what the calls answer to the examples of their requests.

use roster_calls::{Call, CallLimits, CallRequest};
use roster_engine::model::Interrupt;
use serde_json::Value;
use utoipa::openapi::{Content, OpenApi, RefOr, path::Operation};

/// The media type of requests and answers that have examples.
const JSON: &str = "application/json";

/// Adds the answer to each call whose request has an example, and needs no parameter.
pub(super) fn add(document: &mut OpenApi) {
    for call in Call::ALL {
        let operation = document.paths.paths.get_mut(call.path()).and_then(|item| item.post.as_mut());
        let Some(operation) = operation else { continue };
        let Some(answer) = request_of(operation).and_then(|request| answer(*call, request)) else { continue };
        if let Some(RefOr::T(content)) = answer_content(operation) {
            content.example = Some(answer);
        }
    }
}

/// The example of the request.
fn request_of(operation: &Operation) -> Option<&Value> {
    let Some(RefOr::T(body)) = &operation.request_body else { return None };
    let Some(RefOr::T(Content { example, .. })) = body.content.get(JSON) else { return None };
    example.as_ref()
}

fn answer_content(operation: &mut Operation) -> Option<&mut RefOr<Content>> {
    let Some(RefOr::T(response)) = operation.responses.responses.get_mut("200") else { return None };
    response.content.get_mut(JSON)
}

fn answer(call: Call, example: &Value) -> Option<Value> {
    let body = serde_json::to_vec(example).ok()?;
    let request = CallRequest { query: "", content_type: Some(JSON), body: &body };
    let answer = call.answer(&request, CallLimits::default(), Interrupt::NEVER).ok()?;
    serde_json::from_slice(&answer.bytes).ok()
}
