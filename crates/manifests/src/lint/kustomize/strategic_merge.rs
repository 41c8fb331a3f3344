//! Strategic merge patches: objects that name only what they change, with lists that are merged by a field of their elements.

use serde_json::{Map, Value};

/// What a patch says of a list or a map beside its elements.
const DIRECTIVE: &str = "$patch";

/// Most pairs of an element of a patch and one of a list that are compared.
const MAX_PAIRS: usize = 1 << 18;

/// The fields that tell elements of a list apart, for the lists of Services and pods that are merged. All others are
/// replaced. Source: `x-kubernetes-patch-merge-key` and `x-kubernetes-list-map-keys` of Kubernetes' `OpenAPI`.
fn merge_keys(list: &str, element: &Map<String, Value>) -> &'static [&'static str] {
    match list {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "resourceClaims" => &["name"],
        "ports" if element.contains_key("containerPort") => &["containerPort", "protocol"],
        "ports" if element.contains_key("port") => &["port", "protocol"],
        "volumeMounts" => &["mountPath"],
        "volumeDevices" => &["devicePath"],
        "hostAliases" => &["ip"],
        "topologySpreadConstraints" => &["topologyKey", "whenUnsatisfiable"],
        "ownerReferences" => &["uid"],
        _ => &[],
    }
}

/// What a patch makes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MergedObject {
    /// This.
    Kept(Value),
    /// Nothing: it removes the object.
    Removed,
}

/// It is not known what kustomize makes of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unpredictable;

/// An object with a patch. `has_schema`: its kind is Kubernetes' own, so that its lists are merged.
pub(super) fn merge(object: Value, patch: &Value, has_schema: bool) -> Result<MergedObject, Unpredictable> {
    Ok(merge_value("", Some(object), patch, has_schema)?.map_or(MergedObject::Removed, MergedObject::Kept))
}

/// The value of a field with its patch; `None` if the patch removes it.
fn merge_value(
    field: &str,
    old: Option<Value>,
    patch: &Value,
    has_schema: bool,
) -> Result<Option<Value>, Unpredictable> {
    match (old, patch) {
        (_, Value::Null) => Ok(None),
        (Some(Value::Object(old)), Value::Object(patch)) => merge_map(old, patch, has_schema),
        (_, Value::Object(patch)) => merge_map(Map::new(), patch, has_schema),
        (old, Value::Array(patch)) => {
            let old = if let Some(Value::Array(old)) = old { old } else { Vec::new() };
            merge_list(field, old, patch, has_schema).map(|list| Some(Value::Array(list)))
        }
        (_, scalar) => Ok(Some(scalar.clone())),
    }
}

fn merge_map(
    old: Map<String, Value>,
    patch: &Map<String, Value>,
    has_schema: bool,
) -> Result<Option<Value>, Unpredictable> {
    let mut merged = match patch.get(DIRECTIVE).map(Value::as_str) {
        None | Some(Some("merge")) => old,
        Some(Some("replace")) => Map::new(),
        Some(Some("delete")) => return Ok(None),
        Some(_) => return Err(Unpredictable),
    };
    for (field, change) in patch.iter().filter(|(field, _)| *field != DIRECTIVE) {
        if field.starts_with('$') {
            return Err(Unpredictable);
        }
        if let Some(value) = merge_value(field, merged.remove(field), change, has_schema)? {
            merged.insert(field.clone(), value);
        }
    }
    Ok(Some(Value::Object(merged)))
}

/// What a patch names goes in front of the other elements, as kustomize puts it.
fn merge_list(field: &str, old: Vec<Value>, patch: &[Value], has_schema: bool) -> Result<Vec<Value>, Unpredictable> {
    let keys = |element: &Value| element.as_object().map(|map| merge_keys(field, map)).unwrap_or_default();
    let directive = |element: &Value| element[DIRECTIVE].as_str().map(str::to_owned);
    // An element with nothing but the directive is about the list.
    let is_whole = |element: &Value| element.as_object().is_some_and(|map| map.len() == 1);
    let of_list = patch.iter().filter(|element| is_whole(element)).find_map(directive);
    let changes: Vec<&Value> =
        patch.iter().filter(|element| !(is_whole(element) && directive(element).is_some())).collect();
    let is_merged = has_schema && changes.iter().all(|change| !keys(change).is_empty());
    let mut merged = match of_list.as_deref() {
        Some("delete") => return Ok(Vec::new()),
        None if is_merged => old,
        None | Some("replace") => Vec::new(),
        Some(_) => return Err(Unpredictable),
    };
    if is_merged
        && let Some(first) = changes.first()
        && is_mixed(keys(first), changes.iter().copied().chain(&merged))
    {
        return Err(Unpredictable);
    }
    // Each change is compared with each element.
    if is_merged && changes.len().saturating_mul(merged.len()) > MAX_PAIRS {
        return Err(Unpredictable);
    }
    let mut changed = Vec::new();
    for change in changes {
        let of = if is_merged { keys(change) } else { &[] };
        let is_same = |other: &Value| !of.is_empty() && of.iter().all(|key| other.get(key) == change.get(key));
        let old = merged.iter().position(is_same).map(|place| merged.remove(place));
        changed.extend(merge_value("", old, change, has_schema)?);
    }
    changed.extend(merged);
    Ok(changed)
}

