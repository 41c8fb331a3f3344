//! The admission and conversion webhook: `POST /mutate`, `/validate` and `/convert`.
//!
//! ```text
//! connection ─► body (limits: size, time, memory) ─► review_handler ─► settings ─► admission::decide ─► answer
//! ```
//!
//! An API server takes every answer but a review with its uid for a failure of the webhook, and may then refuse the
//! write, or let it pass unchecked. So a request with a uid gets a review with status 200, whatever else is wrong with
//! it; other requests get a `metav1.Status`.
//!
//! Small reviews are decided where they are read, which takes some microseconds; large ones on worker threads, a few
//! at once. Nothing is compressed, and reviews are logged at `debug` only: what counts is the time of the answer.

mod active_policies;
mod app;
mod body;
pub mod cluster;
mod conversion_handler;
mod deadline;
pub mod emergency;
mod limits;
mod metrics;
mod namespace_lookup;
mod namespace_reads;
mod options;
mod part;
mod permissions;
mod policy_file;
mod review_handler;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod worker_tests;

pub(crate) use active_policies::first_messages;
pub use active_policies::{ActivePolicies, SettingsSource};
pub use app::{Webhook, router};
pub use limits::{FailureMode, WebhookLimits};
pub use metrics::{AdmissionMetrics, example_metrics};
pub use namespace_lookup::NamespaceLookup;
pub(crate) use namespace_lookup::NamespaceMetrics;
pub use options::{CertificateSource, ClusterOptions, WebhookOptions, self_signed};
pub use part::{WebhookPart, part};
pub use permissions::{permissions, permissions_to_issue};
