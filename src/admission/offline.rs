//! Reviews without an API server: of objects in files or in a request, with what is known of their cluster.
//!
//! ```text
//! object ─ as v1 ─► the request an API server would make ─ policies ─► admission::judge ─► Answer
//! AdmissionReview ─► its request ────────────────────────┘                 └► what each webhook would answer
//! ```

use std::{borrow::Cow, collections::BTreeMap};

use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::{
    admission::{
        self, Context, Decision, EnvelopeError, Knowledge, Operation, Request, Review, ReviewError, Stage,
        policy::{self, Policies},
    },
    convert,
    engine::reason::{Finding, Reason},
    model::{Labels, ObjectKey, Text},
};

/// Longest text of an object: what the webhook reads of a review. An API server stores 1.5 MiB, and what rules make of
/// a text takes many times of it in memory.
pub const MAX_TEXT: usize = 7 << 20;

/// Labels of namespaces, by their names.
pub type Namespaces = BTreeMap<String, Labels>;

/// What all reviews of one run share: who asks, and what is known.
#[derive(Clone, Copy)]
pub struct Reviewer<'a> {
    /// What holds.
    pub policies: &'a Policies,
    /// What is known of the cluster.
    pub cluster: &'a dyn Knowledge,
    /// What is known of its namespaces.
    pub namespaces: &'a Namespaces,
    /// Who writes; empty: nobody in particular.
    pub user: &'a str,
    /// The groups of the user.
    pub groups: &'a [String],
    /// Namespace of objects that do not say; empty: `default`.
    pub namespace: &'a str,
}

/// What comes of an object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// Whether there are rules for this kind of object at all.
    pub reviewed: bool,
    /// Whether it would be stored.
    pub allowed: bool,
    /// What is done to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// The decision of both webhooks: the patch of the first, the answer of the second, what both say.
    pub decision: Decision,
    /// The object as it would be stored, if it was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
    /// What each webhook answers to a review that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
}

impl Answer {
    /// Nothing was looked at, and why.
    pub fn unseen(why: &str) -> Self {
        let decision = Decision::unseen(why);
        Self { reviewed: false, allowed: decision.allowed(), operation: None, decision, object: None, answers: None }
    }
}

/// What each webhook answers to a review: an `AdmissionReview` in its version.
#[derive(Clone, Debug, Serialize)]
pub struct Answers {
    /// The mutating one.
    pub mutate: Box<RawValue>,
    /// The validating one, to the object as it stands in the review.
    pub validate: Box<RawValue>,
}

/// Why something cannot be reviewed.
#[derive(Debug, thiserror::Error)]
pub enum CannotReview {
    /// The object cannot be read.
    #[error(transparent)]
    Object(#[from] ReviewError),
    /// The recorded review cannot be read.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// A slice of the older version cannot be converted.
    #[error("{0}")]
    Convert(String),
    /// There is too much of it.
    #[error("the object has more than {MAX_TEXT} bytes, and no API server would send it")]
    TooLarge,
}

impl Reviewer<'_> {
    /// Reviews an object, which is new unless `old` is what is stored.
    pub fn object(&self, object: &RawValue, old: Option<&RawValue>) -> Result<Answer, CannotReview> {
        if object.get().len().max(old.map_or(0, |o| o.get().len())) > MAX_TEXT {
            return Err(CannotReview::TooLarge);
        }
        let object = as_v1(object)?;
        let old = old.map(as_v1).transpose()?;
        let context = Context { user: self.user, namespace: self.namespace };
        let mut request = admission::request(object.get(), old.as_ref().map(|o| o.get()), context)?;
        request.groups = self.groups.iter().map(|g| Cow::Borrowed(g.as_str())).collect();
        self.answer(&request)
    }

    /// Reviews what an `AdmissionReview` asks: it says itself who writes, and what is stored.
    pub fn recorded(&self, review: &RawValue) -> Result<(ObjectKey, Answer), CannotReview> {
        if review.get().len() > MAX_TEXT {
            return Err(CannotReview::TooLarge);
        }
        let (version, request) = admission::read(review.get().as_bytes())?;
        let settings = self.settings(&request);
        let answer = |stage| {
            let decision = admission::decide(&request, stage, &settings, self.cluster);
            let text = admission::answer(version, &request.uid, &decision);
            // It was JSON a moment ago: this does not fail.
            serde_json::from_slice(&text).unwrap_or_else(|_| RawValue::NULL.to_owned())
        };
        let answers = Answers { mutate: answer(Stage::Mutate), validate: answer(Stage::Validate) };
        let key = ObjectKey::new(&short(&request.kind), &short(&request.namespace), &short(&request.name));
        Ok((key, Answer { answers: Some(answers), ..self.answer(&request)? }))
    }

    fn answer(&self, request: &Request<'_>) -> Result<Answer, CannotReview> {
        let Review { reviewed, decision, object } = admission::judge(request, &self.settings(request), self.cluster)?;
        let operation = request.operation;
        Ok(Answer { reviewed, allowed: decision.allowed(), operation, decision, object, answers: None })
    }

    fn settings(&self, request: &Request<'_>) -> admission::Settings {
        self.policies.settings_of(request, self.namespaces.get(request.namespace.as_ref()))
    }
}

/// The labels of a namespace are added, if the object is one.
pub fn note_namespace(object: &RawValue, key: &ObjectKey, into: &mut Namespaces) {
    if key.kind == "Namespace" {
        into.insert(key.name.to_string(), policy::labels_of(object));
    }
}

/// Whether a problem is about what an API server fills in, or makes: it is missing by right in what is written.
pub fn is_filled_in(problem: &Finding, object: &RawValue) -> bool {
    match problem.code {
        Reason::MissingProtocol | Reason::MissingTargetPort => true,
        Reason::InvalidName => problem.object.name.is_empty() && !convert::key(object).name.is_empty(),
        _ => false,
    }
}

/// With `matchPolicy: Equivalent` an API server sends what is asked for, whatever was written.
fn as_v1(object: &RawValue) -> Result<Cow<'_, RawValue>, CannotReview> {
    let of_beta = convert::key(object).kind == "EndpointSlice"
        && convert::raw::Members::read(object).is_ok_and(|o| o.text("apiVersion") == "discovery.k8s.io/v1beta1");
    if of_beta { convert::slice_as_v1(object).map_err(CannotReview::Convert) } else { Ok(Cow::Borrowed(object)) }
}

fn short(text: &str) -> Text {
    text.chars().take(253).collect::<String>().into()
}
