//! A generated manifest.

use serde_json::Value;

/// A generated file: its path, and its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestFile {
    /// Path below `manifests/`.
    pub path: String,
    /// Documents, in order.
    pub documents: Vec<Value>,
}

impl ManifestFile {
    pub(super) fn new(path: &str, documents: Vec<Value>) -> Self {
        Self { path: path.to_owned(), documents }
    }
}
