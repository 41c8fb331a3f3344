//! What a webhook says of one object: allow, deny, patch, warn, annotate.
//!
//! ```text
//! body ─ envelope ─► Request ─► kinds (which checks) ─► Findings ─ settings (which mode) ─► Decision ─► answer
//! ```
//!
//! [`decide`] is pure: the same request, settings and knowledge of the cluster give the same decision. Deciding
//! on an object that was patched changes nothing more.
//!
//! Objects that kube-controller-manager owns are never changed, and its own writes never refused: it would write
//! them again, for ever. Nor is an object refused for what it has had already since it was stored.

mod decision;
mod document;
mod envelope;
mod findings;
mod kinds;
mod knowledge;
pub mod offline;
mod owner;
mod patch;
pub mod policy;
mod review;
mod rule;
mod settings;
mod snapshot;

#[cfg(test)]
mod tests;

pub use decision::{Decision, Denial, Refusal};
pub use document::{Example, rules_markdown};
pub use envelope::{EnvelopeError, ReviewVersion, answer, read};
pub(crate) use envelope::{Salvaged, salvage};
pub use findings::{More, RuleFinding};
pub use kinds::{KINDS, Kind, Operation};
pub(crate) use knowledge::addresses_of;
pub use knowledge::{Knowledge, Known, Nothing, Place};
pub use owner::CONTROLLER_USERS;
pub use patch::{PatchError, PatchOp};
pub use review::{Context, Review, ReviewError, judge, request, review};
pub use rule::{Mode, Remedy, Rule};
pub use settings::{Capacity, Denied, Settings};
pub use snapshot::Snapshot;

use std::borrow::Cow;

use serde_json::value::RawValue;

/// Which webhook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The mutating one: it mends what a rule can mend, and refuses nothing.
    Mutate,
    /// The validating one: it sees the object as it will be stored.
    Validate,
}

impl Stage {
    /// Whether a rule is looked at: what cannot be mended is nothing for the mutating webhook.
    fn wants(self, settings: &Settings, rule: Rule) -> bool {
        match self {
            Self::Mutate => settings.mode(rule) == Mode::Enforce && rule.remedy() == Remedy::Mend,
            Self::Validate => settings.mode(rule) != Mode::Off,
        }
    }
}

/// What an API server asks, borrowed from the body of its review.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// To be repeated in the answer.
    pub uid: Cow<'a, str>,
    /// Group of `kind`; empty for core.
    pub group: Cow<'a, str>,
    /// Version of `kind`: the one in which the object is sent.
    pub version: Cow<'a, str>,
    /// Kind.
    pub kind: Cow<'a, str>,
    /// Subresource, such as `status`; mostly empty.
    pub sub_resource: Cow<'a, str>,
    /// Namespace.
    pub namespace: Cow<'a, str>,
    /// Name; empty where the API server is yet to make one.
    pub name: Cow<'a, str>,
    /// What is being done; `None` if it is nothing that this build knows.
    pub operation: Option<Operation>,
    /// Who does it.
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

/// What the webhook of `stage` says.
pub fn decide(request: &Request<'_>, stage: Stage, settings: &Settings, cluster: &dyn Knowledge) -> Decision {
    let Some(kind) = Kind::of(request) else { return Decision::default() };
    if owner::is_controller(&request.user) {
        return Decision::default();
    }
    kind.decide(request, stage, settings, cluster)
}
