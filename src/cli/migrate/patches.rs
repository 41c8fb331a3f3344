//! Merge patches, and the commands of `kubectl` that apply them.

use roster_engine::model::{Text, dns};
use serde::Serialize;
use serde_json::Value;

/// A patch of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ObjectPatch {
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<Text>,
    pub(super) name: Text,
    /// A JSON merge patch: `null` removes a field.
    pub(super) patch: Value,
    /// What a user must know of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

impl ObjectPatch {
    /// Whether an API server may have stored an object of this name and namespace.
    pub(super) fn has_possible_names(&self) -> bool {
        match &self.namespace {
            None => dns::is_subdomain(self.name.as_bytes()),
            Some(namespace) => [namespace, &self.name].iter().all(|name| dns::is_label(name.as_bytes())),
        }
    }

    /// Kind, namespace and name.
    pub(super) fn object(&self) -> String {
        match &self.namespace {
            None => format!("{} {}", self.kind, self.name),
            Some(namespace) => format!("{} {namespace}/{}", self.kind, self.name),
        }
    }

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
                notes: Vec::new(),
            };
            assert_eq!(patch.command(), want);
        }
    }

    #[test]
    fn names_are_names_and_not_flags() {
        for (kind, namespace, name, want) in [
            ("Service", Some("shop"), "web", true),
            ("Service", Some("shop"), "--server=https://evil.example", false),
            ("Service", Some("shop"), "-f", false),
            ("Service", Some("--all"), "web", false),
            ("Service", Some("shop"), "web.1", false),
            ("Service", Some("shop"), "x;rm -rf $(touch pwn) '", false),
            ("Service", Some(""), "web", false),
            ("Node", None, "n1.example.com", true),
            ("Node", None, "n`id`;x", false),
            ("Node", None, "-n", false),
        ] {
            let (namespace, name) = (namespace.map(Into::into), name.into());
            let patch = ObjectPatch { kind, namespace, name, patch: json!({}), notes: Vec::new() };
            assert_eq!(patch.has_possible_names(), want, "{}", patch.object());
        }
    }
}
