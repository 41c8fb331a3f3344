//! The second look at a body that could not be read in one go: which field is to blame?
//!
//! A broken Service, setting or stored Endpoints object refuses the request. A broken pod, node or slice
//! is one of many: it becomes a problem in the answer, and the others count.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use serde_path_to_error::{Path, Segment};

use super::{
    input::{Body, FIELDS},
    problem::{ApiError, FieldError, Kind},
};
use crate::{
    decode::strict::Strict,
    inventory::Problems,
    model::{Node, Nodes, ObjectKey, Text},
    reason::{Problem, Reason},
};

/// Most fields that one refusal names.
const MAX_ERRORS: usize = 20;

/// Reads `text`, which is JSON, field by field.
pub(super) fn read(text: &str) -> Result<Body, ApiError> {
    let mut body = Body::default();
    let mut errors = Vec::new();
    for (name, value) in fields(text)? {
        let request = &mut body.request;
        let problems = &mut body.problems;
        match name.as_str() {
            "service" => request.service = one(value, "/service", "Service", problems, &mut errors),
            "endpoints" => request.endpoints = one(value, "/endpoints", "Endpoints", problems, &mut errors),
            "controllers" => request.controllers = one(value, "/controllers", "Request", problems, &mut errors),
            "options" => request.options = one(value, "/options", "Request", problems, &mut errors).unwrap_or_default(),
            "pods" => request.pods = many(value, "/pods", "Pod", problems, &mut errors),
            "endpointSlices" => {
                request.endpoint_slices = many(value, "/endpointSlices", "EndpointSlice", problems, &mut errors);
            }
            "nodes" => {
                let nodes: Vec<Node> = many(value, "/nodes", "Node", problems, &mut errors);
                request.nodes = Nodes::new(nodes);
            }
            _ => body.note_other(&name),
        }
    }
    if errors.is_empty() {
        return Ok(body);
    }
    let more = errors.len().saturating_sub(MAX_ERRORS);
    errors.truncate(MAX_ERRORS);
    let first = errors.first().map(|e| format!("{}: {}", e.pointer.as_deref().unwrap_or_default(), e.detail));
    let rest = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    Err(ApiError { errors, ..ApiError::new(Kind::InvalidObject, first.unwrap_or_default() + &rest) })
}

/// The fields of the body; of several with one name the last one counts.
fn fields(text: &str) -> Result<Vec<(String, &RawValue)>, ApiError> {
    struct Fields<'a>(Vec<(String, &'a RawValue)>);
    impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
        fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Vec<(String, &'de RawValue)>;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    write!(f, "an object with {}", FIELDS.join(", "))
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                    let mut all: Vec<(String, &RawValue)> = Vec::new();
                    while let Some(key) = map.next_key::<String>()? {
                        let value = map.next_value()?;
                        // A million unknown fields must cost no search.
                        if all.len() >= 100 && !FIELDS.contains(&key.as_str()) {
                            continue;
                        }
                        match all.iter_mut().find(|(k, _)| *k == key) {
                            Some(slot) => slot.1 = value,
                            None => all.push((key, value)),
                        }
                    }
                    Ok(all)
                }
            }
            d.deserialize_map(Visitor).map(Self)
        }
    }
    let Fields(all) = serde_json::from_str(text).map_err(|e| ApiError::new(Kind::MalformedBody, short(&e)))?;
    Ok(all)
}

/// One value, or `None` and an error.
fn one<T: DeserializeOwned>(
    raw: &RawValue,
    at: &str,
    kind: &str,
    problems: &mut Problems,
    errors: &mut Vec<FieldError>,
) -> Option<T> {
    if raw.get() == "null" {
        return None;
    }
    match element(raw) {
        Ok((value, twice)) => {
            problems.extend(twice.map(|message| duplicate(kind, raw, at, &message)));
            Some(value)
        }
        Err((path, detail)) => {
            errors.push(FieldError::at(format!("{at}{path}"), detail));
            None
        }
    }
}

/// The elements of a list that can be read; the others are problems.
fn many<T: DeserializeOwned>(
    raw: &RawValue,
    at: &str,
    kind: &str,
    problems: &mut Problems,
    errors: &mut Vec<FieldError>,
) -> Vec<T> {
    let list: Option<Vec<&RawValue>> = match serde_json::from_str(raw.get()) {
        Ok(list) => list,
        Err(e) => {
            errors.push(FieldError::at(at.to_owned(), short(&e)));
            return Vec::new();
        }
    };
    let mut good = Vec::new();
    for (i, raw) in list.into_iter().flatten().enumerate() {
        match element(raw) {
            Ok((value, twice)) => {
                problems.extend(twice.map(|message| duplicate(kind, raw, &format!("{at}/{i}"), &message)));
                good.push(value);
            }
            Err((path, detail)) => problems.push(Problem {
                pointer: Some(format!("{at}/{i}{path}")),
                ..Problem::new(Reason::InvalidObject, key(kind, raw), detail)
            }),
        }
    }
    good
}

/// Reads one value twice: as it is, and by way of a tree in which the last of equal keys wins. The error
/// is that of the second reading, with a JSON pointer; where only the first one fails, its message is given.
fn element<T: DeserializeOwned>(raw: &RawValue) -> Result<(T, Option<String>), (String, String)> {
    let twice = match T::deserialize(Strict(&mut serde_json::Deserializer::from_str(raw.get()))) {
        Ok(value) => return Ok((value, None)),
        Err(e) => short(&e),
    };
    let tree: serde_json::Value = serde_json::from_str(raw.get()).map_err(|e| (String::new(), short(&e)))?;
    let value = serde_path_to_error::deserialize(Strict(&tree));
    value.map(|value| (value, Some(twice))).map_err(|e| (pointer(e.path()), short(e.inner())))
}

/// A key that is there twice.
fn duplicate(kind: &str, raw: &RawValue, at: &str, message: &str) -> Problem {
    let message = format!("{message}; the last one counts");
    Problem { pointer: Some(at.to_owned()), ..Problem::new(Reason::DuplicateKey, key(kind, raw), message) }
}

/// The name of an object that cannot be read.
fn key(kind: &str, raw: &RawValue) -> ObjectKey {
    let tree: serde_json::Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let text = |name| {
        let text = tree.pointer(name).and_then(serde_json::Value::as_str).unwrap_or_default();
        text.chars().take(300).collect::<String>().into()
    };
    let namespace: Text = text("/metadata/namespace");
    ObjectKey::new(kind, &namespace, &text("/metadata/name"))
}

/// A JSON pointer (RFC 6901).
fn pointer(path: &Path) -> String {
    let mut out = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => out.extend(["/", &index.to_string()]),
            Segment::Map { key } => {
                let key: String = key.chars().take(100).collect();
                out.extend(["/", &key.replace('~', "~0").replace('/', "~1")]);
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    out
}

/// A message of bearable length: serde repeats the value it refuses.
pub(super) fn short(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    if text.len() <= 300 {
        return text;
    }
    text.chars().take(300).chain(['…']).collect()
}
