//! A changed failure policy.

use serde::Serialize;

/// A webhook whose failure policy was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailurePolicyChange {
    /// The name of the webhook.
    pub webhook: String,
    /// The previous failure policy.
    pub before: String,
    /// The new failure policy.
    pub after: String,
}
