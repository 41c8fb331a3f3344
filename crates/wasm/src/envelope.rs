//! A request and an answer as bytes: a line of JSON, and then the body.

use std::borrow::Cow;

use roster_calls::{Answer, Call, CallLimits, CallRequest, Problem, ProblemDocument, ProblemKind, unknown_call};
use roster_engine::model::Interrupt;
use serde::{Deserialize, Serialize};

/// The first line of a request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RequestHead<'r> {
    #[serde(borrow)]
    call: Cow<'r, str>,
    #[serde(borrow, default)]
    query: Cow<'r, str>,
    #[serde(borrow, default)]
    content_type: Option<Cow<'r, str>>,
}

/// The first line of an answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AnswerHead {
    status: u16,
    content_type: &'static str,
    /// The number of findings, where the body cannot list them.
    #[serde(skip_serializing_if = "Option::is_none")]
    problems: Option<usize>,
}

/// The answer to a request. An error is an answer, too.
pub(crate) fn answer(request: &[u8]) -> Vec<u8> {
    match answer_of(request) {
        Ok(Answer { content_type, bytes, problems, .. }) => {
            join(&AnswerHead { status: 200, content_type, problems }, &bytes)
        }
        Err(problem) => {
            let (status, content_type) = (problem.kind.status(), ProblemDocument::CONTENT_TYPE);
            join(&AnswerHead { status, content_type, problems: None }, &problem.document(None).to_json())
        }
    }
}

fn answer_of(request: &[u8]) -> Result<Answer, Problem> {
    let (head, body) = split(request);
    let RequestHead { call, query, content_type } = serde_json::from_slice(head).map_err(|error| {
        let detail = format!("the first line is not {{\"call\": …, \"query\": …, \"contentType\": …}}: {error}");
        Problem::new(ProblemKind::MalformedBody, detail)
    })?;
    let call = Call::named(&call).ok_or_else(|| unknown_call(&call))?;
    let request = CallRequest { query: &query, content_type: content_type.as_deref(), body };
    // Nobody can ask the module to stop: a host ends the instance.
    call.answer(&request, CallLimits::default(), Interrupt::NEVER)
}

/// The first line, and the rest.
fn split(request: &[u8]) -> (&[u8], &[u8]) {
    match request.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&request[..end], &request[end + 1..]),
        None => (request, &[]),
    }
}

fn join(head: &AnswerHead, body: &[u8]) -> Vec<u8> {
    // Plain values always serialize.
    let mut answer = serde_json::to_vec(head).unwrap_or_default();
    answer.reserve_exact(body.len() + 1);
    answer.push(b'\n');
    answer.extend_from_slice(body);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(request: &str) -> String {
        String::from_utf8(answer(request.as_bytes())).unwrap()
    }

    #[test]
    fn a_request_is_a_line_and_a_body() {
        let head = r#"{"call":"compat/differences","query":"from=1.36&to=1.36"}"#;
        let want = "{\"status\":200,\"contentType\":\"application/json\"}\n{\"from\":\"1.36\",\"to\":\"1.36\",\"differences\":[]}";
        assert_eq!(answered(head), want);
        assert_eq!(answered(&format!("{head}\n")), want);

        let plan = "{\"call\":\"endpoints\",\"contentType\":\"application/yaml\"}\nservice: {metadata: {name: web}}\n";
        assert_eq!(answered(plan), "{\"status\":200,\"contentType\":\"application/json\",\"problems\":3}\nnull");
    }

    #[test]
    fn every_error_is_an_answer() {
        for (request, status, detail) in [
            ("", 400, "the first line is not"),
            ("\n", 400, "the first line is not"),
            ("{}", 400, "missing field `call`"),
            (r#"{"call":"plan","kind":"x"}"#, 400, "unknown field `kind`"),
            (r#"{"call":"plans"}"#, 404, "there is no call plans; did you mean plan?"),
            (r#"{"call":"plan"}"#, 415, "the header Content-Type is missing"),
            (r#"{"call":"plan","query":"x=1"}"#, 400, "unknown parameter"),
            ("{\"call\":\"plan\",\"contentType\":\"application/json\"}\n{", 400, "line 1, column"),
            ("{\"call\":\"plan\",\"contentType\":\"application/json\"}\n[]", 400, ""),
        ] {
            let answer = answered(request);
            let (head, body) = answer.split_once('\n').unwrap();
            let head: serde_json::Value = serde_json::from_str(head).unwrap();
            assert_eq!(
                (&head["status"], &head["contentType"]),
                (&status.into(), &"application/problem+json".into()),
                "{request}"
            );
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["status"], status, "{request}");
            assert!(body["detail"].as_str().unwrap().contains(detail), "{request}: {body}");
        }
    }
}
