//! Text that cannot be read as objects: templates, and broken documents.
//!
//! Such text may hold what something else refers to, unless what can be seen of it says otherwise: the kinds and the namespace
//! that it names, and the words in it. A template may make any label, too.

use std::{collections::HashSet, fmt, ops::Range, sync::Arc};

use roster_engine::model::HashSeed;

use crate::{decode::may_have_pods, lint::has_placeholder};

/// A text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadText {
    /// The file: one may have many such texts.
    pub file: Arc<str>,
    /// The line, if it is not the whole file.
    pub line: Option<usize>,
    /// The text; `None` if nothing of it is known.
    pub text: Option<String>,
    /// The documents of its chart, or of its folder: a template may make any labels for these. Empty if
    /// they are not known.
    pub reach: Range<usize>,
}

impl fmt::Display for UnreadText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

/// What can be seen of a text.
#[derive(Debug)]
pub(super) struct TextClues<'a> {
    pub(super) text: &'a UnreadText,
    /// The kinds that it names; `None` if it may have objects of any kind.
    kinds: Option<Vec<&'a str>>,
    /// Whether one of them may have pods.
    has_pods: bool,
    /// The namespace that it names, if it is one.
    namespace: Option<&'a str>,
    /// Its words; `None` if it may have any.
    pub(super) words: Option<HashSet<&'a str, HashSeed>>,
    /// The documents for which its pods may have any labels.
    reach: Range<usize>,
    /// The documents for which its objects may have any name.
    named_reach: Range<usize>,
    /// The documents of its chart, or of its folder.
    beside: Range<usize>,
}

/// The lines after `labels:` in which a placeholder stands for labels.
const LABEL_LINES: usize = 8;

impl<'a> TextClues<'a> {
    pub(super) fn of(unread: &'a UnreadText) -> Self {
        let Some(text) = &unread.text else {
            return Self {
                text: unread,
                kinds: None,
                has_pods: true,
                namespace: None,
                words: None,
                reach: 0..0,
                named_reach: 0..0,
                beside: unread.reach.clone(),
            };
        };
        let kinds: Vec<&str> = values(text, "kind").collect();
        let is_any_kind = kinds.is_empty() || kinds.iter().any(|kind| has_placeholder(kind));
        let mut namespaces = values(text, "namespace");
        let first = namespaces.next().filter(|first| !has_placeholder(first));
        let namespace = first.filter(|first| namespaces.all(|other| other == *first));
        let reach_if = |is_made: bool| if is_made { unread.reach.clone() } else { 0..0 };
        let reach = reach_if(makes_labels(text));
        let named_reach = reach_if(values(text, "name").any(has_placeholder));
        let (kinds, words) = ((!is_any_kind).then_some(kinds), Some(words(text).collect()));
        let has_pods = is_any_kind || text.split("\n---").any(has_kind_with_pods);
        Self { text: unread, kinds, has_pods, namespace, words, reach, named_reach, beside: unread.reach.clone() }
    }

    /// Whether it may have an object of a kind in a namespace.
    pub(super) fn may_have(&self, kind: &str, namespace: &str) -> bool {
        self.may_be_in(namespace) && self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
    }

    /// Whether it may have pods in a namespace.
    pub(super) fn may_have_pods(&self, namespace: &str) -> bool {
        self.has_pods && self.may_be_in(namespace)
    }

    fn may_be_in(&self, namespace: &str) -> bool {
        self.namespace.is_none_or(|own| own == namespace)
    }

    /// Whether it has all of these words.
    pub(super) fn has_all<'w>(&self, mut of: impl Iterator<Item = &'w str>) -> bool {
        self.words.as_ref().is_none_or(|words| of.all(|word| words.contains(word)))
    }

    /// Whether it may be applied together with a document.
    pub(super) fn may_be_beside(&self, document: usize) -> bool {
        self.beside.contains(&document)
    }

    /// The documents for which its pods may have any labels.
    pub(super) fn reach(&self) -> Range<usize> {
        self.reach.clone()
    }

    /// The documents for which its objects may have any name.
    pub(super) fn named_reach(&self) -> Range<usize> {
        self.named_reach.clone()
    }
}

