//! Files and documents of a directory that are not manifests.

use std::{fmt, ops::Range};

use memchr::{memchr, memchr2};
use roster_engine::model::{
    Resource,
    installed::POLICY_GROUP,
    json::raw::{JsonMembers, JsonNode},
    spelling::typo,
};
use serde::{
    Deserializer, Serialize,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::ClusterTests;
use crate::decode::{Document, ignored_scalars::ignore_scalars};

/// Why a file or a document is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skip {
    /// A template of Helm, envsubst, kustomize, ytt or another program: it has `{{`, `${NAME}`, `$(NAME)`, `@NAME@`, `#@` or `#{NAME}`; or
    /// a form with blanks such as `<your name>` for people.
    Template,
    /// `Chart.yaml`.
    Chart,
    /// The index of a repository of Helm: `index.yaml`.
    ChartIndex,
    /// A kustomization: it lists manifests.
    Kustomization,
    /// What a kustomization reads beside manifests: a patch, a configuration, the file of a generator.
    Patch,
    /// A manifest that no kustomization lists, in the folder of one: it is not applied.
    NotListed,
    /// YAML or JSON without `apiVersion` and `kind`, such as `values.yaml`.
    NotManifest,
    /// A test that kuttl or chainsaw runs in a cluster, or parts of objects that it compares with.
    ClusterTest,
    /// Encrypted by SOPS.
    Encrypted,
    /// A part of an object, in a patch, a test or its data: it lacks what every object has.
    Partial,
    /// A copy of another project, in a folder `vendor` or `node_modules`.
    Vendored,
    /// A file of Roster: tests, waivers, a baseline.
    RosterFile,
    /// Nothing but comments.
    Empty,
    /// A link to nothing, a named pipe, a socket or a device.
    SpecialFile,
}

