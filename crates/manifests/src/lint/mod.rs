//! The linter's reading and reporting: which files are manifests, what kustomizations make of them, and which findings to report.
//!
//! The linter has no checks of its own: they are in `crates/validation` (what an API server refuses of one object),
//! `inventory/check.rs` (names and ports that the engine reads as well), `inventory/workloads/findings/` and
//! `inventory/family_findings.rs` (what does not fit together), and `crates/admission/src/kinds/` (the rules of the webhook).
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
