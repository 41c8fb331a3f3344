//! A message of JSON-RPC 2.0, as far as a server reads it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, value::RawValue};

/// A message, or why it is none.
#[derive(Debug)]
pub(super) enum Message<'m> {
    /// A request, which gets one answer.
    Request(Request<'m>),
    /// A notification or an answer. Neither of them gets an answer.
    Unanswered,
    /// Something else: the answer is an error.
    Malformed(RpcAnswer),
}

/// A request.
#[derive(Debug)]
pub(super) struct Request<'m> {
    /// A string or a number, as it is written.
    pub(super) id: &'m RawValue,
    pub(super) method: String,
    pub(super) params: Option<&'m RawValue>,
}

/// The answer to a request.
#[derive(Debug, Serialize)]
pub(super) struct RpcAnswer {
    jsonrpc: &'static str,
    /// Null if the message does not say which request it is.
    id: Option<Box<RawValue>>,
    #[serde(flatten)]
    outcome: RpcOutcome,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum RpcOutcome {
    Result(Value),
    Error(RpcError),
}

/// An error of the protocol, not of a tool.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct RpcError {
    code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl RpcError {
    /// The text is not JSON.
    pub(super) fn parse(why: impl Into<String>) -> Self {
        Self::new(-32700, why)
    }

    /// The message is not a request.
    pub(super) fn request(why: impl Into<String>) -> Self {
        Self::new(-32600, why)
    }

    /// There is no such method.
    pub(super) fn method(why: impl Into<String>) -> Self {
        Self::new(-32601, why)
    }

    /// The parameters of the method are wrong.
    pub(super) fn params(why: impl Into<String>) -> Self {
        Self::new(-32602, why)
    }

    /// The server does not speak this version of the protocol.
    pub(super) fn version(data: Value) -> Self {
        Self { data: Some(data), ..Self::new(-32022, "Unsupported protocol version") }
    }

    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

impl RpcAnswer {
    /// The answer to the request with this id.
    pub(super) fn to(id: &RawValue, outcome: Result<Value, RpcError>) -> Self {
        let outcome = outcome.map_or_else(RpcOutcome::Error, RpcOutcome::Result);
        Self { jsonrpc: "2.0", id: Some(id.to_owned()), outcome }
    }

    /// The answer to something without an id.
    pub(super) fn error(error: RpcError) -> Self {
        Self { jsonrpc: "2.0", id: None, outcome: RpcOutcome::Error(error) }
    }
}

/// The members of a message. One that is null is there.
#[derive(Deserialize)]
struct Members<'m> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'m RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'m RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The longest id: it is repeated in the answer.
const LONGEST_ID: usize = 1024;

impl<'m> Message<'m> {
    /// A message from its JSON.
    pub(super) fn read(text: &'m RawValue) -> Self {
        let members: Members<'_> = match serde_json::from_str(text.get()) {
            Ok(members) => members,
            Err(_) if !text.get().starts_with('{') => {
                return Self::Malformed(RpcAnswer::error(RpcError::request("a message is a JSON object")));
            }
            Err(error) => return Self::Malformed(RpcAnswer::error(RpcError::request(error.to_string()))),
        };
        let id = match members.id.map(check_id).transpose() {
            Ok(id) => id,
            Err(why) => return Self::Malformed(RpcAnswer::error(RpcError::request(why))),
        };
        let Some(method) = members.method else {
            if members.result.is_some() || members.error.is_some() {
                return Self::Unanswered;
            }
            return refused(id, "method is missing");
        };
        if members.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
            return refused(id, "jsonrpc must be \"2.0\"");
        }
        let Ok(method) = serde_json::from_str(method.get()) else {
            return refused(id, "method must be a string");
        };
        match id {
            Some(id) => Self::Request(Request { id, method, params: members.params }),
            None => Self::Unanswered,
        }
    }
}

fn refused(id: Option<&RawValue>, why: &str) -> Message<'static> {
    let error = RpcError::request(why);
    Message::Malformed(match id {
        Some(id) => RpcAnswer::to(id, Err(error)),
        None => RpcAnswer::error(error),
    })
}

/// The id, if it is one. The protocol allows no null, unlike JSON-RPC.
fn check_id(id: &RawValue) -> Result<&RawValue, &'static str> {
    let is_one = matches!(id.get().as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9'));
    match () {
        () if !is_one => Err("id must be a string or a number"),
        () if id.get().len() > LONGEST_ID => Err("id is longer than 1024 bytes"),
        () => Ok(id),
    }
}

impl Request<'_> {
    /// The parameters as an object of this type; those of a request without any are empty.
    pub(super) fn params<'p, T: Deserialize<'p>>(&'p self) -> Result<T, RpcError> {
        let text = self.params.map(RawValue::get).filter(|text| *text != "null").unwrap_or("{}");
        if !text.starts_with('{') {
            return Err(RpcError::params("params must be an object"));
        }
        serde_json::from_str(text).map_err(|error| RpcError::params(format!("params: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_request_or_has_a_reason() {
        for (text, want) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request ping of 1"),
            (r#"{"jsonrpc":"2.0","id":"é","method":"ping","params":null}"#, "request ping of \"é\""),
            (r#"{"jsonrpc":"2.0","id":-1.5e3,"method":"ping"}"#, "request ping of -1.5e3"),
            (r#"{"jsonrpc":"2.0","method":"x"}"#, "unanswered"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "unanswered"),
            (r#"{"jsonrpc":"2.0","id":1,"error":{}}"#, "unanswered"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "null: id must be a string or a number"),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "null: id must be a string or a number"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "null: id must be a string or a number"),
            (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, "null: id must be a string or a number"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "1: jsonrpc must be \"2.0\""),
            (r#"{"id":1,"method":"ping"}"#, "1: jsonrpc must be \"2.0\""),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "1: method must be a string"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "1: method is missing"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "null: duplicate field `id` at line 1 column 28"),
            ("7", "null: a message is a JSON object"),
            ("\"ping\"", "null: a message is a JSON object"),
        ] {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            let got = match Message::read(raw) {
                Message::Request(request) => format!("request {} of {}", request.method, request.id),
                Message::Unanswered => "unanswered".to_owned(),
                Message::Malformed(answer) => {
                    let answer = serde_json::to_value(&answer).unwrap();
                    assert_eq!((&answer["jsonrpc"], &answer["error"]["code"]), (&"2.0".into(), &(-32600).into()));
                    format!("{}: {}", answer["id"], answer["error"]["message"].as_str().unwrap())
                }
            };
            assert_eq!(got, want, "{text}");
        }
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(LONGEST_ID));
        assert!(matches!(Message::read(serde_json::from_str(&long).unwrap()), Message::Malformed(_)));
    }
}
