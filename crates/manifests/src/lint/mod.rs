//! Which files of a directory are manifests, and what kustomizations say of them.

mod cluster_tests;
mod file_path;
mod kustomizations;
mod partial;
mod skip;
mod source_place;
mod template_text;

pub use cluster_tests::ClusterTests;
pub use file_path::path_within;
pub use kustomizations::{FileRole, Kustomizations, is_kustomization};
pub use partial::{is_of_test, is_partial};
pub use skip::{Skip, has_placeholder, is_template, is_vendored, may_become_manifest, without_placeholders};
pub use source_place::SourcePlace;
pub use template_text::has_template_action;
