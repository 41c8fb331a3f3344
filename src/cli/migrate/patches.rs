//! Merge patches, and the commands of `kubectl` that apply them.

use serde::Serialize;
use serde_json::Value;

use crate::model::Text;

/// A patch of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ObjectPatch {
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<Text>,
    pub(super) name: Text,
    /// A JSON merge patch: `null` removes a field.
    pub(super) patch: Value,
}

impl ObjectPatch {
    /// The command that applies the patch, for a POSIX shell.
    pub(super) fn command(&self) -> String {
        let namespace =
            self.namespace.as_ref().map(|name| format!(" --namespace {}", quoted(name))).unwrap_or_default();
        let (kind, name) = (self.kind.to_lowercase(), quoted(&self.name));
        format!("kubectl patch {kind} {name}{namespace} --type merge --patch {}", quoted(&self.patch.to_string()))
    }
}

/// A word for a POSIX shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_are_quoted() {
        for (name, want) in [
            ("web", "kubectl patch service web --namespace shop --type merge --patch '{\"a\":\"it'\\''s\"}'"),
            (
                "a b;$(c)",
                "kubectl patch service 'a b;$(c)' --namespace shop --type merge --patch '{\"a\":\"it'\\''s\"}'",
            ),
        ] {
            let patch = ObjectPatch {
                kind: "Service",
                namespace: Some("shop".into()),
                name: name.into(),
                patch: json!({ "a": "it's" }),
            };
            assert_eq!(patch.command(), want);
        }
    }
}
