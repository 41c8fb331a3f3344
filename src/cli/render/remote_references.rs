//! The references of a kustomization to other files and directories, and which of them are remote, as kustomize decides it.
//!
//! Ported from `api/internal/git/repospec.go` and `api/internal/loader/fileloader.go` of kustomize. Where releases differ, a
//! reference is remote if it is in one of them.

use serde_json::Value;

/// A reference of a kustomization, or of the configuration of a plugin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reference<'v> {
    /// The JSON pointer to it.
    pub(super) pointer: String,
    pub(super) text: &'v str,
    pub(super) kind: ReferenceKind,
}

/// What kustomize does with a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferenceKind {
    /// Reads the file.
    File,
    /// Reads the file, or renders the directory.
    Base,
    /// The same, or reads it as YAML. The objects configure plugins, which read further files.
    Plugin,
}

impl Reference<'_> {
    /// Whether kustomize would fetch it.
    pub(super) fn is_remote(&self) -> bool {
        match self.kind {
            // Files of generators may have a key: `name=https://…`.
            ReferenceKind::File => is_url(self.text) || self.text.split_once('=').is_some_and(|(_, file)| is_url(file)),
            ReferenceKind::Base | ReferenceKind::Plugin => is_url(self.text) || is_repository(self.text),
        }
    }
}

/// The fields of a kustomization that refer to something. `*` is each element of a list. Charts are not among them: without
/// `--enable-helm`, kustomize refuses them.
const FIELDS: [(&[&str], ReferenceKind); 19] = {
    use ReferenceKind::{Base, File, Plugin};
    [
        (&["resources", "*"], Base),
        (&["bases", "*"], Base),
        (&["components", "*"], Base),
        (&["generators", "*"], Plugin),
        (&["transformers", "*"], Plugin),
        (&["validators", "*"], Plugin),
        (&["crds", "*"], File),
        (&["configurations", "*"], File),
        (&["openapi", "path"], File),
        (&["patches", "*", "path"], File),
        (&["patchesJson6902", "*", "path"], File),
        (&["patchesStrategicMerge", "*"], File),
        (&["replacements", "*", "path"], File),
        (&["configMapGenerator", "*", "files", "*"], File),
        (&["configMapGenerator", "*", "envs", "*"], File),
        (&["configMapGenerator", "*", "env"], File),
        (&["secretGenerator", "*", "files", "*"], File),
        (&["secretGenerator", "*", "envs", "*"], File),
        (&["secretGenerator", "*", "env"], File),
    ]
};

/// The fields of plugins' configurations that name files, wherever they are.
const PLUGIN_FIELDS: [&str; 8] =
    ["path", "paths", "files", "env", "envs", "targetFilePath", "valuesFile", "additionalValuesFiles"];

/// The references of a kustomization.
pub(super) fn of_kustomization(kustomization: &Value) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    for (field, kind) in FIELDS {
        texts_at(kustomization, field, "", &mut |pointer, text| found.push(Reference { pointer, text, kind }));
    }
    found
}

/// The references of the configuration of a plugin.
pub(super) fn of_plugin(configuration: &Value) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    add_plugin(configuration, "", false, &mut found);
    found
}

/// The texts of a list of a kustomization.
pub(super) fn list_of<'v>(kustomization: &'v Value, field: &str) -> Vec<&'v str> {
    let mut found = Vec::new();
    texts_at(kustomization, &[field, "*"], "", &mut |_, text| found.push(text));
    found
}

/// Calls `see` with the pointer and the text of each string at a path of fields.
fn texts_at<'v>(value: &'v Value, path: &[&str], pointer: &str, see: &mut impl FnMut(String, &'v str)) {
    match (path, value) {
        ([], Value::String(text)) => see(pointer.to_owned(), text),
        (["*", rest @ ..], Value::Array(elements)) => {
            for (index, element) in elements.iter().enumerate() {
                texts_at(element, rest, &format!("{pointer}/{index}"), see);
            }
        }
        ([field, rest @ ..], Value::Object(members)) => {
            for (name, member) in members.iter().filter(|(name, _)| is_field(name, field)) {
                texts_at(member, rest, &format!("{pointer}/{}", escaped(name)), see);
            }
        }
        _ => {}
    }
}

