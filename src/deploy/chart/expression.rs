//! Expressions of Helm, as the strings of a template hold them ([`super::template`]).

use serde_json::{Value, json};

/// An expression in place of a value.
pub(super) fn value(expression: &str) -> String {
    ["{{ ", expression, " }}"].concat()
}

/// A line of its own; before a key, what the key depends on.
pub(super) fn line(expression: &str) -> String {
    ["{{- ", expression, " }}"].concat()
}

/// A value of the user, as YAML below a key.
pub(super) fn yaml(path: &str) -> String {
    line(&format!("toYaml {path} | nindent @"))
}

/// A key, present if the user gives it a value, which is then `.`.
pub(super) fn with(path: &str, key: &str) -> String {
    line(&format!("with {path}")) + key
}

/// The same, with the value.
pub(super) fn optional(path: &str, key: &str) -> (String, Value) {
    (with(path, key), json!(yaml(".")))
}

/// Lines of a user, in a map or a list.
pub(super) fn more(path: &str) -> String {
    [&line(&format!("with {path}")), "{{ toYaml . | nindent @ }}", &line("end")].concat()
}

/// Items of a list, rendered under a condition.
pub(super) fn items_if(condition: &str, items: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all = vec![json!(line(&format!("if {condition}")))];
    all.extend(items);
    all.push(json!(line("end")));
    all
}

/// The items of a user's list, in a list.
pub(super) fn with_items(path: &str) -> [Value; 3] {
    [json!(line(&format!("with {path}"))), json!(yaml(".")), json!(line("end"))]
}
