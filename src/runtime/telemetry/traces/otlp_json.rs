//! Spans as OTLP in JSON: the body of `POST /v1/traces`.
//!
//! The format is protobuf's JSON of `ExportTraceServiceRequest`, in which ids are hexadecimal, and numbers of 64 bits are texts.

use serde::Serialize;

use super::span::{FinishedSpan, SpanKind, SpanValue};
use crate::runtime::build_info;

/// The program that sends spans.
#[derive(Clone, Debug)]
pub(super) struct TraceResource {
    pub(super) service: &'static str,
    /// Which replica.
    pub(super) instance: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportRequest<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: Resource,
    scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: Scope,
    spans: Vec<SpanJson<'a>>,
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpanJson<'a> {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    /// The flag of a trace that is sampled.
    flags: u32,
    name: &'a str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    status: Status,
}

#[derive(Serialize)]
struct Status {
    #[serde(skip_serializing_if = "is_zero")]
    code: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(code: &u8) -> bool {
    *code == 0
}

#[derive(Serialize)]
struct Attribute {
    key: &'static str,
    value: AnyValue,
}

/// A value, by the names of the format.
#[derive(Serialize)]
enum AnyValue {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue")]
    Number(String),
    #[serde(rename = "boolValue")]
    Flag(bool),
}

impl Attribute {
    fn new(key: &'static str, value: &SpanValue) -> Self {
        let value = match value {
            SpanValue::Text(text) => AnyValue::Text(text.clone()),
            SpanValue::Number(number) => AnyValue::Number(number.to_string()),
            SpanValue::Flag(flag) => AnyValue::Flag(*flag),
        };
        Self { key, value }
    }
}

impl<'a> From<&'a FinishedSpan> for SpanJson<'a> {
    fn from(span: &'a FinishedSpan) -> Self {
        Self {
            trace_id: span.trace.to_string(),
            span_id: span.id.to_string(),
            parent_span_id: span.parent.map(|parent| parent.to_string()),
            flags: 1,
            name: &span.name,
            kind: match span.kind {
                SpanKind::Internal => 1,
                SpanKind::Server => 2,
            },
            start_time_unix_nano: span.began.to_string(),
            end_time_unix_nano: span.ended.to_string(),
            attributes: span.attributes.iter().map(|(key, value)| Attribute::new(key, value)).collect(),
            status: Status { code: if span.has_failed { 2 } else { 0 } },
        }
    }
}

/// The body with these spans.
pub(super) fn body<'a>(
    resource: &TraceResource,
    spans: impl Iterator<Item = &'a FinishedSpan>,
) -> serde_json::Result<Vec<u8>> {
    let version = build_info::VERSION;
    let mut attributes = vec![
        Attribute { key: "service.name", value: AnyValue::Text(resource.service.to_owned()) },
        Attribute { key: "service.version", value: AnyValue::Text(version.to_owned()) },
    ];
    if let Some(instance) = &resource.instance {
        let value = AnyValue::Text(instance.clone());
        attributes.push(Attribute { key: "service.instance.id", value });
    }
    let scope_spans = [ScopeSpans { scope: Scope { name: "roster", version }, spans: spans.map(Into::into).collect() }];
    let resource_spans = [ResourceSpans { resource: Resource { attributes }, scope_spans }];
    serde_json::to_vec(&ExportRequest { resource_spans })
}
