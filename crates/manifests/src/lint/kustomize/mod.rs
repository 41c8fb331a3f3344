//! Kustomizations: what they add to the manifests that they name, and change of them.
//!
//! ```text
//! kustomizations ─ labels, patches, replicas ─► customization of each overlay ─► its objects
//! ```

mod customization;
mod file_path;
mod kustomization;
mod kustomization_graph;
mod kustomize_patch;
mod kustomized_labels;
mod label_entry;
mod label_text;
mod overlay_combinations;
mod overlays;
mod patch_target;
mod strategic_merge;

pub use customization::{CustomizedObject, PatchRoom};
pub use file_path::path_within;
pub use kustomization::{Kustomizations, TextReader, is_kustomization};
pub use kustomized_labels::{KustomizedLabels, TooManyLabels};
pub use overlays::{OverlayPlace, Overlays};
