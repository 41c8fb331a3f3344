//! `docs/explanation/walkthrough.md` names files and functions that exist.

use std::{fs, path::Path};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_default()
}

#[test]
fn every_named_item_is_defined_in_its_file() {
    let document = read("docs/explanation/walkthrough.md");
    let spans = document.split('`').skip(1).step_by(2).filter_map(|span| span.split_once(".rs:"));
    let named: Vec<(String, &str)> = spans.map(|(path, name)| (format!("{path}.rs"), name)).collect();
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|(path, name)| !defines(&read(path), name)).collect();
    assert!(missing.is_empty(), "not defined: {missing:?}");
}

/// Whether a file defines a function or type of this name.
fn defines(code: &str, name: &str) -> bool {
    let follows = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    ["fn ", "struct ", "enum ", "trait "].iter().any(|keyword| {
        let head = format!("{keyword}{name}");
        code.match_indices(&head).any(|(at, _)| follows(&code[at + head.len()..]))
    })
}
