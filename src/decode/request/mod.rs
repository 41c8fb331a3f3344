//! Reads the body of a plan request: the state of one Service, and how to plan it; and that of a review.
//!
//! ```text
//! text ─ quick: in one go ─────────────► nothing is odd: done
//!          └─ something is ─► slow: fields, then objects one by one ─► problems, or the fields to blame
//! ```
//!
//! A broken Service, setting or stored Endpoints object refuses the request. A broken pod, node or slice is one
//! of many: it becomes a problem, and the others count.

mod field_by_field;
mod review_request;
mod single_pass;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, fmt};

use serde_json::value::RawValue;

pub use review_request::{ReviewRequest, read_review};

use super::{
    DecodeError, Source,
    kind::{Kind, TypeMeta},
};
use crate::{
    engine::{
        plan::PlanRequest,
        reason::{Finding, Reason},
        state::{Controller, Options},
    },
    inventory::{Findings, Inventory},
    model::{EndpointSlice, Endpoints, Nodes, ObjectKey, Pod},
};

/// A request that can be planned.
#[derive(Clone, Debug, Default)]
pub struct Requested {
    /// The state, and how to plan it.
    pub request: PlanRequest,
    /// What is wrong with the rest of it.
    pub problems: Findings,
}

/// Why a request cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// It has `kind` or `items`: Kubernetes objects, which [`read`](super::read) reads.
    #[error("a Kubernetes object, or a list of them")]
    Objects,
    /// It is JSON, and no object.
    #[error("{0}, expected an object with {1}")]
    NoObject(&'static str, String),
    /// It is no JSON, or over a limit.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Some fields have values that cannot be used.
    #[error(transparent)]
    Fields(#[from] FieldErrors),
}

/// The fields that are to blame: the first of them, and how many more there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct FieldErrors {
    /// In the order of the request's fields.
    pub first: Vec<FieldError>,
    /// How many there are beside these.
    pub more: usize,
}

/// One field that is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// JSON pointer to it.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

impl FieldErrors {
    /// How many are told one by one.
    pub const LIMIT: usize = 20;

    fn push(&mut self, pointer: String, message: String) {
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

/// What a field holds. Objects are named by their kind.
#[derive(Clone, Copy)]
enum Field {
    One(&'static str),
    Many(&'static str),
    Controllers,
    Options,
    /// The object that is reviewed, and the one that is stored.
    Object,
    OldObject,
    User,
    Groups,
    Namespace,
    Policies,
    Namespaces,
}

/// The fields of a request, and what they hold.
type Table = [(&'static str, Field)];

/// The fields of a plan request. [`PlanRequest`] says what they mean.
const FIELDS: [(&str, Field); 7] = [
    ("service", Field::One("Service")),
    ("pods", Field::Many("Pod")),
    ("nodes", Field::Many("Node")),
    ("endpoints", Field::One("Endpoints")),
    ("endpointSlices", Field::Many("EndpointSlice")),
    ("controllers", Field::Controllers),
    ("options", Field::Options),
];

/// The fields of a review. [`ReviewRequest`] says what they mean.
const REVIEW_FIELDS: [(&str, Field); 11] = [
    ("object", Field::Object),
    ("oldObject", Field::OldObject),
    ("user", Field::User),
    ("groups", Field::Groups),
    ("namespace", Field::Namespace),
    ("policies", Field::Policies),
    ("namespaces", Field::Namespaces),
    ("services", Field::Many("Service")),
    ("pods", Field::Many("Pod")),
    ("nodes", Field::Many("Node")),
    ("endpointSlices", Field::Many("EndpointSlice")),
];

fn field(table: &Table, name: &str) -> Option<usize> {
    table.iter().position(|(field, _)| *field == name)
}

/// The kind of this name.
fn kind(name: &str) -> Kind {
    TypeMeta { kind: name.into(), ..TypeMeta::default() }.kind()
}

fn names(table: &Table) -> String {
    table.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Slices of this version have their zones elsewhere.
const BETA: &str = "discovery.k8s.io/v1beta1";

/// Reads `text`, which is JSON, within the limits of `source`; its format and its bytes are no matter here.
pub fn read(text: &str, source: &Source<'_>) -> Result<Requested, RequestError> {
    // The first look sees no versions.
    let quick = if memchr::memmem::find(text.as_bytes(), BETA.as_bytes()).is_some() {
        None
    } else {
        single_pass::read(text, source)
    };
    let found = quick.map_or_else(|| field_by_field::read(text, source, &FIELDS), Ok)?;
    let mut requested = Requested::from(found);
    requested.leave_out_foreign_endpoints();
    Ok(requested)
}

impl Requested {
    /// A controller reads Endpoints by the name of the Service: others are nothing to it.
    fn leave_out_foreign_endpoints(&mut self) {
        let Some(service) = self.request.service.as_ref().map(|s| &s.meta) else { return };
        let is_its_own = |e: &mut Endpoints| e.meta.name == service.name && e.meta.namespace == service.namespace;
        if let Some(foreign) = self.request.endpoints.take_if(|e| !is_its_own(e)) {
            let message = format!("they are not those of Service {}/{}", service.namespace, service.name);
            self.problems.push(Finding::new(Reason::ForeignEndpoints, foreign.key(), message));
        }
    }
}

/// Keeps the last object of each name, as a list does: an API server has one.
fn distinct<T>(objects: &mut Vec<T>, key: impl Fn(&T) -> ObjectKey, problems: &mut Findings) {
    let mut seen = HashSet::with_capacity(objects.len());
    let keep: Vec<bool> = objects
        .iter()
        .rev()
        .map(|object| {
            let key = key(object);
            // Without a name nobody can tell.
            let is_last = key.name.is_empty() || seen.insert((key.namespace.clone(), key.name.clone()));
            if !is_last {
                problems.add(|| Finding::duplicate(key));
            }
            is_last
        })
        .collect();
    if keep.contains(&false) {
        let mut keep = keep.into_iter().rev();
        objects.retain(|_| keep.next().unwrap_or(true));
    }
}

/// What was read so far.
#[derive(Debug, Default)]
struct Found<'a> {
    objects: Inventory,
    controllers: Option<Vec<Controller>>,
    options: Options,
    object: Option<&'a RawValue>,
    old_object: Option<&'a RawValue>,
    user: String,
    groups: Vec<String>,
    namespace: String,
    policies: Vec<&'a RawValue>,
    namespaces: Vec<&'a RawValue>,
}

impl From<Found<'_>> for Requested {
    fn from(found: Found<'_>) -> Self {
        let Found { mut objects, controllers, options, .. } = found;
        distinct(&mut objects.pods, Pod::key, &mut objects.problems);
        distinct(&mut objects.slices, EndpointSlice::key, &mut objects.problems);
        let request = PlanRequest {
            service: objects.services.pop(),
            pods: objects.pods,
            nodes: Nodes::new(objects.nodes),
            endpoints: objects.endpoints.pop(),
            endpoint_slices: objects.slices,
            controllers,
            options,
        };
        Self { request, problems: objects.problems }
    }
}
