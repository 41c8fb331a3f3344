//! The objects that are written in a template, as far as text says it.

use super::written_object::WrittenObject;

/// The objects of a template, and what may make more of them.
#[derive(Debug)]
pub(super) struct TemplateObjects<'s> {
    pub(super) objects: Vec<WrittenObject<'s>>,
    /// Whether it may print an object several times, or in another order.
    pub(super) repeats: bool,
    /// Whether it may print objects that are not written in it as such.
    pub(super) has_others: bool,
}

impl<'s> TemplateObjects<'s> {
    /// The objects whose keys begin at the first column: those of a list are not found.
    pub(super) fn of(text: &'s str) -> Self {
        // A hook comes after all other objects.
        let repeats = ["range ", "helm.sh/hook"].iter().any(|word| text.contains(word));
        let mut this = Self { objects: Vec::new(), repeats, has_others: false };
        let mut draft = ObjectDraft::default();
        let mut in_comment = false;
        for (index, line) in text.lines().enumerate() {
            let was_in_comment = in_comment;
            let begin = line.rfind("/*").filter(|_| was_in_comment || line.trim_start().starts_with("{{"));
            in_comment = match (begin, line.rfind("*/")) {
                (Some(begin), Some(end)) => begin > end,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => was_in_comment,
            };
            if was_in_comment || in_comment {
                continue;
            }
            if line.starts_with("---") {
                this.add(&std::mem::take(&mut draft));
            } else if line.trim_start().starts_with("{{") {
                this.has_others |= prints_objects(line);
            } else {
                draft.add(index + 1, line);
            }
        }
        this.add(&draft);
        this
    }

    fn add(&mut self, draft: &ObjectDraft<'s>) {
        match (draft.kinds.as_slice(), draft.line) {
            // Nothing, or a part of an object that is in doubt.
            ([], _) | (_, None) => {}
            ([kind, more @ ..], Some(line)) => {
                let is_one = draft.metadata == 1 && more.iter().all(|other| other == kind) && !kind.contains("{{");
                if is_one {
                    let name = match draft.names.as_slice() {
                        [name] => name,
                        _ => "{{ }}",
                    };
                    let (kind, name) = ((*kind).into(), name.into());
                    self.objects.push(WrittenObject { kind, name, namespace: "".into(), line, document: None });
                } else {
                    self.has_others = true;
                }
            }
        }
    }
}

/// What is known of an object while its lines are read.
#[derive(Default)]
struct ObjectDraft<'s> {
    /// The line of its first key.
    line: Option<usize>,
    /// Several in a template with branches.
    kinds: Vec<&'s str>,
    names: Vec<&'s str>,
    /// How many metadata it has.
    metadata: usize,
    at: DraftPlace,
}

/// Where the last line of an object is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum DraftPlace {
    #[default]
    Elsewhere,
    /// In the metadata, whose keys are at this column, from 0, if it is known.
    Metadata(Option<usize>),
}

impl<'s> ObjectDraft<'s> {
    fn add(&mut self, number: usize, line: &'s str) {
        let indentation = line.len() - line.trim_start().len();
        let is_skipped = line.trim().is_empty() || line.trim_start().starts_with('#');
        match (indentation, self.at) {
            _ if is_skipped => {}
            (0, _) => {
                self.at = DraftPlace::Elsewhere;
                self.line.get_or_insert(number);
                self.kinds.extend(value_of(line, "kind"));
                if let Some(rest) = after_key(line, "metadata") {
                    self.metadata += 1;
                    self.at = DraftPlace::Metadata(None);
                    // In flow style: `metadata: {name: web}`.
                    let name = rest.split_once("name:").map(|(_, name)| name.split([',', '}']).next());
                    self.names.extend(name.flatten().map(plain).filter(|_| !rest.contains("{{")));
                }
            }
            (at, DraftPlace::Metadata(keys)) => {
                let keys = keys.unwrap_or(at);
                self.at = DraftPlace::Metadata(Some(keys));
                self.names.extend(value_of(line, "name").filter(|_| at == keys));
            }
            (_, DraftPlace::Elsewhere) => {}
        }
    }
}

