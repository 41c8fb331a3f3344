//! The answers of kubectl's YAML library, as tables.

use std::{collections::BTreeMap, sync::atomic::AtomicBool};

use roster_engine::model::Interrupt;
use serde_json::value::RawValue;

use super::{quoted, yaml_as_json};
use crate::decode::{DecodeReason, Source};

/// YAML, and the JSON that `sigs.k8s.io/yaml` makes of it; nothing if it refuses the YAML.
type Answer = (String, Option<String>);

/// Compares the conversion of each document with the answer; numbers by their text.
fn check(answers: &str, least: usize) {
    let mut wrong = Vec::new();
    for line in answers.lines() {
        let (yaml, want): Answer = serde_json::from_str(line).unwrap();
        let got = yaml_as_json(&yaml, &Source::file("in")).map_err(|e| e.to_string());
        // No document, and an empty one, is null to the library.
        let values = got.as_ref().ok().map(|json| in_order(if json.trim().is_empty() { "null" } else { json }));
        if values != want {
            wrong.push(format!("{yaml:?}: {got:?}, not {want:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(answers.lines().count() >= least);
}

/// JSON with sorted members, of several with one name the last, and the text of each number.
fn in_order(json: &str) -> String {
    let raw: &RawValue = serde_json::from_str(json).unwrap();
    match raw.get().as_bytes()[0] {
        b'{' => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).unwrap();
            let members = members.iter().map(|(name, value)| format!("{}:{}", quoted(name), in_order(value.get())));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap();
            format!("[{}]", items.iter().map(|item| in_order(item.get())).collect::<Vec<_>>().join(","))
        }
        b'"' => quoted(&serde_json::from_str::<String>(raw.get()).unwrap()),
        _ => raw.get().to_owned(),
    }
}

#[test]
fn scalars_have_the_types_of_kubectl() {
    check(include_str!("../../../../../tests/data/yaml/scalars.jsonl"), 350);
}

#[test]
fn keys_have_the_texts_of_kubectl() {
    check(include_str!("../../../../../tests/data/yaml/keys.jsonl"), 340);
}

#[test]
fn documents_are_merged_as_by_kubectl() {
    check(include_str!("../../../../../tests/data/yaml/documents.jsonl"), 70);
}

#[test]
fn merged_members_are_in_the_line_of_their_key() {
    let yaml = "base: &base\n  x: 1\n  z: 2\nmine:\n  a: 1\n  <<: *base\n  x: 3\n";
    let json = yaml_as_json(yaml, &Source::file("in")).unwrap();
    let lines: Vec<String> = json.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines,
        [r#"{"base":"#, r#"{"x":1,"#, r#""z":2"#, r#"},"mine":"#, r#"{"a":1"#, r#","z":2,"#, r#""x":3"#, "}}"]
    );
}

#[test]
fn few_merge_keys_cannot_expand_to_much_text() {
    let long = "x".repeat(1 << 20);
    let deep: Vec<String> = (1..40).map(|i| format!("a{i}: &a{i}\n  <<: *a{}\n  k{i}: {long}\n", i - 1)).collect();
    let wide: Vec<String> = (1..40).map(|i| format!("- {{<<: [*a0, *a0], k{i}: 1}}\n")).collect();
    for yaml in
        [format!("a0: &a0 {{k: x}}\n{}", deep.concat()), format!("a0: &a0 {{k: {long}}}\nlist:\n{}", wide.concat())]
    {
        let error = yaml_as_json(&yaml, &Source::file("in")).unwrap_err().to_string();
        assert!(error.ends_with("anchors and aliases expand to too much text"), "{error}");
    }
}

#[test]
fn reading_ends_when_nobody_waits() {
    let flag = AtomicBool::new(true);
    let source = Source { interrupt: Interrupt::when(&flag), ..Source::file("in") };
    for yaml in ["# a comment\n", "a: 1\n", "--- {}\n--- {}\n"] {
        let error = yaml_as_json(yaml, &source).unwrap_err();
        assert!(matches!(error.reason, DecodeReason::Interrupted(_)), "{error}");
    }
}
