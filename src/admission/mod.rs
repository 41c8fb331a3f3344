//! What a webhook says of one object: allow, deny, patch, warn, annotate.
//!
//! ```text
//! body ─ envelope ─► Request ─► kinds (which checks) ─► Findings ─ settings (which mode) ─► Decision ─► answer
//! ```
//!
//! [`decide`] is pure: the same request, settings and knowledge of the cluster give the same decision. Deciding
//! on an object that was patched changes nothing more.
//!
//! Objects that kube-controller-manager owns are never changed, nor refused: it would write them again, for ever.

mod decision;
mod envelope;
mod findings;
mod kinds;
mod knowledge;
mod owner;
mod patch;
mod rule;
mod settings;

pub use decision::{Decision, Denial, Refusal};
pub use envelope::{EnvelopeError, ReviewVersion, answer, read};
pub(crate) use envelope::{Salvaged, salvage};
pub use findings::{Finding, Findings};
pub use kinds::{KINDS, Kind, Operation};
pub use knowledge::{Knowledge, Known, Nothing};
pub use patch::PatchOp;
pub use rule::{Mode, Rule};
pub use settings::{Capacity, Settings};

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
