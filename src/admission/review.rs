//! A review without an API server: what it would do with an object, step by step.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    Decision, Kind, Knowledge, Operation, PatchError, Request, Settings, Stage, decide,
    patch::{self, PatchOp},
};
use crate::model::{Text, wire::nullable};

/// In which namespace an object is that does not say.
const DEFAULT_NAMESPACE: &str = "default";

/// Who writes, and where.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// Who writes; empty: nobody in particular.
    pub user: &'a str,
    /// Namespace of an object that does not say; empty: `default`.
    pub namespace: &'a str,
}

/// What comes of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// Whether there are rules for this kind of object at all.
    pub reviewed: bool,
    /// The decision of both webhooks: the patch of the first, the answer of the second, what both say.
    pub decision: Decision,
    /// The object as it would be stored, if it was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
}

/// Why an object cannot be reviewed.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The text is no JSON object with a kind.
    #[error("the {0} cannot be read: {1}")]
    Unreadable(&'static str, serde_json::Error),
    /// A patch does not fit, which would be a fault of a rule.
    #[error(transparent)]
    Patch(#[from] PatchError),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object<'a> {
    #[serde(default, deserialize_with = "nullable")]
    api_version: Text,
    #[serde(default, deserialize_with = "nullable")]
    kind: Text,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    namespace: Text,
}

/// What an API server does with an object, which is new unless `old` is what is stored.
pub fn review(
    object: &str,
    old: Option<&str>,
    context: Context<'_>,
    settings: &Settings,
    cluster: &dyn Knowledge,
) -> Result<Review, ReviewError> {
    judge(&request(object, old, context)?, settings, cluster)
}

/// What an API server would ask about an object, which is new unless `old` is what is stored.
pub fn request<'a>(object: &'a str, old: Option<&'a str>, context: Context<'a>) -> Result<Request<'a>, ReviewError> {
    let (raw, head, metadata) = open("object", object)?;
    let old = old.map(|old| open("old object", old)).transpose()?.map(|(raw, ..)| raw);
    let (group, version) = head.api_version.split_once('/').unwrap_or(("", &head.api_version));
    let namespaces = [metadata.namespace.as_str(), context.namespace, DEFAULT_NAMESPACE];
    Ok(Request {
        group: Cow::Owned(group.to_owned()),
        version: Cow::Owned(version.to_owned()),
        kind: Cow::Owned(head.kind.to_string()),
        namespace: Cow::Owned(namespaces.into_iter().find(|n| !n.is_empty()).unwrap_or_default().to_owned()),
        name: Cow::Owned(metadata.name.to_string()),
        operation: Some(if old.is_some() { Operation::Update } else { Operation::Create }),
        user: Cow::Borrowed(context.user),
        object: Some(raw),
        old_object: old,
        ..Request::default()
    })
}

/// Mutates, applies the patch, validates: what an API server does with a request.
pub fn judge(request: &Request<'_>, settings: &Settings, cluster: &dyn Knowledge) -> Result<Review, ReviewError> {
    let Some(raw) = request.object.filter(|_| Kind::of(request).is_some()) else { return Ok(Review::default()) };
    let mutated = decide(request, Stage::Mutate, settings, cluster);
    let stored = patched(raw.get(), &mutated.patch)?;
    let text = stored.as_ref().map(Value::to_string);
    let raw = text.as_deref().map_or(Ok(raw), |text| read("object", text))?;
    let validated = decide(&Request { object: Some(raw), ..request.clone() }, Stage::Validate, settings, cluster);
    Ok(Review { reviewed: true, decision: mutated.and(validated), object: stored })
}

fn read<'a, T: Deserialize<'a>>(what: &'static str, text: &'a str) -> Result<T, ReviewError> {
    serde_json::from_str(text).map_err(|error| ReviewError::Unreadable(what, error))
}

/// What is looked at of an object before it is known what it is.
fn open<'a>(what: &'static str, text: &'a str) -> Result<(&'a RawValue, Object<'a>, Metadata), ReviewError> {
    let wrong = |why: &str| ReviewError::Unreadable(what, serde::de::Error::custom(why));
    let raw: &RawValue = read(what, text)?;
    // A list would be read too, as the fields in their order.
    let is_object = |raw: &RawValue| raw.get().starts_with('{');
    if !is_object(raw) {
        return Err(wrong("it is no JSON object"));
    }
    let head: Object<'_> = read(what, raw.get())?;
    if head.kind.is_empty() {
        return Err(wrong("it names no kind"));
    }
    let metadata = match head.metadata {
        None => Metadata::default(),
        Some(metadata) if is_object(metadata) => read(what, metadata.get())?,
        Some(_) => return Err(wrong("metadata is no JSON object")),
    };
    Ok((raw, head, metadata))
}

/// The object with the patch applied; `None` if there is nothing to apply.
fn patched(object: &str, patch: &[PatchOp]) -> Result<Option<Value>, ReviewError> {
    if patch.is_empty() {
        return Ok(None);
    }
    let mut value: Value = read("object", object)?;
    patch::apply(patch, &mut value)?;
    Ok(Some(value))
}
