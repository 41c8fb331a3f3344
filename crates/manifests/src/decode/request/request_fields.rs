//! The fields of the bodies of requests, and the errors about them.

use std::fmt;

use roster_engine::state::Controller;
use serde_json::value::RawValue;

use FieldContent::{Many, One};

use super::{request_options::RequestOptions, view_request::ViewSettings};
use crate::{
    decode::{
        DecodeError,
        kind::{InputKind, TypeMeta},
    },
    inventory::Inventory,
};

/// What a body is, by its fields.
#[derive(Clone, Debug)]
pub enum RequestBody<T> {
    /// The request.
    Request(T),
    /// The body has `kind` or `items`: it consists of Kubernetes objects, which [`decode::read`](crate::decode::read) reads.
    Objects,
}

impl<T> RequestBody<T> {
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> RequestBody<U> {
        match self {
            Self::Request(request) => RequestBody::Request(change(request)),
            Self::Objects => RequestBody::Objects,
        }
    }
}

/// Why the body of a request cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The body is JSON but not an object with fields of a request.
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

/// The content of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldContent {
    One(ValueContent),
    Many(ListContent),
}

/// A field with one value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueContent {
    /// An object of this kind.
    Parsed(&'static str),
    Controllers,
    Options,
    /// The object to review, and the stored one.
    Object,
    OldObject,
    User,
    Groups,
    Namespace,
    /// The node of a view, the program whose view it is, and its settings.
    Node,
    Scheme,
    IpFamily,
    NodePools,
    ViewOptions,
}

/// A field with a list, each element of which may be invalid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ListContent {
    /// Objects of this kind.
    Parsed(&'static str),
    Policies,
    Namespaces,
}

/// The fields of a request, with their content.
pub(super) type FieldTable = [(&'static str, FieldContent)];

/// The fields of a plan request; see [`PlanRequest`](roster_engine::plan::PlanRequest).
pub(super) const PLAN_FIELDS: [(&str, FieldContent); 7] = [
    ("service", One(ValueContent::Parsed("Service"))),
    ("pods", Many(ListContent::Parsed("Pod"))),
    ("nodes", Many(ListContent::Parsed("Node"))),
    ("endpoints", One(ValueContent::Parsed("Endpoints"))),
    ("endpointSlices", Many(ListContent::Parsed("EndpointSlice"))),
    ("controllers", One(ValueContent::Controllers)),
    ("options", One(ValueContent::Options)),
];

/// A plan request has one of these fields: the Service, or what is left of one. It may be null, for a Service that was
/// deleted.
pub(super) const SUBJECTS: [&str; 3] = ["service", "endpoints", "endpointSlices"];

/// The fields of a review; see [`ReviewRequest`](super::ReviewRequest).
pub(super) const REVIEW_FIELDS: [(&str, FieldContent); 11] = [
    ("object", One(ValueContent::Object)),
    ("oldObject", One(ValueContent::OldObject)),
    ("user", One(ValueContent::User)),
    ("groups", One(ValueContent::Groups)),
    ("namespace", One(ValueContent::Namespace)),
    ("policies", Many(ListContent::Policies)),
    ("namespaces", Many(ListContent::Namespaces)),
    ("services", Many(ListContent::Parsed("Service"))),
    ("pods", Many(ListContent::Parsed("Pod"))),
    ("nodes", Many(ListContent::Parsed("Node"))),
    ("endpointSlices", Many(ListContent::Parsed("EndpointSlice"))),
];

/// The fields of a view; see [`ViewRequest`](super::ViewRequest).
pub(super) const VIEW_FIELDS: [(&str, FieldContent); 9] = [
    ("node", One(ValueContent::Node)),
    ("scheme", One(ValueContent::Scheme)),
    ("ipFamily", One(ValueContent::IpFamily)),
    ("nodes", Many(ListContent::Parsed("Node"))),
    ("services", Many(ListContent::Parsed("Service"))),
    ("endpoints", Many(ListContent::Parsed("Endpoints"))),
    ("endpointSlices", Many(ListContent::Parsed("EndpointSlice"))),
    ("nodePools", One(ValueContent::NodePools)),
    ("options", One(ValueContent::ViewOptions)),
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
