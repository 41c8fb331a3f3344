//! The decision of the admission webhook about one object: allow, deny, patch, warn, annotate.
//!
//! ```text
//! body ─ read_review ─► AdmissionRequest ─ kinds (which checks) ─► findings ─ settings (which mode) ─► Decision ─► answer
//! ```
//!
//! [`decide`] is pure: the same request, settings and knowledge of the cluster give the same decision. An object that
//! was patched is not changed again.
//!
//! The webhook never reviews what kube-controller-manager writes: it would write the same again, forever. Nor does an
//! update fail for a fault that the stored object already has, as long as it has no further effect (`fault`).

mod admission_review;
pub mod convert;
mod decision;
mod document;
mod fault;
mod findings;
mod kinds;
mod knowledge;
pub mod offline_review;
mod owner;
pub mod patch;
pub mod policy;
mod ranges;
mod request;
mod review_envelope;
mod rule;
mod settings;
mod special_address;

pub use admission_review::{EnvelopeError, ReviewVersion, answer_review, read_review, read_review_head, review_user};
pub use decision::{Decision, Denial};
pub use document::{RuleExample, rules_markdown};
pub use findings::{FindingCount, RuleFinding};
pub use kinds::{AdmissionKind, KINDS, POD_RULES};
pub use knowledge::{
    Knowledge, KnownClusterIp, KnownService, ListedSlice, LivePods, Nothing, OtherSlices, PodNetwork, Unknown,
};
pub use owner::CONTROLLER_USERS;
pub use ranges::Ranges;
pub use request::{AdmissionRequest, Operation, Stage};
pub use rule::{Mode, RefusalKind, Remedy, Rule};
pub use settings::{Capacity, HostNetwork, Settings};

use roster_engine::model::Resource;

/// An object that cannot be read as its kind. An API server has parsed it already: this build is too old for the object, or
/// the client is not an API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {resource} cannot be read: {message}")]
pub struct Unreadable {
    /// The resource whose fields it lacks.
    pub resource: Resource,
    /// What is wrong.
    pub message: String,
}

/// The decision of a webhook about the object of a request.
///
/// ```
/// use roster_admission::{Nothing, Settings, Stage, decide, offline_review::{Writer, request_for}};
///
/// let service = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"externalIPs":["203.0.113.9"]}}"#;
/// let request = request_for(service, None, Writer::default())?;
/// let decision = decide(&request, Stage::Validate, &Settings::default(), &Nothing)?;
/// assert!(decision.allowed());
/// assert_eq!(
///     decision.warnings,
///     ["spec.externalIPs[0]: 203.0.113.9 is allowed by no policy, and may be another's (external-ip)"],
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decide(
    request: &AdmissionRequest<'_>,
    stage: Stage,
    settings: &Settings,
    cluster: &dyn Knowledge,
) -> Result<Decision, Unreadable> {
    let Some(kind) = AdmissionKind::of(request) else { return Ok(Decision::default()) };
    if owner::is_controller(&request.user) {
        return Ok(Decision::default());
    }
    kind.decide(request, stage, settings, cluster)
}
