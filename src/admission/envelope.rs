//! The envelope of a review: `AdmissionReview` v1 and v1beta1.
//!
//! Read leniently. An API server takes an answer without its uid for no answer at all, so the uid is found
//! whatever else is broken, even in a body that ends early.

use std::{borrow::Cow, cell::RefCell, fmt};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{
    Deserialize, Serialize,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{Decision, Operation, Request};

/// The version of a review; the answer has the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `admission.k8s.io/v1`.
    #[default]
    V1,
    /// `admission.k8s.io/v1beta1`, which old configurations still ask for.
    V1beta1,
}

impl ReviewVersion {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1beta1 => "admission.k8s.io/v1beta1",
        }
    }
}

/// Why a review cannot be read. With an uid it can still be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the review cannot be read: {message}")]
pub struct EnvelopeError {
    /// The uid, if it could be found.
    pub uid: Option<String>,
    /// The version, as far as it could be found.
    pub version: ReviewVersion,
    /// What is wrong.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(borrow, default)]
    api_version: Words<'a>,
    #[serde(borrow, default)]
    kind: Words<'a>,
    #[serde(borrow)]
    request: Option<Wire<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(borrow, default)]
    uid: Words<'a>,
    #[serde(borrow, default)]
    kind: Option<Gvk<'a>>,
    #[serde(borrow, default)]
    sub_resource: Words<'a>,
    #[serde(borrow, default)]
    name: Words<'a>,
    #[serde(borrow, default)]
    namespace: Words<'a>,
    #[serde(borrow, default)]
    operation: Words<'a>,
    #[serde(borrow, default)]
    user_info: Option<User<'a>>,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    old_object: Option<&'a RawValue>,
    #[serde(default)]
    dry_run: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Gvk<'a> {
    #[serde(borrow)]
    group: Words<'a>,
    #[serde(borrow)]
    version: Words<'a>,
    #[serde(borrow)]
    kind: Words<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User<'a> {
    #[serde(borrow)]
    username: Words<'a>,
    #[serde(borrow)]
    groups: Option<Vec<Words<'a>>>,
}

/// Text that stays in the body, unless something in it is escaped; `null` is the empty text.
#[derive(Debug, Default)]
struct Words<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Words<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Words<'de>, E> {
                Ok(Words(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Words<'de>, E> {
                Ok(Words(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Words<'de>, E> {
                Ok(Words::default())
            }
        }
        d.deserialize_any(Visit)
    }
}

/// Reads a review.
pub fn read(body: &[u8]) -> Result<(ReviewVersion, Request<'_>), EnvelopeError> {
    let review: Review<'_> = serde_json::from_slice(body).map_err(|e| broken(body, &e.to_string()))?;
    let version = match review.api_version.0.as_ref() {
        "admission.k8s.io/v1" => ReviewVersion::V1,
        "admission.k8s.io/v1beta1" => ReviewVersion::V1beta1,
        other => return Err(broken(body, &format!("apiVersion {other:?} is neither admission.k8s.io/v1 nor v1beta1"))),
    };
    if review.kind.0 != "AdmissionReview" {
        return Err(broken(body, &format!("kind {:?} is not AdmissionReview", review.kind.0)));
    }
    let Some(wire) = review.request else { return Err(broken(body, "there is no request in it")) };
    if wire.uid.0.is_empty() {
        return Err(broken(body, "request.uid is empty"));
    }
    let (kind, user) = (wire.kind.unwrap_or_default(), wire.user_info.unwrap_or_default());
    let request = Request {
        uid: wire.uid.0,
        group: kind.group.0,
        version: kind.version.0,
        kind: kind.kind.0,
        sub_resource: wire.sub_resource.0,
        namespace: wire.namespace.0,
        name: wire.name.0,
        operation: Operation::read(&wire.operation.0),
        user: user.username.0,
        groups: user.groups.into_iter().flatten().map(|g| g.0).collect(),
        // `null` is no object: an Option of a RawValue has none for it.
        object: wire.object,
        old_object: wire.old_object,
        dry_run: wire.dry_run.unwrap_or(false),
    };
    Ok((version, request))
}

fn broken(body: &[u8], message: &str) -> EnvelopeError {
    let Salvaged { uid, api_version } = salvage(body);
    let version =
        if api_version == ReviewVersion::V1beta1.as_str() { ReviewVersion::V1beta1 } else { ReviewVersion::V1 };
    EnvelopeError { uid, version, message: message.chars().take(300).collect() }
}

/// What could be found of a review that cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Salvaged {
    /// The uid; `None` if it is missing or empty.
    pub(crate) uid: Option<String>,
    /// `apiVersion`; empty if it is missing.
    pub(crate) api_version: String,
}

/// Looks for uid and version of any kind of review, in a body that may be broken anywhere.
pub(crate) fn salvage(body: &[u8]) -> Salvaged {
    let seen = RefCell::new(Salvaged::default());
    // What it returns does not matter: everything found until then counts.
    let _ = Fish { seen: &seen, depth: Depth::Review }.deserialize(&mut serde_json::Deserializer::from_slice(body));
    let seen = seen.into_inner();
    Salvaged { uid: seen.uid.filter(|u| !u.is_empty()), ..seen }
}

#[derive(Clone, Copy, PartialEq)]
enum Depth {
    Review,
    Request,
}

/// Reads nothing but the version and the uid, and keeps them where an error does not lose them.
#[derive(Clone, Copy)]
struct Fish<'a> {
    seen: &'a RefCell<Salvaged>,
    depth: Depth,
}

impl<'de> DeserializeSeed<'de> for Fish<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fish<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match (self.depth, key.as_ref()) {
                (Depth::Review, "apiVersion") => {
                    let version: serde_json::Value = map.next_value()?;
                    version.as_str().unwrap_or_default().clone_into(&mut self.seen.borrow_mut().api_version);
                }
                (Depth::Review, "request") => map.next_value_seed(Fish { depth: Depth::Request, ..self })?,
                (Depth::Request, "uid") => {
                    let uid: serde_json::Value = map.next_value()?;
                    self.seen.borrow_mut().uid = uid.as_str().map(str::to_owned);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    /// An empty one is an error to the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    audit_annotations: &'a std::collections::BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Status<'a> {
    #[serde(rename = "status")]
    outcome: &'static str,
    code: u16,
    reason: &'a str,
    message: &'a str,
}

/// The answer to a review, in its version.
pub fn answer(version: ReviewVersion, uid: &str, decision: &Decision) -> Vec<u8> {
    let patch =
        if decision.patch.is_empty() || !decision.allowed() { None } else { serde_json::to_vec(&decision.patch).ok() };
    let answer = Answer {
        api_version: version.as_str(),
        kind: "AdmissionReview",
        response: Response {
            uid,
            allowed: decision.allowed(),
            status: decision.denied.as_ref().map(|d| Status {
                outcome: "Failure",
                code: d.code,
                reason: d.reason,
                message: &d.message,
            }),
            patch_type: patch.is_some().then_some("JSONPatch"),
            patch: patch.map(|p| BASE64_STANDARD.encode(p)),
            warnings: &decision.warnings,
            audit_annotations: &decision.audit,
        },
    };
    // Text and numbers only: this does not fail.
    serde_json::to_vec(&answer).unwrap_or_default()
}
