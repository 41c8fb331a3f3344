//! JSON Patch (RFC 6902), made by hand: the fewest operations, on the raw object.
//!
//! A patch never names a field that no rule is about, so that fields which this build does not know survive.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PatchOp {
    /// Sets a field, whether it is there or not; its parent must be there. Into a list, it inserts.
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

/// Why an operation cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the patch does not fit the object: there is no {0:?}")]
pub struct PatchError(pub String);

impl PatchOp {
    /// Sets a field.
    pub fn add(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Add { path: path.into(), value: value.into() }
    }

    /// Sets a field that is there.
    pub fn replace(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Replace { path: path.into(), value: value.into() }
    }

    /// Removes a field.
    pub fn remove(path: impl Into<String>) -> Self {
        Self::Remove { path: path.into() }
    }

    /// Applies the operation.
    pub fn apply(&self, object: &mut Value) -> Result<(), PatchError> {
        let (Self::Add { path, .. } | Self::Replace { path, .. } | Self::Remove { path }) = self;
        let missing = || PatchError(path.clone());
        let Some((parent, last)) = path.rsplit_once('/') else {
            // The empty pointer is the whole object.
            return match self {
                Self::Add { value, .. } | Self::Replace { value, .. } if path.is_empty() => {
                    object.clone_from(value);
                    Ok(())
                }
                _ => Err(missing()),
            };
        };
        let done = match object.pointer_mut(parent) {
            Some(Value::Object(map)) => self.apply_to_map(map, &unescape(last)),
            Some(Value::Array(items)) => self.apply_to_list(items, last),
            _ => None,
        };
        done.ok_or_else(missing)
    }

    fn apply_to_map(&self, map: &mut Map<String, Value>, key: &str) -> Option<()> {
        match self {
            Self::Add { value, .. } => {
                map.insert(key.to_owned(), value.clone());
                Some(())
            }
            Self::Replace { value, .. } => map.get_mut(key).map(|v| v.clone_from(value)),
            Self::Remove { .. } => map.remove(key).map(drop),
        }
    }

    fn apply_to_list(&self, list: &mut Vec<Value>, token: &str) -> Option<()> {
        match self {
            Self::Add { value, .. } => {
                let at = if token == "-" { list.len() } else { index(token)? };
                (at <= list.len()).then(|| list.insert(at, value.clone()))
            }
            Self::Replace { value, .. } => list.get_mut(index(token)?).map(|v| v.clone_from(value)),
            Self::Remove { .. } => {
                let at = index(token)?;
                (at < list.len()).then(|| drop(list.remove(at)))
            }
        }
    }
}

/// Applies a whole patch.
pub(super) fn apply(patch: &[PatchOp], object: &mut Value) -> Result<(), PatchError> {
    patch.iter().try_for_each(|op| op.apply(object))
}

/// An index, as RFC 6901 has it: without sign and leading zeros.
fn index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|b| b.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    token.parse().ok().filter(|_| plain)
}

/// A token of a JSON pointer (RFC 6901), escaped.
pub(super) fn token(text: &str) -> String {
    text.replace('~', "~0").replace('/', "~1")
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// A JSON pointer.
pub(super) fn pointer(path: &[&str]) -> String {
    path.iter().fold(String::new(), |out, step| out + "/" + &token(step))
}

/// What sets the field at `path` of a raw object: maps on the way that are not there, or null, are made empty first.
pub(super) fn set(object: &RawValue, path: &[&str], value: impl Into<Value>) -> Vec<PatchOp> {
    let Some((_, parents)) = path.split_last() else { return Vec::new() };
    let made = depth(object.get(), parents)..parents.len();
    let made = made.map(|i| PatchOp::add(pointer(&parents[..=i]), Map::new()));
    made.chain([PatchOp::add(pointer(path), value)]).collect()
}

/// How many steps of a path are there. Each step reads one level, and skips what is below.
fn depth(text: &str, path: &[&str]) -> usize {
    let Some((first, rest)) = path.split_first() else { return 0 };
    let Ok(map) = serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(text) else { return 0 };
    match map.get(*first) {
        Some(value) if value.get() != "null" => 1 + depth(value.get(), rest),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn parents_that_are_not_there_are_made() {
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

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), (0..9u8).prop_map(Value::from)];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab/~0]{0,2}", inner, 0..4).prop_map(|m| m.into_iter().collect()),
            ]
        })
    }

    fn pointers() -> impl Strategy<Value = String> {
        let step = prop_oneof!["[ab0-3]", Just("-".to_owned()), Just("~0".to_owned()), Just("~1".to_owned()), "0[0-2]"];
        prop::collection::vec(step, 0..4).prop_map(|steps| steps.iter().fold(String::new(), |out, s| out + "/" + s))
    }

    fn operations() -> impl Strategy<Value = PatchOp> {
        (0..3, pointers(), documents()).prop_map(|(which, path, value)| match which {
            0 => PatchOp::Add { path, value },
            1 => PatchOp::Replace { path, value },
            _ => PatchOp::Remove { path },
        })
    }

    proptest! {
        #[test]
        fn patches_are_applied_as_json_patch_applies_them(
            document in documents(), operations in prop::collection::vec(operations(), 0..4),
        ) {
            for op in operations {
                let theirs: json_patch::Patch = serde_json::from_value(json!([op])).unwrap();
                // It lets the whole document be removed; no rule asks for that.
                prop_assume!(op != PatchOp::remove(""));
                let (mut ours_out, mut theirs_out) = (document.clone(), document.clone());
                let ours = op.apply(&mut ours_out);
                let theirs = json_patch::patch(&mut theirs_out, &theirs);
                prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} on {}: {:?} {:?}", op, document, ours, theirs);
                if ours.is_ok() {
                    prop_assert_eq!(ours_out, theirs_out);
                }
            }
        }
    }
}
