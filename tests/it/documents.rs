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

/// All source files and documents below a folder.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "it is about files, and a test")]
fn sources(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.extension() {
            _ if path.is_dir() => sources(&path),
            Some(extension) if extension == "rs" || extension == "md" => vec![fs::read_to_string(&path).unwrap()],
            _ => Vec::new(),
        })
        .collect()
}

#[test]
fn code_names_rows_of_the_table_of_versions_that_exist() {
    let document = read("docs/reference/versions.md");
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
    let (oldest, newest) = (Minor::OLDEST, Minor::NEWEST);
    for (path, text) in [
        ("README.md", format!("from {oldest} to {newest}")),
        ("docs/explanation/design.md", format!("profile {oldest} … {newest}")),
        ("PARITY.md", format!("{oldest} to {newest}")),
        ("docs/reference/cli.md", format!("{oldest} to {newest}")),
        ("docs/reference/versions.md", format!("between Kubernetes {oldest} and {newest}")),
    ] {
        assert!(read(path).contains(&text), "{path} does not say {text:?}");
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

/// Tests compare with these programs of the newest release.
#[test]
fn texts_name_programs_of_the_newest_release() {
    const PROGRAMS: [&str; 4] = ["kube-apiserver", "kube-controller-manager", "kube-proxy", "kubectl"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["src", "crates", "docs"].iter().flat_map(|folder| sources(&root.join(folder)));
    let texts: Vec<String> =
        folders.chain(["README.md", "PARITY.md", "xtask/src/cluster/record.rs"].map(read)).collect();
    let of_program = |program| {
        let named = texts.iter().flat_map(move |text| text.split(program).skip(1));
        named.filter_map(|rest| rest.strip_prefix(" 1.")).map(|rest| {
            let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
            format!("1.{minor}")
        })
    };
    let named: BTreeSet<String> = PROGRAMS.into_iter().flat_map(of_program).collect();
    assert_eq!(named, BTreeSet::from([Minor::NEWEST.to_string()]));
}

/// The reference is built for them.
#[test]
fn every_release_has_a_reference() {
    let table = read("xtask/src/oracle/mod.rs");
    let rows = table.lines().filter_map(|line| line.trim().strip_prefix("release(\"")?.split('"').next());
    assert_eq!(rows.collect::<Vec<_>>(), Minor::all().map(|minor| minor.to_string()).collect::<Vec<_>>());
}

#[test]
fn every_known_defect_of_a_release_is_a_reason() {
    let document = read("docs/reference/versions.md");
    let codes: BTreeSet<&str> = Reason::ALL.iter().map(|r| r.code()).collect();
    let table = document.split("| code | releases | what happens |\n|---|---|---|\n").nth(1).unwrap();
    let listed = first_cells(table);
    assert!(listed.len() > 20, "{listed:?}");
    assert_eq!(listed.difference(&codes).collect::<Vec<_>>(), [""; 0].iter().collect::<Vec<_>>());
}
