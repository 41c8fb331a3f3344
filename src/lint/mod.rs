//! The linter: which files of a directory are manifests, what an API server would refuse of them, and which findings to
//! report.
//!
//! ```text
//! files ─ Skip, Kustomizations, KustomizedLabels ─► manifests ─ findings ─ Waivers ─ Baseline ─► what is new
//! ```

mod baseline;
mod file_fault;
mod finding_key;
mod json_comments;
mod kustomization;
mod kustomized_labels;
mod label_text;
mod overlay_combinations;
mod overlays;
mod scopes;
mod skip;
mod template_text;
pub mod validation;
mod waiver;

pub use baseline::{Baseline, BaselineEntry};
pub use file_fault::LintFileFault;
pub use finding_key::FindingKey;
pub use json_comments::without_comments;
pub use kustomization::{Kustomizations, is_kustomization};
pub use kustomized_labels::KustomizedLabels;
pub use overlays::{OverlayPlace, Overlays};
pub use scopes::scopes;
pub use skip::{Skip, is_template, without_placeholders};
pub use template_text::has_template_action;
pub use waiver::{AnnotationWaivers, IGNORE_ANNOTATION, Waiver, WaiverFault, Waivers, annotation_waivers};