fn add_plugin<'v>(value: &'v Value, pointer: &str, is_file: bool, found: &mut Vec<Reference<'v>>) {
    match value {
        Value::String(text) if is_file => {
            found.push(Reference { pointer: pointer.to_owned(), text, kind: ReferenceKind::File });
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                add_plugin(element, &format!("{pointer}/{index}"), is_file, found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let is_file = PLUGIN_FIELDS.iter().any(|field| is_field(name, field));
                add_plugin(member, &format!("{pointer}/{}", escaped(name)), is_file, found);
            }
        }
        _ => {}
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Whether Go's decoder of JSON reads a member as a field: case does not matter, in the sense of Unicode.
fn is_field(name: &str, field: &str) -> bool {
    let folded = |c: char| match c {
        'ſ' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    name.chars().map(folded).eq(field.chars().map(folded))
}

/// Whether kustomize gets a file with HTTP.
fn is_url(text: &str) -> bool {
    ["http:", "https:"].iter().any(|scheme| without_prefix(text, scheme).is_some())
}

/// Whether kustomize clones a directory from a git repository.
fn is_repository(text: &str) -> bool {
    if text.starts_with('/') {
        return false;
    }
    // Read as a host by earlier releases.
    if ["git::", "gh:"].iter().any(|prefix| without_prefix(text, prefix).is_some()) {
        return true;
    }
    let text = text.split_once('?').map_or(text, |(text, _)| text);
    let schemes = ["ssh://", "https://", "http://", "file://"];
    let after_scheme = schemes.iter().find_map(|scheme| Some((*scheme, without_prefix(text, scheme)?)));
    let (scheme, rest) = after_scheme.unwrap_or(("", text));
    let user = user_of(rest);
    let rest = &rest[user.len()..];
    let is_github = ["github.com/", "github.com:"].iter().any(|host| without_prefix(rest, host).is_some());
    let is_scp = scheme.is_empty() && (!user.is_empty() || is_github);
    if scheme.is_empty() && !is_scp {
        return false;
    }
    if scheme == "file://" {
        return !(user.is_empty() && rest.is_empty());
    }
    let end = rest.find('/');
    let colon = rest.find(':').filter(|colon| is_scp && *colon > 0 && end.is_none_or(|end| *colon < end));
    match colon.or(end) {
        Some(end) => is_repository_path(&rest[end + 1..]),
        None => false,
    }
}

/// Whether a path behind a host has a repository.
fn is_repository_path(path: &str) -> bool {
    path.contains("_git/") || path.contains("//") || path.contains(".git") || path.contains('/')
}

/// The user at the beginning of a reference, with the `@`.
fn user_of(text: &str) -> &str {
    match text.split_once('@') {
        Some((user, _))
            if user.starts_with(|c: char| c.is_ascii_alphabetic())
                && user.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') =>
        {
            &text[..=user.len()]
        }
        _ => "",
    }
}

fn without_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// References to bases, each with whether it is remote: many are cases of kustomize's own tests.
    #[test]
    fn bases_are_remote_as_kustomize_reads_them() {
        for (text, want) in [
            ("base", false),
            ("../../base", false),
            ("./web.yaml", false),
            ("/iauhsdiuashduas", false),
            ("", false),
            ("htxxxtp://github.com/", false),
            ("ssh.example.com/org/repo", false),
            ("gitlab.com/org/repo", false),
            ("example.com/org/repo//path?ref=v1", false),
            ("vendor/github.com/org/repo", false),
            ("github.com", false),
            ("github.com/org", false),
            ("user@service.yaml", false),
            ("a.b@github/x/y", false),
            (".github.com/org/repo", false),
            (" https://github.com/org/repo", false),
            ("https://github.com/org/repo", true),
            ("HTTPS://GitHub.com/org/repo", true),
            ("https://example.com/web.yaml", true),
            ("http:opaque", true),
            ("github.com/org/repo", true),
            ("GitHub.com/org/repo/path?ref=v1", true),
            ("github.com:org/repo", true),
            ("git@github.com:org/repo.git//path?ref=v1", true),
            ("git@gitlab.example.com:org/repo", true),
            ("git@host:repo.git", true),
            ("org-12345@github.com/org/repo", true),
            ("user@host/org/repo", true),
            ("ssh://git@host:22/org/repo", true),
            ("file:///srv/repo", true),
            ("git::https://github.com/org/repo", true),
            ("git::github.com/org/repo", true),
            ("gh:org/repo", true),
            ("https://dev.azure.com/org/project/_git/repo", true),
        ] {
            for kind in [ReferenceKind::Base, ReferenceKind::Plugin] {
                assert_eq!(Reference { pointer: String::new(), text, kind }.is_remote(), want, "{text}");
            }
        }
    }

    #[test]
    fn files_are_remote_if_they_are_urls() {
        for (text, want) in [
            ("web.yaml", false),
            ("key=web.yaml", false),
            ("github.com/org/repo", false),
            ("git@github.com:org/repo.git", false),
            ("https://example.com/a.yaml", true),
            ("Http://example.com/a.yaml", true),
            ("key=https://example.com/a.yaml", true),
        ] {
            let reference = Reference { pointer: String::new(), text, kind: ReferenceKind::File };
            assert_eq!(reference.is_remote(), want, "{text}");
        }
    }

    #[test]
    fn every_field_that_refers_to_something_is_seen() {
        for (kustomization, want) in [
            (json!({"resources": ["x", "y"]}), &["/resources/0", "/resources/1"][..]),
            (json!({"Resources": ["x"], "reſources": ["y"]}), &["/Resources/0", "/reſources/0"]),
            (json!({"bases": ["x"], "components": ["x"]}), &["/bases/0", "/components/0"]),
            (json!({"generators": ["x"], "transformers": ["x"]}), &["/generators/0", "/transformers/0"]),
            (json!({"validators": ["x"], "crds": ["x"]}), &["/validators/0", "/crds/0"]),
            (json!({"configurations": ["x"], "openapi": {"path": "x"}}), &["/configurations/0", "/openapi/path"]),
            (json!({"patches": [{"patch": "x"}, {"path": "x"}]}), &["/patches/1/path"]),
            (json!({"patchesJson6902": [{"path": "x"}]}), &["/patchesJson6902/0/path"]),
            (json!({"patchesStrategicMerge": ["x"]}), &["/patchesStrategicMerge/0"]),
            (json!({"replacements": [{"path": "x"}]}), &["/replacements/0/path"]),
            (json!({"configMapGenerator": [{"files": ["x"]}]}), &["/configMapGenerator/0/files/0"]),
            (json!({"secretGenerator": [{"env": "x"}]}), &["/secretGenerator/0/env"]),
            (json!({"secretGenerator": [{"envs": ["x"]}]}), &["/secretGenerator/0/envs/0"]),
            (json!({"images": [{"name": "x"}], "namePrefix": "x", "resources": {"a": "x"}}), &[]),
            (json!({"helmCharts": [{"repo": "https://example.com"}]}), &[]),
            (json!(["x"]), &[]),
        ] {
            let found: Vec<_> = of_kustomization(&kustomization).into_iter().map(|r| r.pointer).collect();
            assert_eq!(found, want, "{kustomization}");
        }
    }

    #[test]
    fn files_of_plugins_are_seen_wherever_they_are() {
        for (configuration, want) in [
            (json!({"kind": "PatchTransformer", "path": "x"}), &["/path"][..]),
            (json!({"kind": "PatchStrategicMergeTransformer", "paths": ["x", "y"]}), &["/paths/0", "/paths/1"]),
            (json!({"kind": "ReplacementTransformer", "replacements": [{"path": "x"}]}), &["/replacements/0/path"]),
            (json!({"kind": "ConfigMapGenerator", "Files": ["x"], "envs": ["y"]}), &["/Files/0", "/envs/0"]),
            (json!({"kind": "ValueAddTransformer", "targetFilePath": "x"}), &["/targetFilePath"]),
            (json!({"kind": "AnnotationsTransformer", "annotations": {"docs": "https://example.com"}}), &[]),
        ] {
            let found: Vec<_> = of_plugin(&configuration).into_iter().map(|r| r.pointer).collect();
            assert_eq!(found, want, "{configuration}");
        }
    }
}
