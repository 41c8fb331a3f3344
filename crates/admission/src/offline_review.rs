//! Reviews without an API server: of objects from files or a request, with what is known about their cluster.
//!
//! ```text
//! object ─ as v1 ─► the request of an API server ─ policies ─► both webhooks in turn ─► OfflineReview
//! AdmissionReview ─► its request ───────────────────┘             └► the answer of each webhook
//! ```

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use roster_engine::{
    model::{
        Labels, ObjectKey, Text,
        defaults::DEFAULT_NAMESPACE,
        slice_version::{self, SliceVersion},
        wire::nullable,
    },
    reason::{Finding, Reason},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    Unreadable,
    admission_review::{EnvelopeError, answer_review, read_review},
    decide,
    decision::Decision,
    kinds::AdmissionKind,
    knowledge::Knowledge,
    owner,
    policy::{self, Policies},
    request::{AdmissionRequest, Operation, Stage},
    settings::Settings,
};
use crate::patch::{self, PatchError};

/// Longest text of an object: the limit of the webhook for a review. An API server stores 1.5 MiB, and a review takes
/// many times the text in memory.
pub const MAX_TEXT: usize = 7 << 20;

/// Labels of namespaces, by name.
pub type Namespaces = BTreeMap<String, Labels>;

/// Reviews objects: who writes them, and what is known about the cluster.
#[derive(Clone, Copy)]
pub struct Reviewer<'a> {
    /// The policies.
    pub policies: &'a Policies,
    /// The cluster around the objects.
    pub cluster: &'a dyn Knowledge,
    /// The labels of its namespaces.
    pub namespaces: &'a Namespaces,
    /// The user who writes. Empty for the controller that a recorded object names as its writer, and else an anonymous
    /// one.
    pub user: &'a str,
    /// The groups of the user.
    pub groups: &'a [String],
    /// The namespace of objects that do not name one; empty for `default`.
    pub namespace: &'a str,
}

/// The review of an object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfflineReview {
    /// Whether any rule applies to this kind of object.
    pub reviewed: bool,
    /// Whether the object would be stored.
    pub allowed: bool,
    /// What the writer does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// The decision of both webhooks: the patch of the first, the answer of the second, the warnings of both.
    pub decision: Decision,
    /// Why an API server would not store the object, whatever the webhooks answer: they do not see such an object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_by_api_server: Vec<Finding>,
    /// Why there is no decision: the object cannot be read. It is then refused.
    #[serde(skip)]
    pub why_undecided: Option<String>,
    /// The object as it would be stored, if it was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
    /// The answer of each webhook to a recorded review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<WebhookAnswers>,
}

impl OfflineReview {
    /// The review of an object that cannot be read, and why. What is not decided is not allowed.
    pub fn undecided(why: &str) -> Self {
        Self {
            reviewed: false,
            allowed: false,
            operation: None,
            decision: refused_undecided(why),
            refused_by_api_server: Vec::new(),
            why_undecided: Some(why.to_owned()),
            object: None,
            answers: None,
        }
    }

    /// The same review with what an API server refuses of the object.
    #[must_use]
    pub fn refused_for(self, refused_by_api_server: Vec<Finding>) -> Self {
        Self { allowed: self.allowed && refused_by_api_server.is_empty(), refused_by_api_server, ..self }
    }
}

/// The refusal of an object that cannot be read. An API server refuses such an object, or decides by the failure policy of
/// the webhook.
fn refused_undecided(why: &str) -> Decision {
    Decision::refused_unreviewed(400, "BadRequest", why)
}

/// The answers of both webhooks to a review: an `AdmissionReview` in its version.
#[derive(Clone, Debug, Serialize)]
pub struct WebhookAnswers {
    /// The answer of the mutating webhook.
    pub mutate: Box<RawValue>,
    /// The answer of the validating webhook, to the object in the review.
    pub validate: Box<RawValue>,
}

/// Why an object cannot be reviewed.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The text is not a JSON object with a kind.
    #[error("the {0} cannot be read: {1}")]
    Unreadable(&'static str, serde_json::Error),
    /// A patch does not fit the object: a defect of a rule.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// The recorded review cannot be read.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// A slice of version v1beta1 cannot be converted.
    #[error("{0}")]
    Convert(String),
    /// The object is too large.
    #[error("the object has more than {MAX_TEXT} bytes, which is more than an API server accepts")]
    TooLarge,
}

