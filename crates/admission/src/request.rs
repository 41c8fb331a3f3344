//! The request of an API server, and the webhook that receives it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// The webhook that receives a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The mutating webhook: it changes what a rule can change, and never refuses an object.
    Mutate,
    /// The validating webhook: it sees the object as it will be stored.
    Validate,
}

/// What the writer does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// Creates it.
    Create,
    /// Replaces or patches it.
    Update,
}

impl Operation {
    /// Parses `CREATE` or `UPDATE`. No rule applies to the other operations.
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "CREATE" => Some(Self::Create),
            "UPDATE" => Some(Self::Update),
            _ => None,
        }
    }
}

/// The request of an API server, borrowed from the body of its review.
#[derive(Clone, Debug, Default)]
pub struct AdmissionRequest<'a> {
    /// The uid that the answer repeats.
    pub uid: Cow<'a, str>,
    /// Group of `kind`; empty for core.
    pub group: Cow<'a, str>,
    /// Version of `kind`: the version of the objects in the request.
    pub version: Cow<'a, str>,
    /// Kind.
    pub kind: Cow<'a, str>,
    /// Subresource, such as `status`; empty for the object itself.
    pub sub_resource: Cow<'a, str>,
    /// Namespace.
    pub namespace: Cow<'a, str>,
    /// Name; empty where the API server has yet to generate one.
    pub name: Cow<'a, str>,
    /// What the writer does; `None` for an operation to which no rule applies.
    pub operation: Option<Operation>,
    /// The user who writes.
    pub user: Cow<'a, str>,
    /// The groups of the user.
    pub groups: Vec<Cow<'a, str>>,
    /// The object as it will be stored.
    pub object: Option<&'a RawValue>,
    /// The object as it is stored.
    pub old_object: Option<&'a RawValue>,
    /// Whether nothing will be stored. The answer is the same: no rule has side effects.
    pub dry_run: bool,
}