/// Whether only some elements of a list have the second of its keys. What kustomize makes of these depends on all of them: it
/// may drop a change without a word.
fn is_mixed<'e>(keys: &[&str], mut elements: impl Iterator<Item = &'e Value>) -> bool {
    let [_, second] = keys else { return false };
    let has_second = |element: &Value| element.get(second).is_some();
    let first = elements.next().map(has_second);
    elements.any(|element| Some(has_second(element)) != first)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As `kubectl kustomize` writes them.
    #[test]
    fn patches_change_what_they_name() {
        let port = |number: i64, name: &str| json!({ "containerPort": number, "name": name });
        let container = |ports: Value| json!({ "containers": [{ "name": "web", "ports": ports }] });
        for (name, old, patch, want) in [
            ("a scalar", json!({ "a": 1, "b": 2 }), json!({ "a": 3 }), json!({ "a": 3, "b": 2 })),
            ("null removes", json!({ "a": 1, "b": 2 }), json!({ "a": null, "c": null }), json!({ "b": 2 })),
            (
                "maps are merged",
                json!({ "m": { "a": 1 } }),
                json!({ "m": { "b": 2 } }),
                json!({ "m": { "a": 1, "b": 2 } }),
            ),
            (
                "a map that is replaced",
                json!({ "m": { "a": 1 } }),
                json!({ "m": { "$patch": "replace", "b": 2 } }),
                json!({ "m": { "b": 2 } }),
            ),
            (
                "a map that is removed",
                json!({ "m": { "a": 1 }, "b": 1 }),
                json!({ "m": { "$patch": "delete" } }),
                json!({ "b": 1 }),
            ),
            (
                "other lists are replaced",
                json!({ "args": ["a", "b"] }),
                json!({ "args": ["c"] }),
                json!({ "args": ["c"] }),
            ),
            (
                "a port of another number is added",
                container(json!([port(80, "http")])),
                container(json!([port(81, "admin")])),
                container(json!([port(81, "admin"), port(80, "http")])),
            ),
            (
                "a port gets another name",
                container(json!([port(80, "http")])),
                container(json!([port(80, "web")])),
                container(json!([port(80, "web")])),
            ),
            (
                "a port is removed",
                container(json!([port(80, "http"), port(81, "admin")])),
                container(json!([{ "containerPort": 80, "$patch": "delete" }])),
                container(json!([port(81, "admin")])),
            ),
            (
                "the ports are replaced",
                container(json!([port(80, "http")])),
                container(json!([{ "$patch": "replace" }, port(81, "admin")])),
                container(json!([port(81, "admin")])),
            ),
        ] {
            assert_eq!(merge(old, &patch, true), Ok(MergedObject::Kept(want)), "{name}");
        }
    }

    #[test]
    fn lists_of_unknown_kinds_are_replaced() {
        let list = |name: &str| json!({ "containers": [{ "name": name }] });
        assert_eq!(merge(list("a"), &list("b"), false), Ok(MergedObject::Kept(list("b"))));
    }

    #[test]
    fn an_object_is_removed_and_what_is_not_known_is_reported() {
        let port = json!({ "port": 80, "protocol": "TCP" });
        let object = json!({ "a": 1, "l": [1], "ports": [port] });
        assert_eq!(merge(object.clone(), &json!({ "$patch": "delete" }), true), Ok(MergedObject::Removed));
        for patch in [
            json!({ "$patch": "other" }),
            json!({ "$retainKeys": ["a"] }),
            json!({ "l": [{ "$patch": "merge" }] }),
            json!({ "$setElementOrder/l": [] }),
            json!({ "ports": [{ "port": 80 }] }),
        ] {
            assert_eq!(merge(object.clone(), &patch, true), Err(Unpredictable), "{patch}");
        }
    }
}