impl Reviewer<'_> {
    /// Reviews an object: an update of the stored object `old`, or a new object.
    pub fn object(&self, object: &RawValue, old: Option<&RawValue>) -> Result<OfflineReview, ReviewError> {
        if object.get().len().max(old.map_or(0, |o| o.get().len())) > MAX_TEXT {
            return Err(ReviewError::TooLarge);
        }
        let (object, head) = as_v1("object", object)?;
        let old = old.map(|old| as_v1("old object", old)).transpose()?;
        let old = old.as_ref().map(|(old, _)| &**old);
        let writer = Writer { user: self.user, namespace: self.namespace };
        let mut request = head.request(&object, old, writer);
        // An object that is reviewed as it is stored was written by nobody else. No rule asks who wrote others.
        let is_as_stored = || old.is_none_or(|old| old.get() == object.get());
        if self.user.is_empty() && AdmissionKind::of(&request).is_some() && is_as_stored() {
            request.user = Cow::Borrowed(recorded_writer(&object).unwrap_or_default());
        }
        request.groups = self.groups.iter().map(|g| Cow::Borrowed(g.as_str())).collect();
        self.answer(&request)
    }

    /// Reviews the request of a recorded `AdmissionReview`, which names the writer and the stored object.
    pub fn recorded(&self, review: &RawValue) -> Result<(ObjectKey, OfflineReview), ReviewError> {
        if review.get().len() > MAX_TEXT {
            return Err(ReviewError::TooLarge);
        }
        let (version, request) = read_review(review.get().as_bytes())?;
        let settings = self.settings(&request);
        let answer = |stage| {
            let decision = decide(&request, stage, &settings, self.cluster);
            let decision = decision.unwrap_or_else(|unreadable| match stage {
                Stage::Mutate => Decision::unreviewed(&unreadable.to_string()),
                Stage::Validate => refused_undecided(&unreadable.to_string()),
            });
            let text = answer_review(version, &request.uid, &decision);
            // The text was serialized a moment ago: this does not fail.
            serde_json::from_slice(&text).unwrap_or_else(|_| RawValue::NULL.to_owned())
        };
        let answers = WebhookAnswers { mutate: answer(Stage::Mutate), validate: answer(Stage::Validate) };
        let key = ObjectKey::new(&short(&request.kind), &short(&request.namespace), &short(&request.name));
        Ok((key, OfflineReview { answers: Some(answers), ..self.answer(&request)? }))
    }

    fn answer(&self, request: &AdmissionRequest<'_>) -> Result<OfflineReview, ReviewError> {
        let ReviewResult { reviewed, decision, unreadable, object } =
            decide_both(request, &self.settings(request), self.cluster)?;
        Ok(OfflineReview {
            reviewed,
            allowed: decision.allowed(),
            operation: request.operation,
            decision,
            refused_by_api_server: Vec::new(),
            why_undecided: unreadable.map(|unreadable| unreadable.to_string()),
            object,
            answers: None,
        })
    }

    fn settings(&self, request: &AdmissionRequest<'_>) -> Arc<Settings> {
        // Each policy would be asked about an object that no rule reviews.
        if AdmissionKind::of(request).is_none() {
            return Arc::default();
        }
        self.policies.settings_of(request, self.namespaces.get(request.namespace.as_ref()).into())
    }
}

/// Adds the labels of a namespace, if the object is one.
pub fn note_namespace(object: &RawValue, key: &ObjectKey, into: &mut Namespaces) {
    if key.kind == "Namespace" {
        into.insert(key.name.to_string(), policy::labels_of(object));
    }
}

/// The controller that wrote an object, if it was in a cluster: it has a uid, and the label of the controller. What
/// somebody writes by hand has no uid.
fn recorded_writer(object: &RawValue) -> Option<&'static str> {
    #[derive(Deserialize)]
    struct Recorded {
        kind: Text,
        metadata: RecordedMeta,
    }
    #[derive(Deserialize)]
    struct RecordedMeta {
        uid: Text,
        labels: Labels,
    }
    let Recorded { kind, metadata } = serde_json::from_str(object.get()).ok()?;
    if metadata.uid.is_empty() { None } else { owner::writer_of(&kind, &metadata.labels) }
}

