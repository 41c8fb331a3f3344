//! The linter: which files of a directory are manifests, what an API server would refuse of them, and which findings to
//! report.
//!
//! ```text
//! files ─ Skip, Kustomizations ─► manifests ─ findings ─ Waivers ─ Baseline ─► what is new
//! ```

mod baseline;
mod finding_key;
mod kustomization;
mod scopes;
mod skip;
mod template_text;
pub mod validation;
mod waiver;

pub use baseline::{Baseline, BaselineEntry};
pub use finding_key::FindingKey;
pub use kustomization::Kustomizations;
pub use scopes::scopes;
pub use skip::{Skip, is_template, without_placeholders};
pub use template_text::has_template_action;
pub use waiver::{IGNORE_ANNOTATION, Waiver, WaiverFault, WaiverFileFault, Waivers, annotation_waivers};
