//! `EndpointPolicy`: which rules hold for which objects, in which mode.
//!
//! ```text
//! v1alpha1, v1 ─ schema: check ─► convert ─► EndpointPolicy ─► Policies ─ settings(target) ─► Settings
//! ```
//!
//! One schema serves the API server ([`crd()`]), files and people, so that a file is refused for what a cluster would
//! refuse it for, and with the field's name.

mod check;
mod crd;
mod pattern;
mod policies;
mod read;
mod schema;
mod selector;
mod spec;
mod status;
#[cfg(test)]
mod tests;
pub mod version;

pub use check::field;
pub use crd::crd;
pub(crate) use policies::labels_of;
pub use policies::{Policies, Target};
pub use read::read;
pub use selector::{Operator, Requirement, Selector};
pub use spec::{Addresses, CapacitySpec, EndpointPolicy, Exempt, ExemptObject, Match, PolicySpec, RuleMode, Selection};
pub use status::{Condition, Status};
