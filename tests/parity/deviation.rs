//! Where Roster differs from the reference on purpose; PARITY.md gives the reasons.
//!
//! Looked at only after the answers were found different, so that a state that merely could deviate is
//! still compared.

use serde_json::Value;

/// The deviation that explains a difference, if one does.
pub(crate) fn known(case: &Value, reference: &Value) -> Option<&'static str> {
    if reference["error"].as_str().is_some_and(|e| e.starts_with("panic:")) {
        return Some("the reference panics");
    }
    if creates_what_is_there(case, reference) {
        return Some("the reference creates a mirrored slice under a name that is taken");
    }
    if writes_nil(reference) {
        return Some("the reference publishes the address \"<nil>\" for a pod IP that is none");
    }
    None
}

/// From 1.33 an address that cannot be parsed is printed as Go prints a missing one. An API server refuses
/// the object, for ever; Roster leaves the address out and says so.
fn writes_nil(reference: &Value) -> bool {
    match reference {
        Value::String(text) => text == "<nil>",
        Value::Array(list) => list.iter().any(writes_nil),
        Value::Object(map) => map.values().any(writes_nil),
        _ => false,
    }
}

/// When it recycles slices, the mirroring controller takes the wrong slice off its list of creations if
/// both address families have some: it then creates one that it also updates, which an API server
/// refuses, and forgets another until the retry.
fn creates_what_is_there(case: &Value, reference: &Value) -> bool {
    let stored = case["endpointSlices"].as_array().map_or(&[][..], Vec::as_slice);
    let actions = reference["actions"].as_array().map_or(&[][..], Vec::as_slice);
    case["controller"] == "mirroring"
        && actions
            .iter()
            .filter(|a| a["verb"] == "create")
            .any(|a| stored.iter().any(|s| s["metadata"]["name"] == a["name"]))
}
