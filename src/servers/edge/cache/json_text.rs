//! Members of JSON objects as text.

use roster_engine::model::json::raw::JsonNode;
use serde_json::value::RawValue;

/// Writes members, separated by commas.
pub(super) fn write_members<'m, 'a: 'm>(out: &mut String, members: impl Iterator<Item = (&'m str, &'m JsonNode<'a>)>) {
    for (i, (name, value)) in members.enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_member(out, name, value);
    }
}

/// Writes a name and its value.
pub(super) fn write_member(out: &mut String, name: &str, value: &JsonNode<'_>) {
    out.push_str(&json_text(name));
    out.push(':');
    match value {
        JsonNode::Raw(raw) => out.push_str(raw.get()),
        // What was parsed from JSON serializes again.
        other => out.push_str(serde_json::value::to_raw_value(other).as_deref().unwrap_or(RawValue::NULL).get()),
    }
}

/// A string of JSON.
pub(crate) fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