/// Whether a document names a kind that may have pods, each in the version before it, or else in the first one.
fn has_kind_with_pods(document: &str) -> bool {
    let versions: Vec<&str> = values(document, "apiVersion").collect();
    let place = |value: &str| value.as_ptr() as usize;
    values(document, "kind").any(|kind| {
        let before = versions.partition_point(|version| place(version) < place(kind));
        let version = versions.get(before.saturating_sub(1)).copied().unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        may_have_pods(group, kind)
    })
}

/// The values that a text gives a key.
fn values<'t>(text: &'t str, key: &'static str) -> impl Iterator<Item = &'t str> {
    let places = text.match_indices(key).map(move |(at, _)| (&text[..at], &text[at + key.len()..]));
    places.filter_map(|(before, after)| {
        let is_key = before.chars().next_back().is_none_or(|c| !is_of_word(c) && c != '$');
        let value = after.trim_start_matches(['"', '\'']).strip_prefix(':').filter(|_| is_key)?;
        let value = value.trim_start_matches([' ', '\t', '"', '\'']);
        let end = if value.starts_with(['{', '$']) { value.find(['\n', ',']) } else { value.find(|c| !is_of_word(c)) };
        Some(&value[..end.unwrap_or(value.len())]).filter(|value| !value.is_empty())
    })
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')
}

/// The words that may be names, or values of labels.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_of_word(c)).filter(|word| !word.is_empty())
}

/// Whether labels of a text are made of placeholders.
fn makes_labels(text: &str) -> bool {
    // `labels`, `matchLabels` or `podLabels` as a key; in an expression, they are those of another object.
    let is_key = |line: &str| {
        let mut after = line.match_indices("abels").map(|(at, found)| &line[at + found.len()..]);
        after.any(|rest| rest.trim_start_matches(['"', '\'']).starts_with(':'))
    };
    let mut left = 0;
    text.lines().any(|line| {
        left = if is_key(line) { LABEL_LINES } else { left.saturating_sub(1) };
        left > 0 && has_placeholder(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_shows_what_it_may_hold() {
        let broken = "kind: Pod\nmetadata: {name: x, namespace: other}\nspec: [";
        let template = "kind: ReplicationController\nmetadata: {name: 'gate-{{cell}}'}\nspec:\n  replicas: {{replicas}}\n  \
                        template:\n    metadata: {labels: {component: gate}}\n";
        let chart =
            "{{- if x }}\nkind: Deployment\nmetadata:\n  labels:\n    {{- include \"labels\" . | nindent 4 }}\n";
        let policy = "kind: ClusterPolicy\nspec:\n  message: team {{ request.object.metadata.labels.team }}\n";
        let service = "kind: Service\nmetadata: {name: {{x}}}\n";
        let any = "kind: {{kind}}\nmetadata: {namespace: {{x}}}\n";
        let monitor =
            "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: {{x}}}\n---\nkind: Service\n";
        let json = r#"{"kind": "Deployment", "metadata": {"namespace": "shop", "name": "{{x}}"}}"#;
        for (text, namespace, has_pods, has_service, gate, reach) in [
            (broken, "shop", false, false, false, false),
            (broken, "other", true, false, false, false),
            (template, "shop", true, false, true, false),
            (chart, "shop", true, false, false, true),
            (policy, "shop", false, false, false, false),
            (monitor, "shop", false, true, false, false),
            ("apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nname: {{x}}", "shop", true, false, false, false),
            (service, "shop", false, true, false, false),
            (any, "shop", true, true, false, false),
            (json, "shop", true, false, false, false),
            (json, "other", false, false, false, false),
            ("", "shop", true, true, false, false),
        ] {
            let unread = UnreadText { file: "a.yaml".into(), line: Some(1), text: Some(text.to_owned()), reach: 3..5 };
            let clues = TextClues::of(&unread);
            let got = (
                clues.may_have_pods(namespace),
                clues.may_have("Service", namespace),
                clues.has_all(["gate"].into_iter()),
                !clues.reach().is_empty(),
            );
            assert_eq!(got, (has_pods, has_service, gate, reach), "{text}");
        }
        let unknown = UnreadText { file: "a.yaml".into(), line: None, text: None, reach: 0..0 };
        let clues = TextClues::of(&unknown);
        assert!(clues.may_have_pods("shop") && clues.may_have("Service", "shop") && clues.has_all(["x"].into_iter()));
    }
}
