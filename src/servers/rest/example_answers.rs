//! Answers in the `OpenAPI` document: what the calls answer to the examples of their requests.

use roster_calls::{Call, CallLimits, CallRequest};
use roster_engine::model::Interrupt;
use serde_json::Value;
use utoipa::openapi::{
    Content, OpenApi, RefOr,
    path::{Operation, Parameter},
};

/// The media type of requests and answers that have examples.
const JSON: &str = "application/json";

/// Adds the answer to each call whose request has an example, with the examples of the parameters that it needs.
pub(super) fn add(document: &mut OpenApi) {
    for call in Call::ALL {
        let operation = document.paths.paths.get_mut(call.path()).and_then(|item| item.post.as_mut());
        let Some(operation) = operation else { continue };
        let query = query_of(operation);
        let Some(answer) = request_of(operation).and_then(|request| answer(*call, &query, request)) else { continue };
        if let Some(RefOr::T(content)) = answer_content(operation) {
            content.example = Some(answer);
        }
    }
}

/// The example of the request, or the first of several.
fn request_of(operation: &Operation) -> Option<&Value> {
    let Some(RefOr::T(body)) = &operation.request_body else { return None };
    let Some(RefOr::T(Content { example, examples, .. })) = body.content.get(JSON) else { return None };
    let first = || match examples.values().next()? {
        RefOr::T(example) => example.value.as_ref(),
        RefOr::Ref(_) => None,
    };
    example.as_ref().or_else(first)
}

/// The examples of the parameters that a call needs.
fn query_of(operation: &Operation) -> String {
    let parameters = operation.parameters.iter().flatten();
    // Only its JSON gives the example of a parameter.
    let pair = |parameter: &RefOr<Parameter>| {
        let parameter = serde_json::to_value(parameter).ok().filter(|parameter| parameter["required"] == true)?;
        Some(format!("{}={}", parameter["name"].as_str()?, parameter["example"].as_str()?))
    };
    parameters.filter_map(pair).collect::<Vec<_>>().join("&")
}

fn answer_content(operation: &mut Operation) -> Option<&mut RefOr<Content>> {
    let Some(RefOr::T(response)) = operation.responses.responses.get_mut("200") else { return None };
    response.content.get_mut(JSON)
}

fn answer(call: Call, query: &str, example: &Value) -> Option<Value> {
    let body = serde_json::to_vec(example).ok()?;
    let request = CallRequest { query, content_type: Some(JSON), body: &body };
    let answer = call.answer(&request, CallLimits::default(), Interrupt::NEVER).ok()?;
    serde_json::from_slice(&answer.bytes).ok()
}