impl Skip {
    /// Why a document is not checked; `None` if it is a manifest.
    pub fn of_document(file: &str, document: &Document<'_>) -> Option<Self> {
        let Ok(members) = document.open() else { return Some(Self::NotManifest) };
        let object = &document.raw;
        let (api_version, kind) = (members.text("apiVersion"), members.text("kind"));
        let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
        if super::is_kustomization(name) || api_version.starts_with("kustomize.config.k8s.io/") {
            return Some(Self::Kustomization);
        }
        if ClusterTests::is_test(&api_version) {
            return Some(Self::ClusterTest);
        }
        let is_own = ["Test", "LintWaivers", "LintBaseline", "LintSeverities"].contains(&&*kind);
        if is_own && api_version.split_once('/').is_some_and(|(group, _)| group == POLICY_GROUP) {
            return Some(Self::RosterFile);
        }
        if is_encrypted(&members) {
            return Some(Self::Encrypted);
        }
        let has = |field: &str| members.get(field).is_some();
        let is_of_kubernetes = || has("spec") && Resource::ALL.iter().any(|own| own.kind() == kind);
        if api_version.is_empty() && !has("apiVersion") && !has("metadata") && !is_of_kubernetes() {
            return Some(if is_template(object) { Self::Template } else { Self::NotManifest });
        }
        if kind.is_empty() && members.get("kind").is_none_or(JsonNode::is_null) {
            if name.starts_with("Chart.") {
                return Some(Self::Chart);
            }
            if name.starts_with("index.") && has("entries") {
                return Some(Self::ChartIndex);
            }
            let is_manifest = has("metadata") || has("spec") && is_version(&api_version);
            if api_version.is_empty() || !is_manifest {
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

    /// How many there are of each reason, in words.
    pub fn counts(all: impl Iterator<Item = Self>) -> Vec<String> {
        let mut all: Vec<Self> = all.collect();
        all.sort_unstable();
        let alike = all.chunk_by(PartialEq::eq);
        alike.filter_map(|alike| Some(alike.first()?.counted(alike.len()))).collect()
    }

    /// The words for one and for several.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Template => ("template", "templates"),
            Self::Chart => ("Chart.yaml", "Chart.yaml"),
            Self::ChartIndex => ("chart repository index", "chart repository indexes"),
            Self::Kustomization => ("kustomization", "kustomizations"),
            Self::Patch => ("patch", "patches"),
            Self::NotListed => {
                ("manifest that its kustomization does not list", "manifests that their kustomizations do not list")
            }
            Self::NotManifest => ("without apiVersion and kind", "without apiVersion and kind"),
            Self::ClusterTest => ("test of kuttl or chainsaw", "tests of kuttl or chainsaw"),
            Self::Encrypted => ("encrypted by SOPS", "encrypted by SOPS"),
            Self::Partial => ("part of an object", "parts of objects"),
            Self::Vendored => ("vendored manifest", "vendored manifests"),
            Self::RosterFile => ("Roster file", "Roster files"),
            Self::Empty => ("empty", "empty"),
            Self::SpecialFile => ("broken link or special file", "broken links or special files"),
        }
    }
}

/// Whether a version has the form of Kubernetes' own, as `v1` and `apps/v1beta2`: others are those of other programs.
fn is_version(api_version: &str) -> bool {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    version.strip_prefix('v').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether SOPS has encrypted values of the object: it adds how, and the hash of all values.
fn is_encrypted(members: &JsonMembers<'_>) -> bool {
    let sops = members.get("sops").and_then(JsonNode::open);
    sops.is_some_and(|sops| sops.get("mac").is_some() && sops.get("version").is_some())
}

/// Whether a file is a copy of another project.
pub fn is_vendored(file: &str) -> bool {
    let folders = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    folders.split('/').any(|folder| ["vendor", "node_modules"].contains(&folder))
}

/// Texts of an object that programs in its pods expand, and not the tool that writes the object; and the image, of which
/// no check knows more than that it is a string.
const FOREIGN: [&str; 11] = [
    "annotations",
    "command",
    "args",
    "env",
    "data",
    "stringData",
    "binaryData",
    "image",
    // As people write them who mean others.
    "cmd",
    "environment",
    "exec",
];

/// Whether a field is probably meant to be one that has such texts: a typo makes no template.
fn is_like_foreign(field: &str) -> bool {
    FOREIGN.iter().any(|foreign| typo(field, foreign).is_some())
}

/// Fields whose values, and those of the members in them, are names and labels: there, kustomize replaces `$(NAME)`.
/// Elsewhere, pods and custom resources have such texts of their own.
const NAMED: [&str; 6] = ["name", "namespace", "labels", "commonLabels", "matchLabels", "selector"];

/// What an object with a placeholder has somewhere in its text, if it has neither `@` nor `<`. In YAML, `name: {NAME}` is a map.
const MARKS: [&str; 11] = [
    "{{",
    "\"name\":{",
    "\"namespace\":{",
    "\"serviceAccountName\":{",
    "__",
    "CHANGE",
    "NAME",
    "PLACEHOLDER",
    "REPLACE",
    "TODO",
    "YOUR",
];

/// The same, if it has a `$`.
const MARKS_OF_VARIABLES: [&str; 5] = ["\"$", "${", "$(", "($", "$$"];

/// Whether the text of an object has a mark of a placeholder.
fn has_mark(object: &str) -> bool {
    let has_one = |marks: &[&str]| marks.iter().any(|mark| object.contains(mark));
    let may_have_variable = || memchr(b'$', object.as_bytes()).is_some();
    memchr2(b'@', b'<', object.as_bytes()).is_some()
        || may_have_variable() && has_one(&MARKS_OF_VARIABLES)
        || has_one(&MARKS)
}

/// Whether the object has `{{` or `${NAME}` where only a template has it: not in commands or annotations; or `$(NAME)` in
/// names or labels.
pub fn is_template(object: &RawValue) -> bool {
    let mut found = false;
    if has_mark(object.get()) {
        // The text is JSON already. A number that no type holds ends the search.
        let _ = Placeholders { found: &mut found, place: Place::default() }
            .deserialize(&mut serde_json::Deserializer::from_str(object.get()));
    }
    found
}

/// Whether an object that is a template may be a manifest when it is rendered: a dashboard with `{{pod}}` is none.
pub fn may_become_manifest(object: &RawValue) -> bool {
    let Ok(members) = JsonMembers::read(object) else { return true };
    members.names().any(|name| ["apiVersion", "kind", "metadata"].contains(&name) || has_placeholder(name))
}

/// Whether a string has a placeholder of a template.
pub fn has_placeholder(text: &str) -> bool {
    text.contains("{{") || placeholder(text).is_some() || is_blank(text) || at_word(text, 0).is_some()
}

/// Whether a string is a blank for people to fill in, as `<your name>`.
fn is_blank(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    inner.is_some_and(|inner| {
        inner.starts_with(|c: char| c.is_ascii_alphabetic()) && !inner.contains(['<', '>', '\n', '/'])
    })
}

/// Whether a string is a variable that envsubst replaces, as `$NAME`, or a script, as `__NAME__`.
fn is_script_variable(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let underlined = || text.strip_prefix("__")?.strip_suffix("__");
    text.strip_prefix('$').or_else(underlined).is_some_and(|name| name.len() > 1 && name.bytes().all(is_part))
}

/// Where the first `@NAME@` from a place on is, as scripts replace it.
fn at_word(text: &str, from: usize) -> Option<Range<usize>> {
    let mut parts = text[from..].split('@');
    let mut start = from + parts.next()?.len();
    for part in parts {
        let end = start + part.len() + 1;
        let is_name = part.len() > 1 && part.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        if is_name && text[end..].starts_with('@') {
            return Some(start..end + 1);
        }
        start = end;
    }
    None
}

/// Where the first `{NAME}` from a place on is. In YAML, that is a map, so that only text which is not YAML has it.
fn braced_word(text: &str, from: usize) -> Option<Range<usize>> {
    text[from..].match_indices('{').find_map(|(at, _)| {
        let start = from + at;
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || b"_-.[]".contains(b);
        let name = text[start + 1..].bytes().take_while(is_part).count();
        let end = start + 1 + name;
        (name > 0 && text[end..].starts_with('}')).then_some(start..end + 1)
    })
}

/// Whether a name has a word that stands for another one, as `web-REPLACEME` or `$$name$$`. No name has upper case letters.
fn has_blank_word(name: &str) -> bool {
    const WORDS: [&str; 3] = ["HOSTNAME", "NAME", "TODO"];
    const BEGINNINGS: [&str; 4] = ["CHANGE", "PLACEHOLDER", "REPLACE", "YOUR"];
    let is_upper = |word: &&str| word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let mut words = name.split(['-', '.', '_']).filter(is_upper);
    let is_blank = |word: &str| WORDS.contains(&word) || BEGINNINGS.iter().any(|begin| word.starts_with(begin));
    words.any(is_blank) || name.matches("$$").count() > 1
}

/// Whether labels of a host are a blank, as in `registry.<your domain>`.
fn has_blank_label(host: &str) -> bool {
    let end = host.find('>').map_or(0, |end| end + 1);
    let (begin, rest) = host.split_at(end);
    let (before, _) = begin.split_once('<').unwrap_or_default();
    (before.is_empty() || before.ends_with('.'))
        && (rest.is_empty() || rest.starts_with('.'))
        && is_blank(&begin[before.len()..])
}

/// Whether a string has a variable of kustomize, `$(NAME)`, or is an expression of chainsaw, `($name)`. Those of Tekton have dots.
fn has_variable(text: &str) -> bool {
    if text.starts_with("($") && text.ends_with(')') {
        return true;
    }
    text.match_indices("$(").any(|(at, _)| {
        let rest = &text[at + 2..];
        let name = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"-_".contains(b)).count();
        name > 0 && rest.as_bytes().get(name) == Some(&b')') && !text[..at].ends_with('$')
    })
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

/// The text with a word of the same length for each `${NAME}`, `@NAME@` and `{NAME}`; `None` if it has none.
pub fn without_placeholders(text: &str) -> Option<String> {
    let finders = [
        |text: &str, from: usize| placeholder(&text[from..]).map(|range| from + range.start..from + range.end),
        at_word,
        braced_word,
    ];
    let mut replaced = text.to_owned();
    for find in finders {
        let mut from = 0;
        while let Some(range) = find(&replaced, from) {
            replaced.replace_range(range.clone(), &"x".repeat(range.len()));
            from = range.end;
        }
    }
    (replaced != text).then_some(replaced)
}

/// Looks for placeholders in the strings of a value.
struct Placeholders<'a> {
    found: &'a mut bool,
    place: Place,
}

/// What a value is.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Whether its strings are names or labels.
    are_names: bool,
    role: Role,
}

