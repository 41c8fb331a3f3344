//! JSON Patch (RFC 6902), made by hand: the fewest operations, on the raw object.
//!
//! A patch never names a field that no rule is about, so that fields which this build does not know survive.

use serde::Serialize;
use serde_json::Value;

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PatchOp {
    /// Sets a field, whether it is there or not; its parent must be there.
    Add {
        /// JSON pointer.
        path: String,
        /// What it is set to.
        value: Value,
    },
    /// Sets a field that is there.
    Replace {
        /// JSON pointer.
        path: String,
        /// What it is set to.
        value: Value,
    },
    /// Removes a field that is there.
    Remove {
        /// JSON pointer.
        path: String,
    },
}

impl PatchOp {
    /// Sets a field.
    pub fn add(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Add { path: path.into(), value: value.into() }
    }

    /// Removes a field.
    pub fn remove(path: impl Into<String>) -> Self {
        Self::Remove { path: path.into() }
    }
}

/// A token of a JSON pointer (RFC 6901), escaped.
pub fn token(text: &str) -> String {
    text.replace('~', "~0").replace('/', "~1")
}
