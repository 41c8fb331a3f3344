//! Certificates that Roster issues for its own webhook: a CA, and a certificate of it.
//!
//! ```text
//! Material (PEM) ─ inspect ─► StoredCertificates ─ next_action(now) ─► RenewalAction ─ issue ─► Material ─► Secret, caBundle, listener
//! ```
//!
//! [`next_action`] is pure: time and state come in, what to do comes out. A new CA is in every `caBundle` before
//! the first certificate of it is served, and the old CA stays there until the last certificate of it is gone: at no
//! moment does an API server meet a certificate that it does not know.

mod in_memory;
mod issue;
mod material;
mod renewal;
#[cfg(test)]
mod tests;
mod trust;

pub use in_memory::{InMemoryError, in_memory};
pub use issue::{IssueError, advance, step};
pub use material::{Material, SelfSignedOptions, inspect};
pub use renewal::{
    CaCertificate, CertificateLifetimes, LeafCertificate, RenewalAction, StoredCertificates, next_action,
};
pub use trust::{TrustError, trusts};
