//! Objects in another version, or as another kind; and what was lost on the way.
//!
//! ```text
//! EndpointPolicy    roster.dev/v1alpha1 ◄─► v1             nothing is ever lost
//! EndpointSlice     discovery.k8s.io/v1beta1 ◄─► v1        as API servers up to 1.24 did
//! Endpoints ─► EndpointSlice                               as the mirroring controller does
//! EndpointSlice ─► Endpoints                               what Endpoints can hold of it
//! ```
//!
//! Versions are converted on raw JSON: a field that this build does not know survives, and numbers keep their
//! digits. An API server asks only about `EndpointPolicy` ([`review()`]); the rest is for people with files.

mod discovery;
mod endpoints;
mod lost;
mod objects;
mod policy;
pub(crate) mod raw;
mod review;
#[cfg(test)]
mod round_trip;
mod slices;
mod target;
#[cfg(test)]
mod tests;

pub use discovery::Discovery;
pub use lost::Lost;
pub(crate) use objects::key;
pub use objects::{Converted, Failed, objects};
pub(crate) use policy::V1_ONLY;
pub use review::{Unanswerable, review, review_until};
pub use target::Target;

use serde_json::value::RawValue;

/// A policy of either version, as v1.
pub(crate) fn policy_as_v1(raw: &RawValue) -> Result<std::borrow::Cow<'_, RawValue>, String> {
    policy::convert(raw, crate::admission::policy::version::Version::V1).map_err(|e| e.to_string())
}

/// A slice of either version, as v1: what an API server sends a webhook that asks for v1.
pub(crate) fn slice_as_v1(raw: &RawValue) -> Result<std::borrow::Cow<'_, RawValue>, String> {
    discovery::convert(raw, Discovery::V1, &mut lost::Losses::of(crate::model::ObjectKey::default()))
}
