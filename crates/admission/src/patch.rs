//! JSON Patch (RFC 6902). The operations are made by hand, from the raw object; `json-patch` applies them.
//!
//! A patch names only the fields that a rule changes. Fields that this build does not know therefore survive.

use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation, jsonptr::PointerBuf};
use roster_engine::model::json::{path::PathEnd, pointer::pointer};
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

/// An operation of a JSON patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PatchOp {
    /// Sets a member of an object that exists, or inserts an element into a list that exists.
    Add {
        /// JSON pointer.
        path: String,
        /// The new value.
        value: Value,
    },
    /// Replaces a field that exists.
    Replace {
        /// JSON pointer.
        path: String,
        /// The new value.
        value: Value,
    },
    /// Removes a field that exists.
    Remove {
        /// JSON pointer.
        path: String,
    },
}

/// Why a patch cannot be applied: the pointer that does not fit the object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the patch does not fit the object: {0:?} does not exist")]
pub struct PatchError(pub String);

impl PatchOp {
    /// An operation that sets a field.
    pub fn add(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Add { path: path.into(), value: value.into() }
    }

    /// An operation that replaces a field.
    pub fn replace(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Replace { path: path.into(), value: value.into() }
    }

    /// An operation that removes a field.
    pub fn remove(path: impl Into<String>) -> Self {
        Self::Remove { path: path.into() }
    }

    fn as_operation(&self) -> Result<PatchOperation, PatchError> {
        let at = |path: &str| PointerBuf::parse(path).map_err(|_| PatchError(path.to_owned()));
        Ok(match self {
            Self::Add { path, value } => PatchOperation::Add(AddOperation { path: at(path)?, value: value.clone() }),
            Self::Replace { path, value } => {
                PatchOperation::Replace(ReplaceOperation { path: at(path)?, value: value.clone() })
            }
            Self::Remove { path } => PatchOperation::Remove(RemoveOperation { path: at(path)? }),
        })
    }
}

/// Applies a patch to an object. After an error the object is as it was before.
pub fn apply(patch: &[PatchOp], object: &mut Value) -> Result<(), PatchError> {
    let operations = patch.iter().map(PatchOp::as_operation).collect::<Result<Vec<_>, _>>()?;
    json_patch::patch(object, &operations).map_err(|error| PatchError(error.path.to_string()))
}

/// The operations that set the field at `path` of a raw object. Maps on the way that are missing or null are created first.
pub(crate) fn set(object: &RawValue, path: &[&str], value: impl Into<Value>) -> Vec<PatchOp> {
    let Some((_, parents)) = path.split_last() else { return Vec::new() };
    let missing = PathEnd::of(object.get().as_bytes(), parents).steps..parents.len();
    let created = missing.map(|i| PatchOp::add(pointer(&parents[..=i]), Map::new()));
    created.chain([PatchOp::add(pointer(path), value)]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_parents_are_created() {
        for (given, want) in [
            (json!({}), json!({ "metadata": { "annotations": { "a/b~c": "1" } } })),
            (json!({ "metadata": null }), json!({ "metadata": { "annotations": { "a/b~c": "1" } } })),
            (
                json!({ "metadata": { "annotations": null, "x": 1 } }),
                json!({ "metadata": { "annotations": { "a/b~c": "1" }, "x": 1 } }),
            ),
            (
                json!({ "metadata": { "annotations": { "y": "2" } } }),
                json!({ "metadata": { "annotations": { "a/b~c": "1", "y": "2" } } }),
            ),
            (
                json!({ "metadata": { "annotations": { "a/b~c": "0" } } }),
                json!({ "metadata": { "annotations": { "a/b~c": "1" } } }),
            ),
        ] {
            let raw = serde_json::value::to_raw_value(&given).unwrap();
            let mut patched = given.clone();
            apply(&set(&raw, &["metadata", "annotations", "a/b~c"], "1"), &mut patched).unwrap();
            assert_eq!(patched, want, "{given}");
        }
    }

    #[test]
    fn a_patch_that_does_not_fit_changes_nothing() {
        let before = json!({ "a": { "b": 1 }, "c": [1] });
        for (patch, path) in [
            (vec![PatchOp::remove("/a/b"), PatchOp::replace("/a/b", 2)], "/a/b"),
            (vec![PatchOp::add("/x/y", 1)], "/x/y"),
            (vec![PatchOp::remove("/c/1")], "/c/1"),
            (vec![PatchOp::remove("no pointer")], "no pointer"),
        ] {
            let mut object = before.clone();
            assert_eq!(apply(&patch, &mut object), Err(PatchError(path.to_owned())));
            assert_eq!(object, before);
        }
    }
}
