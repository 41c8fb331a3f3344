//! What a conversion could not keep.

use serde::Serialize;
use serde_json::Value;

use crate::model::ObjectKey;

/// A field that the result does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// The object that had it.
    pub object: ObjectKey,
    /// The field, as Kubernetes writes paths: `endpoints[0].zone`.
    pub field: String,
    /// Why.
    pub why: String,
    /// How many more fields of the object were lost for the same reason.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// What was lost of one object, in order; what was lost for one reason is told once.
#[derive(Debug)]
pub(super) struct Losses {
    object: ObjectKey,
    list: Vec<Lost>,
}

impl Losses {
    pub(super) fn of(object: ObjectKey) -> Self {
        Self { object, list: Vec::new() }
    }

    pub(super) fn note(&mut self, field: impl Into<String>, why: &str) {
        if let Some(lost) = self.list.iter_mut().find(|l| l.why == why) {
            lost.more += 1;
            return;
        }
        self.list.push(Lost { object: self.object.clone(), field: field.into(), why: why.to_owned(), more: 0 });
    }

    /// Notes every field of `source` that `read`, which was made of it, does not have.
    pub(super) fn note_unread(&mut self, source: &Value, read: &Value) {
        self.unread(source, read, &mut String::new());
    }

    fn unread(&mut self, source: &Value, read: &Value, at: &mut String) {
        let here = at.len();
        match (source, read) {
            (Value::Object(source), Value::Object(read)) => {
                for (name, value) in source {
                    at.extend([if here == 0 { "" } else { "." }, name]);
                    match read.get(name) {
                        Some(read) => self.unread(value, read, at),
                        // Who wrote which field is not part of what was written.
                        None if is_nothing(value) || at == "metadata.managedFields" => {}
                        None => self.note(at.as_str(), "this build does not know the field"),
                    }
                    at.truncate(here);
                }
            }
            (Value::Array(source), Value::Array(read)) => {
                for (i, (source, read)) in source.iter().zip(read).enumerate() {
                    at.extend(["[", &i.to_string(), "]"]);
                    self.unread(source, read, at);
                    at.truncate(here);
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(self) -> Vec<Lost> {
        self.list
    }
}

/// Whether a value says no more than its absence.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(n) => n.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}
