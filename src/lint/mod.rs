//! Which files and documents of a directory are manifests, and which findings about them are to be reported.
//!
//! ```text
//! files ─ Skip, Kustomizations ─► manifests ─ findings ─ Waivers ─ Baseline ─► what is new
//! ```

mod baseline;
mod finding_key;
mod kustomization;
mod scopes;
mod skip;
mod waiver;

pub use baseline::{Baseline, BaselineEntry};
pub use finding_key::FindingKey;
pub use kustomization::Kustomizations;
pub use scopes::scopes;
pub use skip::{Skip, is_template};
pub use waiver::{IGNORE_ANNOTATION, Waiver, WaiverFault, Waivers, annotation_waivers};
