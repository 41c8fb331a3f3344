//! The linter's reading and reporting: which files are manifests, and which findings to report.
//!
//! The linter has no checks of its own: they are in `crates/validation` (what an API server refuses of one object),
//! `inventory/check.rs` (names and ports that the engine reads as well), `inventory/workloads/findings/` and
//! `inventory/family_findings.rs` (what does not fit together), and `crates/admission/src/kinds/` (the rules of the webhook).
//!
//! ```text
//! files ─ Skip, Kustomizations ─► manifests ─ findings ─ Waivers ─ Baseline ─► what is new
//! ```

mod baseline;
mod cluster_tests;
mod file_fault;
mod file_path;
mod finding_key;
mod json_comments;
mod kustomizations;
mod partial;
mod skip;
mod template_text;
mod waiver;

pub use baseline::{Baseline, BaselineEntry};
pub use cluster_tests::ClusterTests;
pub use file_fault::LintFileFault;
pub use file_path::path_within;
pub use finding_key::FindingKey;
pub use json_comments::without_comments;
pub use kustomizations::{FileRole, Kustomizations, is_kustomization};
pub use partial::{is_of_test, is_partial};
pub use skip::{
    Skip, has_placeholder, is_template, is_test_data, is_vendored, may_become_manifest, without_placeholders,
};
pub use template_text::has_template_action;
pub use waiver::{AnnotationWaivers, IGNORE_ANNOTATION, Waiver, WaiverFault, Waivers, annotation_waivers};
