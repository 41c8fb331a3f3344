//! Documents written by hand say what the code says.

use std::{collections::BTreeSet, fs, path::Path};

use roster::engine::{
    compat::{Minor, PATTERN},
    reason::Reason,
};

#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "it is about files, and a test")]
fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The first cell of each row of each table.
fn first_cells(markdown: &str) -> BTreeSet<&str> {
    let cells = markdown.lines().filter_map(|l| l.strip_prefix('|')?.split('|').next());
    cells.map(|c| c.trim().trim_matches('`')).collect()
}

/// Whether a word is the number of a difference, such as E1, S14 or M2.
fn is_difference(word: &str) -> bool {
    word.strip_prefix(['E', 'S', 'M']).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[test]
fn every_difference_in_the_table_of_switches_is_told() {
    let (code, document) = (read("src/compat.rs"), read("docs/versions.md"));
    let told = first_cells(&document);
    let comments = code.lines().filter(|l| l.trim_start().starts_with("///"));
    let named: BTreeSet<&str> =
        comments.flat_map(|l| l.split(|c: char| !c.is_ascii_alphanumeric())).filter(|w| is_difference(w)).collect();
    assert!(named.len() > 20, "{named:?}");
    // "S12 to S14" names two of three: more may be told than named.
    assert_eq!(named.difference(&told).collect::<Vec<_>>(), [""; 0].iter().collect::<Vec<_>>());
}

/// Attributes and documents hold the range of releases as text.
#[test]
fn the_releases_that_are_named_are_those_there_are() {
    let range = format!("{} to {}", Minor::OLDEST, Minor::NEWEST);
    for path in ["README.md", "PARITY.md", "docs/cli.md"] {
        assert!(read(path).contains(&range), "{path} does not name {range}");
    }
    let openapi = read("openapi/v1.json");
    let patterns: BTreeSet<&str> =
        openapi.lines().filter(|l| l.contains("\"pattern\": \"^v?1")).map(str::trim).collect();
    let want = format!("\"pattern\": {}", serde_json::to_string(PATTERN).unwrap());
    assert_eq!(
        patterns.iter().map(|p| p.trim_end_matches(',')).collect::<BTreeSet<_>>(),
        BTreeSet::from([want.as_str()])
    );
}

#[test]
fn every_oddity_that_is_told_is_a_reason() {
    let document = read("docs/versions.md");
    let codes: BTreeSet<&str> = Reason::ALL.iter().map(|r| r.code()).collect();
    let table = document.split("| code | releases | what happens |\n|---|---|---|\n").nth(1).unwrap();
    let told = first_cells(table);
    assert!(told.len() > 20, "{told:?}");
    assert_eq!(told.difference(&codes).collect::<Vec<_>>(), [""; 0].iter().collect::<Vec<_>>());
}
