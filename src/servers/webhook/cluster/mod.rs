//! The webhook in its cluster: the copy that rules ask about, the certificates that replicas share in a Secret, the
//! `caBundle`s by which API servers verify them, and the statuses of policies.
//!
//! It writes its own Secret, its own Lease, those `caBundle`s and the status of policies, and nothing else.

mod ca_bundles;
mod certificate_manager;
mod certificate_secret;
mod policy_status;
mod policy_watch;
mod start;
#[cfg(test)]
mod tests;

pub(crate) use start::{CopyMetrics, start};
