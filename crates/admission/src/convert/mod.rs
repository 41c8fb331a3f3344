//! Conversion of objects to another version or kind, and the fields that it loses.
//!
//! ```text
//! EndpointPolicy    roster.dev/v1alpha1 ◄─► v1             lossless
//! EndpointSlice     discovery.k8s.io/v1beta1 ◄─► v1        as API servers up to 1.24 do
//! Endpoints ─► EndpointSlice                               as the mirroring controller does
//! EndpointSlice ─► Endpoints                               as far as Endpoints can hold it
//! ```
//!
//! Versions are converted on raw JSON: unknown fields survive, and numbers keep their digits. An API server only asks
//! for conversions of `EndpointPolicy` ([`answer_conversion_review`]); the others are for objects in files.

mod conversion_review;
mod endpoints;
mod losses;
mod objects;
mod slices;
#[cfg(test)]
mod tests;

pub use conversion_review::{UnanswerableReview, answer_conversion_review, answer_conversion_review_until};
pub use losses::LostField;
pub use objects::{Conversion, ConversionFailure, ConversionTarget, MAX_TEXT, convert_objects, convert_objects_until};
