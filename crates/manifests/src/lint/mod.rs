//! The linter: which files are manifests, what an API server would refuse of them, and which findings to report.
//!
//! ```text
//! files ─ Skip, Kustomizations, KustomizedLabels ─► manifests ─ findings ─ Waivers ─ Baseline ─► what is new
//! ```

mod baseline;
mod file_fault;
mod finding_key;
mod json_comments;
mod kustomize;
mod scopes;
mod skip;
mod template_text;
mod waiver;

pub use baseline::{Baseline, BaselineEntry};
pub use file_fault::LintFileFault;
pub use finding_key::FindingKey;
pub use json_comments::without_comments;
pub use kustomize::{
    CustomizedObject, Kustomizations, KustomizedLabels, OverlayPlace, Overlays, PatchRoom, TextReader, TooManyLabels,
    is_kustomization, path_within,
};
pub use scopes::scopes;
pub use skip::{Skip, is_template, without_placeholders};
pub use template_text::has_template_action;
pub use waiver::{AnnotationWaivers, IGNORE_ANNOTATION, Waiver, WaiverFault, Waivers, annotation_waivers};
