//! `EndpointPolicy`: which rules apply to which objects, in which mode.
//!
//! ```text
//! v1alpha1, v1 ─ schema: check ─► convert to v1 ─► EndpointPolicy ─► Policies ─ settings(target) ─► Settings
//! ```
//!
//! One schema serves the API server ([`crd()`]) and files: a file is refused for the same mistakes as in a cluster, and
//! the message names the field.

mod check;
mod conversion;
mod crd;
mod pattern_index;
mod policies;
mod read;
#[cfg(test)]
mod round_trip;
mod schema;
mod settings_cache;
mod spec;
mod status;
#[cfg(test)]
mod tests;
mod version;

pub(crate) use conversion::convert;
pub use crd::crd;
pub(crate) use policies::labels_of;
pub use policies::{NamespaceLabels, Policies, PolicyTarget};
pub use read::read;
pub use spec::{
    AddressRanges, CapacitySpec, EndpointPolicy, ExemptObject, Exemptions, PolicyMatch, PolicySpec, RuleMode, Selection,
};
pub use status::{Condition, PolicyStatus};
pub use version::PolicyVersion;