/// Whether a finding is about a field that an API server fills in. A manifest rightly leaves it out.
pub fn is_filled_in(problem: &Finding, object: &ObjectKey) -> bool {
    match problem.code {
        Reason::MissingProtocol | Reason::MissingTargetPort => true,
        Reason::InvalidName => problem.object.name.is_empty() && !object.name.is_empty(),
        _ => false,
    }
}

/// An object and its head; a slice as v1. With `matchPolicy: Equivalent`, an API server sends the version that the webhook asks
/// for.
fn as_v1<'a>(what: &'static str, object: &'a RawValue) -> Result<(Cow<'a, RawValue>, ObjectHead), ReviewError> {
    let head = ObjectHead::of(what, object)?;
    if head.kind != "EndpointSlice" || head.api_version != SliceVersion::V1beta1.api_version() {
        return Ok((Cow::Borrowed(object), head));
    }
    let object = slice_version::convert(object, SliceVersion::V1, &mut |_, _| {}).map_err(ReviewError::Convert)?;
    Ok((object, ObjectHead { api_version: SliceVersion::V1.api_version().into(), ..head }))
}

fn short(text: &str) -> Text {
    text.chars().take(253).collect::<String>().into()
}

/// Who writes an object, and where.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writer<'a> {
    /// The user; empty for an anonymous one.
    pub user: &'a str,
    /// The namespace of an object that does not name one; empty for `default`.
    pub namespace: &'a str,
}

/// What an API server does with an object after it has called both webhooks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewResult {
    /// Whether any rule applies to this kind of object.
    pub reviewed: bool,
    /// The decision of both webhooks: the patch of the first, the answer of the second, the warnings of both.
    pub decision: Decision,
    /// Why there is no decision. The object is then refused.
    #[serde(skip)]
    pub unreadable: Option<Unreadable>,
    /// The object as it would be stored, if it was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
}

/// Reviews an object as an API server would: an update of the stored object `old`, or a new object.
pub fn review_object(
    object: &str,
    old: Option<&str>,
    writer: Writer<'_>,
    settings: &Settings,
    cluster: &dyn Knowledge,
) -> Result<ReviewResult, ReviewError> {
    decide_both(&request_for(object, old, writer)?, settings, cluster)
}

/// Whether a stored object can be read.
pub fn check_old_object(old: &RawValue) -> Result<(), ReviewError> {
    ObjectHead::of("old object", old).map(drop)
}

/// The request that an API server would send for an object: an update of the stored object `old`, or a new object.
pub fn request_for<'a>(
    object: &'a str,
    old: Option<&'a str>,
    writer: Writer<'a>,
) -> Result<AdmissionRequest<'a>, ReviewError> {
    let object: &RawValue = read("object", object)?;
    let head = ObjectHead::of("object", object)?;
    let old: Option<&RawValue> = old.map(|old| read("old object", old)).transpose()?;
    old.map(check_old_object).transpose()?;
    Ok(head.request(object, old, writer))
}

/// Mutates, applies the patch and validates, as an API server does with a request.
fn decide_both(
    request: &AdmissionRequest<'_>,
    settings: &Settings,
    cluster: &dyn Knowledge,
) -> Result<ReviewResult, ReviewError> {
    let Some(raw) = request.object.filter(|_| AdmissionKind::of(request).is_some()) else {
        return Ok(ReviewResult::default());
    };
    let undecided = |unreadable: Unreadable, object| ReviewResult {
        reviewed: true,
        decision: refused_undecided(&unreadable.to_string()),
        unreadable: Some(unreadable),
        object,
    };
    let mutated = match decide(request, Stage::Mutate, settings, cluster) {
        Ok(mutated) => mutated,
        Err(unreadable) => return Ok(undecided(unreadable, None)),
    };
    let object = if mutated.patch.is_empty() {
        None
    } else {
        let mut object: Value = read("object", raw.get())?;
        patch::apply(&mutated.patch, &mut object)?;
        Some(object)
    };
    let text = object.as_ref().map(Value::to_string);
    let raw = text.as_deref().map_or(Ok(raw), |text| read("object", text))?;
    let changed = AdmissionRequest { object: Some(raw), ..request.clone() };
    Ok(match decide(&changed, Stage::Validate, settings, cluster) {
        Ok(validated) => ReviewResult { reviewed: true, decision: mutated.and(validated), unreadable: None, object },
        Err(unreadable) => undecided(unreadable, object),
    })
}

