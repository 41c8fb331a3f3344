//! What keeps the webhook in touch with its cluster: the copy that rules ask about, the certificates that replicas
//! share in a Secret, the `caBundle`s by which API servers know them, and what is said of policies.
//!
//! It writes its own Secret, its own Lease, those `caBundle`s and the status of policies, and nothing else.

mod bundles;
mod keep;
mod lease;
mod policies;
mod secret;
mod start;
mod statuses;
mod streak;
#[cfg(test)]
mod tests;
mod watch;
mod watched;

pub use bundles::{Bundles, Caller, Configured, Kind, Watched};
pub use keep::{Keeper, KeeperOptions, Trust};
pub(crate) use start::start;