/// What a field is, of those that are looked at more closely.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Other,
    /// The metadata of an object.
    Metadata,
    /// The name of an object, or of its namespace or account.
    Name,
    /// A host, or a list of hosts.
    Host,
}

impl Role {
    fn of(field: &str, parent: Self) -> Self {
        match field {
            "metadata" => Self::Metadata,
            "name" | "namespace" if parent == Self::Metadata => Self::Name,
            "serviceAccountName" => Self::Name,
            "host" | "hosts" => Self::Host,
            _ => Self::Other,
        }
    }
}

impl Placeholders<'_> {
    /// The same for a value in this one.
    fn within(&mut self, place: Place) -> Placeholders<'_> {
        Placeholders { found: &mut *self.found, place }
    }
}

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
        *self.found |= has_placeholder(text)
            || is_script_variable(text)
            || self.place.are_names && has_variable(text)
            || matches!(self.place.role, Role::Name | Role::Host) && has_blank_word(text)
            || self.place.role == Role::Host && has_blank_label(text);
        Ok(())
    }

    ignore_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let Place { are_names, role } = self.place;
        let place = Place { are_names, role: if role == Role::Host { role } else { Role::Other } };
        while list.next_element_seed(self.within(place))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if self.place.role == Role::Name {
            // In YAML, `{NAME}` is a map.
            let (mut members, mut are_null) = (0, true);
            while let Some((_, value)) = map.next_entry::<IgnoredAny, Option<IgnoredAny>>()? {
                members += 1;
                are_null &= value.is_none();
            }
            *self.found |= members == 1 && are_null;
            return Ok(());
        }
        while let Some(name) = map.next_key::<String>()? {
            *self.found |= has_placeholder(&name);
            let place = Place {
                are_names: self.place.are_names || NAMED.contains(&name.as_str()),
                role: Role::of(&name, self.place.role),
            };
            if FOREIGN.contains(&name.as_str()) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let mut found = false;
            map.next_value_seed(Placeholders { found: &mut found, place })?;
            // Few objects have one, and comparing each field takes longer than all else.
            *self.found |= found && !is_like_foreign(&name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_not_a_manifest_is_recognized() {
        let service = |name: &str| json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name } });
        let with_metadata = |metadata: Value| json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata });
        let encryption = json!({ "mac": "ENC[c]", "version": "3.9.0" });
        let pod = |spec: Value| json!({ "apiVersion": "v1", "kind": "Pod", "spec": spec });
        let ingress = |host: &str| json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": { "tls": [{ "hosts": [host] }] } });
        let args = json!({ "apiVersion": "v1", "kind": "Pod", "spec": { "containers": [{ "args": ["{{x}}"] }] } });
        for (file, object, want) in [
            ("a.yaml", service("web"), None),
            ("a.yaml", service("{{ .Release.Name }}-web"), Some(Skip::Template)),
            ("a.yaml", args, None),
            ("a.yaml", service("${APP}"), Some(Skip::Template)),
            ("a.yaml", service("web-${APP:-x}"), Some(Skip::Template)),
            ("a.yaml", service("$web-${}-${1}-${a b}"), None),
            ("a.yaml", service("web-@APP_1@"), Some(Skip::Template)),
            ("a.yaml", service("@web@APP-@"), None),
            ("a.yaml", service("<your name>"), Some(Skip::Template)),
            ("a.yaml", service("REPLACEME-web"), Some(Skip::Template)),
            ("a.yaml", service("web-$$name$$"), Some(Skip::Template)),
            ("a.yaml", service("WEB"), None),
            ("a.yaml", with_metadata(json!({ "namespace": "($namespace)" })), Some(Skip::Template)),
            ("a.yaml", with_metadata(json!({ "name": { "self.path": null } })), Some(Skip::Template)),
            ("a.yaml", with_metadata(json!({ "name": { "a": "b" } })), None),
            ("a.yaml", service("<a> <b>"), None),
            ("a.yaml", service("web-$(APP)"), Some(Skip::Template)),
            ("a.yaml", service("$(params.app)-$$(APP)-$(-$()"), None),
            ("a.yaml", with_metadata(json!({ "labels": { "app": "$(app-name)" } })), Some(Skip::Template)),
            ("a.yaml", with_metadata(json!({ "annotations": { "app": "$(app-name)" } })), None),
            ("a.yaml", json!({ "apiVersion": "v1", "kind": "Pod", "spec": { "subPathExpr": "$(POD)" } }), None),
            ("a.yaml", pod(json!({ "serviceAccountName": "$KSA_NAME" })), Some(Skip::Template)),
            ("a.yaml", pod(json!({ "serviceAccountName": "KSA_NAME" })), Some(Skip::Template)),
            ("a.yaml", pod(json!({ "serviceAccountName": "web" })), None),
            ("a.yaml", pod(json!({ "containers": [{ "args": ["$PORT"] }] })), None),
            ("a.yaml", pod(json!({ "hostname": "$host" })), None),
            ("a.yaml", pod(json!({ "containers": [{ "comand": ["${A}"] }, { "Args": ["${A}"] }] })), None),
            ("a.yaml", pod(json!({ "containers": [{ "environment": [{ "name": "A", "value": "${B}" }] }] })), None),
            ("a.yaml", pod(json!({ "containers": [{ "livenessProbe": { "exec": "test ${A}" } }] })), None),
            ("a.yaml", with_metadata(json!({ "anotations": { "a": "${b}" } })), None),
            ("a.yaml", pod(json!({ "serviceAccountName": "RENAME-FILENAME" })), None),
            ("a.yaml", json!({ "kind": "Service", "spec": {} }), None),
            ("a.yaml", json!({ "kind": "build", "spec": {} }), Some(Skip::NotManifest)),
            ("a.yaml", pod(json!({ "hostname": "US$HOST" })), None),
            ("a.yaml", ingress("__HOST_1__"), Some(Skip::Template)),
            ("a.yaml", ingress("__host__"), None),
            ("a.yaml", ingress("registry.<your domain>"), Some(Skip::Template)),
            ("a.yaml", ingress("<name>.example.com"), Some(Skip::Template)),
            ("a.yaml", ingress("a<b>.example.com"), None),
            ("a.yaml", ingress("a.<b>c"), None),
            ("a.yaml", ingress("a.<"), None),
            ("a.yaml", ingress("a>.<b"), None),
            ("a.yaml", ingress("Example.com"), None),
            ("a.yaml", ingress("YOUR-HOST.example.com"), Some(Skip::Template)),
            ("a.yaml", service("CHANGE-ME"), Some(Skip::Template)),
            ("a.yaml", json!({ "apiVersion": "2.0.0", "info": {}, "spec": {} }), Some(Skip::NotManifest)),
            ("a.yaml", json!({ "apiVersion": "apps/v1beta2", "spec": {} }), None),
            ("a.yaml", json!({ "apiVersion": "1", "metadata": {}, "spec": {} }), None),
            ("index.yaml", json!({ "apiVersion": "v1", "entries": {} }), Some(Skip::ChartIndex)),
            ("index.yaml", json!({ "apiVersion": "v1", "kind": "Service", "entries": {} }), None),
            ("a.yaml", json!({ "apiVersion": "ENC[a]", "kind": "ENC[b]", "sops": encryption }), Some(Skip::Encrypted)),
            ("a.yaml", json!({ "apiVersion": "v1", "kind": "Secret", "sops": encryption }), Some(Skip::Encrypted)),
            ("a.yaml", json!({ "apiVersion": "v1", "kind": "Secret", "sops": { "a": 1 } }), None),
            ("a.yaml", json!({ "replicas": 1 }), Some(Skip::NotManifest)),
            ("a.yaml", json!(5), Some(Skip::NotManifest)),
            ("a.yaml", json!({ "apiVersion": "v1", "name": "web" }), Some(Skip::NotManifest)),
            // It is meant as a manifest.
            ("a.yaml", json!({ "apiVersion": "v1", "metadata": {} }), None),
            ("a.yaml", json!({ "apiVersion": "v1", "spec": {} }), None),
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
            assert_eq!(Skip::of_document(file, &Document::within(raw.get(), &raw)), want, "{file} {object}");
        }
    }

    /// Programs in Go write `<` as an escape. A text with other characters of the same kind says no more of it.
    #[test]
    fn marks_are_those_of_the_text() {
        for (text, want) in [
            (r#"{"a":"<b>"}"#, true),
            (r#"{"a":"\u003cb\u003e"}"#, false),
            (r#"{"a":"\u003cb\u003e","c":"d$"}"#, false),
            (r#"{"a":"\u003cb\u003e","c":"$d"}"#, true),
        ] {
            assert_eq!(is_template(serde_json::from_str(text).unwrap()), want, "{text}");
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
            ("a: @AB@.@B_2@ @A@ {a b}", Some("a: xxxx.xxxxx @A@ {a b}")),
            ("a: {IP}.1/{n}", Some("a: xxxx.1/xxx")),
            ("a: {self.web[0]}-x", Some("a: xxxxxxxxxxxxx-x")),
        ] {
            assert_eq!(without_placeholders(text).as_deref(), want, "{text}");
        }
    }
}
