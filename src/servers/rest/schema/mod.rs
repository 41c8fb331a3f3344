//! The shapes of bodies and responses in the OpenAPI document.
//!
//! The engine's own types know nothing of `OpenAPI`, so their shapes are written down here a second
//! time. Tests hold both together: real responses are validated against the document.

pub(super) mod answer;
pub(super) mod conversion;
pub(super) mod explanation;
pub(super) mod k8s;
pub(super) mod lint;
pub(super) mod object;
pub(super) mod picture;
pub(super) mod problem;
pub(super) mod query;
pub(super) mod request;
pub(super) mod review;
pub(super) mod view;
