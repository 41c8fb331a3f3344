//! The fields that a conversion loses.

use roster_engine::model::ObjectKey;
use serde::Serialize;
use serde_json::Value;

/// A field that a conversion loses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostField {
    /// The object with the field.
    pub object: ObjectKey,
    /// The field, as Kubernetes writes paths: `endpoints[0].zone`.
    pub field: String,
    /// Why.
    pub why: String,
    /// How many more fields of the object are lost for the same reason.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// Collects the lost fields of one object, in order. Fields with the same reason are counted under the first one.
#[derive(Debug)]
pub(super) struct Losses {
    object: ObjectKey,
    list: Vec<LostField>,
}

impl Losses {
    pub(super) fn of(object: ObjectKey) -> Self {
        Self { object, list: Vec::new() }
    }

    /// Adds a lost field.
    pub(super) fn add(&mut self, field: impl Into<String>, why: &str) {
        if let Some(lost) = self.list.iter_mut().find(|l| l.why == why) {
            lost.more += 1;
            return;
        }
        self.list.push(LostField { object: self.object.clone(), field: field.into(), why: why.to_owned(), more: 0 });
    }

    /// Adds every field of `source` that is missing in `read`, which was parsed from it.
    pub(super) fn add_unread(&mut self, source: &Value, read: &Value) {
        self.compare(source, read, &mut String::new());
    }

    fn compare(&mut self, source: &Value, read: &Value, at: &mut String) {
        let here = at.len();
        match (source, read) {
            (Value::Object(source), Value::Object(read)) => {
                for (name, value) in source {
                    at.extend([if here == 0 { "" } else { "." }, name]);
                    match read.get(name) {
                        Some(read) => self.compare(value, read, at),
                        // Managed fields are not part of the content.
                        None if is_zero_value(value) || at == "metadata.managedFields" => {}
                        None => self.add(at.as_str(), "this version of Roster does not know the field"),
                    }
                    at.truncate(here);
                }
            }
            (Value::Array(source), Value::Array(read)) => {
                for (i, (source, read)) in source.iter().zip(read).enumerate() {
                    at.extend(["[", &i.to_string(), "]"]);
                    self.compare(source, read, at);
                    at.truncate(here);
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(self) -> Vec<LostField> {
        self.list
    }
}

/// Whether a value means the same as a missing one.
fn is_zero_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(n) => n.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}
