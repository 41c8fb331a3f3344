//! Documents written by hand say what the code says.

use std::{collections::BTreeSet, fs, path::Path};

use roster_engine::{
    profile::{Minor, PATTERN},
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

/// The anchors behind `versions.md#` in a text.
fn anchors(text: &str) -> impl Iterator<Item = &str> {
    text.split("versions.md#").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        &rest[..end]
    })
}

/// All source files below a folder.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "it is about files, and a test")]
fn sources(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.extension() {
            _ if path.is_dir() => sources(&path),
            Some(extension) if extension == "rs" => vec![fs::read_to_string(&path).unwrap()],
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn code_names_rows_of_the_table_of_versions_that_exist() {
    let document = read("docs/versions.md");
    let rows: BTreeSet<&str> = document.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let table = read("crates/engine/src/profile.rs");
    assert!(anchors(&table).collect::<BTreeSet<_>>().len() > 20);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources: Vec<String> = ["src", "crates"].iter().flat_map(|folder| sources(&root.join(folder))).collect();
    let named: BTreeSet<&str> = sources.iter().flat_map(|source| anchors(source)).collect();
    assert!(named.len() > 20);
    assert_eq!(named.difference(&rows).collect::<Vec<_>>(), [""; 0].iter().collect::<Vec<_>>());
}

/// Attributes and documents hold the range of releases as text.
#[test]
fn documents_name_the_range_of_releases() {
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
fn every_known_defect_of_a_release_is_a_reason() {
    let document = read("docs/versions.md");
    let codes: BTreeSet<&str> = Reason::ALL.iter().map(|r| r.code()).collect();
    let table = document.split("| code | releases | what happens |\n|---|---|---|\n").nth(1).unwrap();
    let listed = first_cells(table);
    assert!(listed.len() > 20, "{listed:?}");
    assert_eq!(listed.difference(&codes).collect::<Vec<_>>(), [""; 0].iter().collect::<Vec<_>>());
}
