//! The fields of the bodies of requests, and the errors about them.

use std::fmt;

use memchr::memmem;
use roster_engine::state::Controller;
use serde_json::value::RawValue;

use super::{request_options::RequestOptions, view_options::ViewSettings};
use crate::{
    decode::{
        DecodeError,
        kind::{InputKind, TypeMeta},
    },
    inventory::Inventory,
};

/// Why the body of a request cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The body has `kind` or `items`: it consists of Kubernetes objects, which [`decode::read`](crate::decode::read) reads.
    #[error("a Kubernetes object, or a list of them")]
    Objects,
    /// The body is JSON but not an object.
    #[error("{0}, expected an object with {1}")]
    NotAnObject(&'static str, String),
    /// The body is not JSON, or exceeds a limit.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Some fields have invalid values.
    #[error(transparent)]
    Fields(#[from] FieldErrors),
}

/// The invalid fields of a request: the first ones, and the number of others.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct FieldErrors {
    /// In the order of the request's fields.
    pub first: Vec<FieldError>,
    /// The number of others.
    pub more: usize,
}

/// An invalid field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// JSON pointer to it.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

impl FieldErrors {
    /// Most fields that are listed.
    pub const LIMIT: usize = 20;

    pub(super) fn push(&mut self, pointer: String, message: String) {
        if self.first.len() < Self::LIMIT {
            self.first.push(FieldError { pointer, message });
        } else {
            self.more += 1;
        }
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(FieldError { pointer, message }) = self.first.first() {
            write!(f, "{pointer}: {message}")?;
        }
        match self.more + self.first.len().saturating_sub(1) {
            0 => Ok(()),
            more => write!(f, " (and {more} more)"),
        }
    }
}

/// The content of a field. Objects are named by their kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldContent {
    One(&'static str),
    Many(&'static str),
    Controllers,
    Options,
    /// The object to review, and the stored one.
    Object,
    OldObject,
    User,
    Groups,
    Namespace,
    Policies,
    Namespaces,
    /// The node of a view, the program whose view it is, and its settings.
    Node,
    Scheme,
    IpFamily,
    NodePools,
    ViewOptions,
}

/// The fields of a request, with their content.
pub(super) type FieldTable = [(&'static str, FieldContent)];

/// The fields of a plan request; see [`PlanRequest`](roster_engine::plan::PlanRequest).
pub(super) const PLAN_FIELDS: [(&str, FieldContent); 7] = [
    ("service", FieldContent::One("Service")),
    ("pods", FieldContent::Many("Pod")),
    ("nodes", FieldContent::Many("Node")),
    ("endpoints", FieldContent::One("Endpoints")),
    ("endpointSlices", FieldContent::Many("EndpointSlice")),
    ("controllers", FieldContent::Controllers),
    ("options", FieldContent::Options),
];

/// A plan request has one of these fields: the Service, or what is left of one. It may be null, for a Service that was
/// deleted.
pub(super) const SUBJECTS: [&str; 3] = ["service", "endpoints", "endpointSlices"];

/// The fields of a review; see [`ReviewRequest`](super::ReviewRequest).
pub(super) const REVIEW_FIELDS: [(&str, FieldContent); 11] = [
    ("object", FieldContent::Object),
    ("oldObject", FieldContent::OldObject),
    ("user", FieldContent::User),
    ("groups", FieldContent::Groups),
    ("namespace", FieldContent::Namespace),
    ("policies", FieldContent::Policies),
    ("namespaces", FieldContent::Namespaces),
    ("services", FieldContent::Many("Service")),
    ("pods", FieldContent::Many("Pod")),
    ("nodes", FieldContent::Many("Node")),
    ("endpointSlices", FieldContent::Many("EndpointSlice")),
];

/// The fields of a view; see [`ViewRequest`](super::ViewRequest).
pub(super) const VIEW_FIELDS: [(&str, FieldContent); 9] = [
    ("node", FieldContent::Node),
    ("scheme", FieldContent::Scheme),
    ("ipFamily", FieldContent::IpFamily),
    ("nodes", FieldContent::Many("Node")),
    ("services", FieldContent::Many("Service")),
    ("endpoints", FieldContent::Many("Endpoints")),
    ("endpointSlices", FieldContent::Many("EndpointSlice")),
    ("nodePools", FieldContent::NodePools),
    ("options", FieldContent::ViewOptions),
];

/// The index of a field in the table.
pub(super) fn position(table: &FieldTable, name: &str) -> Option<usize> {
    table.iter().position(|(field, _)| *field == name)
}

/// The kind with this name.
pub(super) fn kind(name: &str) -> InputKind {
    TypeMeta { kind: name.into(), ..TypeMeta::default() }.kind()
}

/// The names of all fields.
pub(super) fn names(table: &FieldTable) -> String {
    table.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// The version of slices that has `topology` instead of `zone`.
pub(super) const BETA: &str = "discovery.k8s.io/v1beta1";

/// Whether a JSON text may contain the older version of slices, perhaps with escapes such as `\/`.
pub(super) fn may_have_beta(text: &str) -> bool {
    let text = text.as_bytes();
    let escapes_a_letter = |at: usize| {
        let digits = text.get(at + 4..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
        let letter = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        letter.is_some_and(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'.' | b'/'))
    };
    memmem::find(text, BETA.as_bytes()).is_some()
        || memmem::find(text, br"\/").is_some()
        || memmem::find_iter(text, br"\u00").any(escapes_a_letter)
}

/// The content of the fields that were read.
#[derive(Debug, Default)]
pub(super) struct RequestFields<'a> {
    pub(super) objects: Inventory,
    pub(super) controllers: Option<Vec<Controller>>,
    pub(super) options: RequestOptions,
    pub(super) object: Option<&'a RawValue>,
    pub(super) old_object: Option<&'a RawValue>,
    pub(super) user: String,
    pub(super) groups: Vec<String>,
    pub(super) namespace: String,
    pub(super) policies: Vec<&'a RawValue>,
    pub(super) namespaces: Vec<&'a RawValue>,
    pub(super) view: ViewSettings,
}