/// Whether a line with an action at its beginning may print whole objects.
fn prints_objects(line: &str) -> bool {
    let action = line.trim_start_matches(['{', '-', ' ']);
    let first = action.split_whitespace().next().unwrap_or_default();
    let prints = ["include", "template", "tpl", "toYaml"].iter().any(|word| first.trim_start_matches('(') == *word);
    // What is indented is a part of an object.
    line.starts_with("{{") && prints && !line.contains("indent")
}

/// What follows a key in a line that begins with it.
fn after_key<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let line = line.trim_start();
    let quoted = line.strip_prefix('"').and_then(|rest| rest.strip_prefix(key)?.strip_prefix('"'));
    quoted.or_else(|| line.strip_prefix(key))?.trim_start().strip_prefix(':')
}

/// The value of a key in a line that begins with it.
fn value_of<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    after_key(line, key).map(plain).filter(|value| !value.is_empty())
}

/// A value without its comment and its quotes.
fn plain(value: &str) -> &str {
    let value = value.split_once(" #").map_or(value, |(value, _)| value).trim().trim_end_matches(',');
    let unquoted = |quote| value.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    unquoted('"').or_else(|| unquoted('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Templates, each with its objects (line, kind, name), whether it repeats them, and whether it may have others.
    #[test]
    fn objects_are_found_as_far_as_text_says_it() {
        let object = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
        let web = (1, "Service", "web");
        for (text, want, repeats, has_others) in [
            (object.to_owned(), &[web][..], false, false),
            (
                format!("{{{{- if .a }}}}\n# a\n{object}  labels:\n    name: no\n{{{{ include \"l\" . | indent 4 }}}}\n{{{{ end }}}}\n---\n{object}"),
                &[(3, "Service", "web"), (12, "Service", "web")],
                false,
                false,
            ),
            (format!("{{{{ range .a }}}}\n---\n{object}{{{{ end }}}}"), &[(3, "Service", "web")], true, false),
            (format!("{object}  annotations: {{helm.sh/hook: test}}\n"), &[web], true, false),
            (
                "{{- $x := include \"x\" . }}\nkind: 'A' # a\nmetadata:\n  labels: {}\n  name: \"{{ $x }}-a\"\n".to_owned(),
                &[(2, "A", "{{ $x }}-a")],
                false,
                false,
            ),
            ("kind: A\nmetadata: {labels: {}, name: a}\n".to_owned(), &[(1, "A", "a")], false, false),
            // The name comes from elsewhere, or there are two.
            ("kind: A\nmetadata:\n  {{ include \"m\" . | nindent 2 }}\n".to_owned(), &[(1, "A", "{{ }}")], false, false),
            (
                "kind: A\nmetadata:\n  {{ if .a }}\n  name: a\n  {{ else }}\n  name: b\n  {{ end }}\n".to_owned(),
                &[(1, "A", "{{ }}")],
                false,
                false,
            ),
            // Branches within one object, and two objects in branches.
            (
                "{{ if .a }}\napiVersion: a/v1\nkind: A\n{{ else }}\napiVersion: a/v2\nkind: A\n{{ end }}\nmetadata:\n  name: a\n"
                    .to_owned(),
                &[(2, "A", "a")],
                false,
                false,
            ),
            (format!("{{{{ if .a }}}}\n{object}{{{{ else }}}}\n{object}{{{{ end }}}}\n"), &[], false, true),
            ("kind: {{ .Values.kind }}\nmetadata:\n  name: a\n".to_owned(), &[], false, true),
            ("{{ include \"common.service\" . }}\n".to_owned(), &[], false, true),
            ("{{- tpl (toYaml .x) . }}\n".to_owned(), &[], false, true),
            (format!("{{{{- /* a\n{object}*/ -}}}}\n{object}"), &[(7, "Service", "web")], false, false),
            // Those of a list are not found.
            ("kind: List\nitems:\n- kind: A\n  metadata: {name: a}\n".to_owned(), &[], false, true),
            (String::new(), &[], false, false),
        ] {
            let found = TemplateObjects::of(&text);
            let objects: Vec<_> = found.objects.iter().map(|o| (o.line, &*o.kind, &*o.name)).collect();
            assert_eq!((objects.as_slice(), found.repeats, found.has_others), (want, repeats, has_others), "{text}");
        }
    }
}
