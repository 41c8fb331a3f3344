//! Files and documents of a directory that are not manifests.

use std::{fmt, ops::Range};

use roster_engine::model::{installed::POLICY_GROUP, json::raw::JsonMembers};
use serde::{
    Deserializer, Serialize,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::decode::ignored_scalars::ignore_scalars;

/// Why a file or a document is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skip {
    /// A template of Helm, envsubst or another program: it has `{{` or `${NAME}`.
    Template,
    /// `Chart.yaml`.
    Chart,
    /// A kustomization: it lists manifests.
    Kustomization,
    /// A patch of a kustomization: a part of a manifest.
    Patch,
    /// YAML or JSON without `apiVersion` and `kind`, such as `values.yaml`.
    NotManifest,
    /// A file of Roster: tests, waivers, a baseline.
    RosterFile,
    /// Nothing but comments.
    Empty,
    /// A link to nothing, a named pipe, a socket or a device.
    SpecialFile,
}

impl Skip {
    /// Why a document is not checked; `None` if it is a manifest.
    pub fn of_document(file: &str, object: &RawValue) -> Option<Self> {
        let Ok(members) = JsonMembers::read(object) else { return Some(Self::NotManifest) };
        let (api_version, kind) = (members.text("apiVersion"), members.text("kind"));
        let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
        if super::kustomize::is_kustomization(name) || api_version.starts_with("kustomize.config.k8s.io/") {
            return Some(Self::Kustomization);
        }
        let is_own = ["Test", "LintWaivers", "LintBaseline"].contains(&&*kind);
        if is_own && api_version.split_once('/').is_some_and(|(group, _)| group == POLICY_GROUP) {
            return Some(Self::RosterFile);
        }
        if kind.is_empty() && members.get("kind").is_none() {
            if name.starts_with("Chart.") {
                return Some(Self::Chart);
            }
            if api_version.is_empty() {
                return Some(Self::NotManifest);
            }
        }
        is_template(object).then_some(Self::Template)
    }

    /// What it is.
    pub fn word(self) -> &'static str {
        self.words().0
    }

    /// What it is, for several of them: `3 templates`.
    pub fn counted(self, count: usize) -> String {
        let (one, many) = self.words();
        format!("{count} {}", if count == 1 { one } else { many })
    }

    /// The words for one and for several.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Template => ("template", "templates"),
            Self::Chart => ("Chart.yaml", "Chart.yaml"),
            Self::Kustomization => ("kustomization", "kustomizations"),
            Self::Patch => ("patch", "patches"),
            Self::NotManifest => ("without apiVersion and kind", "without apiVersion and kind"),
            Self::RosterFile => ("Roster file", "Roster files"),
            Self::Empty => ("empty", "empty"),
            Self::SpecialFile => ("broken link or special file", "broken links or special files"),
        }
    }
}

/// Texts of an object that programs in its pods expand, and not the tool that writes the object; and the image, of which
/// no check knows more than that it is a string.
const FOREIGN: [&str; 8] = ["annotations", "command", "args", "env", "data", "stringData", "binaryData", "image"];

/// Whether the object has `{{` or `${NAME}` where only a template has it: not in commands or annotations.
pub fn is_template(object: &RawValue) -> bool {
    let mut found = false;
    if object.get().contains("{{") || object.get().contains("${") {
        // Reading ends at the first one, which the parser takes for an error.
        let _ = Placeholders(&mut found).deserialize(&mut serde_json::Deserializer::from_str(object.get()));
    }
    found
}

/// Whether a string has a placeholder.
fn is_placeholder(text: &str) -> bool {
    text.contains("{{") || placeholder(text).is_some()
}

/// Where the first `${NAME}` is, as envsubst and Flux replace it, or `${NAME:-default}`.
fn placeholder(text: &str) -> Option<Range<usize>> {
    let (mut from, mut end) = (0, 0);
    while let Some(start) = text[from..].find("${").map(|at| from + at) {
        from = start + 2;
        // The end is the same for many beginnings.
        if end < from {
            end = from + text[from..].find(['}', '\n'])?;
        }
        let inner = &text.as_bytes()[from..];
        let name = inner.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let follows = inner.get(name).is_some_and(|b| b"}:-=".contains(b));
        if text.as_bytes()[end] == b'}' && name > 0 && !inner[0].is_ascii_digit() && follows {
            return Some(start..end + 1);
        }
    }
    None
}

/// The text with a word of the same length for each `${NAME}`; `None` if it has none.
pub fn without_placeholders(text: &str) -> Option<String> {
    let (mut rest, mut replaced) = (text, String::new());
    while let Some(range) = placeholder(rest) {
        replaced.push_str(&rest[..range.start]);
        replaced.extend(range.clone().map(|_| 'x'));
        rest = &rest[range.end..];
    }
    if replaced.is_empty() { None } else { Some(replaced + rest) }
}

/// Looks for placeholders in the strings of a value.
struct Placeholders<'a>(&'a mut bool);

impl<'de> DeserializeSeed<'de> for Placeholders<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Placeholders<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        *self.0 |= is_placeholder(text);
        Ok(())
    }

    ignore_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Placeholders(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            *self.0 |= is_placeholder(&name);
            if FOREIGN.contains(&name.as_str()) {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(Placeholders(&mut *self.0))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_a_manifest_is_recognized() {
        let service = |name: &str| json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name } });
        let args = json!({ "apiVersion": "v1", "kind": "Pod", "spec": { "containers": [{ "args": ["{{x}}"] }] } });
        for (file, object, want) in [
            ("a.yaml", service("web"), None),
            ("a.yaml", service("{{ .Release.Name }}-web"), Some(Skip::Template)),
            ("a.yaml", args, None),
            ("a.yaml", service("${APP}"), Some(Skip::Template)),
            ("a.yaml", service("web-${APP:-x}"), Some(Skip::Template)),
            ("a.yaml", service("$web-${}-${1}-${a b}"), None),
            ("a.yaml", json!({ "replicas": 1 }), Some(Skip::NotManifest)),
            ("a.yaml", json!(5), Some(Skip::NotManifest)),
            // It is meant as a manifest.
            ("a.yaml", json!({ "apiVersion": "v1", "metadata": {} }), None),
            ("t.yaml", json!({ "apiVersion": "roster.dev/v1alpha1", "kind": "Test" }), Some(Skip::RosterFile)),
            ("charts/web/Chart.yaml", json!({ "apiVersion": "v2", "name": "web" }), Some(Skip::Chart)),
            ("base/kustomization.yaml", json!({ "resources": ["web.yaml"] }), Some(Skip::Kustomization)),
            (
                "k.yaml",
                json!({ "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Component" }),
                Some(Skip::Kustomization),
            ),
        ] {
            let raw = serde_json::value::to_raw_value(&object).unwrap();
            assert_eq!(Skip::of_document(file, &raw), want, "{file} {object}");
        }
    }

    #[test]
    fn placeholders_are_replaced_by_words() {
        for (text, want) in [
            ("a: 1", None),
            ("a: ${", None),
            ("a: ${A\n}", None),
            ("{a: ${A}}", Some("{a: xxxx}")),
            ("${A:=b c}: ${", Some("xxxxxxxxx: ${")),
            ("é${_a1-}${A}é", Some("éxxxxxxxxxxxé")),
        ] {
            assert_eq!(without_placeholders(text).as_deref(), want, "{text}");
        }
    }
}