fn read<'a, T: Deserialize<'a>>(what: &'static str, text: &'a str) -> Result<T, ReviewError> {
    serde_json::from_str(text).map_err(|error| ReviewError::Unreadable(what, error))
}

/// The type and the name of an object.
struct ObjectHead {
    api_version: Text,
    kind: Text,
    namespace: Text,
    name: Text,
}

impl ObjectHead {
    /// Reads the head of an object.
    fn of(what: &'static str, object: &RawValue) -> Result<Self, ReviewError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Untyped<'a> {
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
        let wrong = |why: &str| ReviewError::Unreadable(what, serde::de::Error::custom(why));
        // The parser would also accept a list, as the fields in order.
        let is_object = |raw: &RawValue| raw.get().starts_with('{');
        if !is_object(object) {
            return Err(wrong("it is not a JSON object"));
        }
        let Untyped { api_version, kind, metadata } = read(what, object.get())?;
        if kind.is_empty() {
            return Err(wrong("the field `kind` is missing"));
        }
        let Metadata { name, namespace } = match metadata {
            None => Metadata::default(),
            Some(metadata) if is_object(metadata) => read(what, metadata.get())?,
            Some(_) => return Err(wrong("metadata is not a JSON object")),
        };
        Ok(Self { api_version, kind, namespace, name })
    }

    /// The request that an API server would send for the object.
    fn request<'a>(self, object: &'a RawValue, old: Option<&'a RawValue>, writer: Writer<'a>) -> AdmissionRequest<'a> {
        let (group, version) = self.api_version.split_once('/').unwrap_or(("", &self.api_version));
        let namespaces = [self.namespace.as_str(), writer.namespace, DEFAULT_NAMESPACE];
        AdmissionRequest {
            group: Cow::Owned(group.to_owned()),
            version: Cow::Owned(version.to_owned()),
            kind: Cow::Owned(self.kind.to_string()),
            namespace: Cow::Owned(namespaces.into_iter().find(|n| !n.is_empty()).unwrap_or_default().to_owned()),
            name: Cow::Owned(self.name.to_string()),
            operation: Some(if old.is_some() { Operation::Update } else { Operation::Create }),
            user: Cow::Borrowed(writer.user),
            object: Some(object),
            old_object: old,
            ..AdmissionRequest::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use roster_engine::model::json::raw::ObjectIdentity;

    use super::*;

    /// Who relies on a sound identity need not read the head of an object that repeats no key.
    #[test]
    fn a_request_can_name_an_object_whose_identity_is_sound() {
        for (text, want) in [
            (r#"{"kind":"Pod"}"#, true),
            (r#"{"apiVersion":null,"kind":"Pod","metadata":null}"#, true),
            (r#"{"kind":"Pod","metadata":{"name":null,"namespace":"n","labels":5}}"#, true),
            (r#"{"apiVersion":1,"kind":"Pod"}"#, false),
            (r#"{"kind":null}"#, false),
            (r#"{"kind":["Pod"]}"#, false),
            (r#"{"kind":"Pod","metadata":[]}"#, false),
            (r#"{"kind":"Pod","metadata":{"name":1}}"#, false),
            (r#"{"kind":"Pod","metadata":{"namespace":{}}}"#, false),
            (r#"{"kind":"Pod","metadata":{"name":"\ud800"}}"#, false),
            (r#"{"kind":"Pod","metadata":{"\ud800":"a"}}"#, false),
            (r#"{"kind":"Pod","\ud800":"a"}"#, false),
            ("[]", false),
            ("5", false),
        ] {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            let is_named = ObjectHead::of("object", raw).is_ok();
            assert_eq!((ObjectIdentity::of(raw).is_sound, is_named), (want, want), "{text}");
        }
    }
}
