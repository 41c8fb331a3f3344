//! The screens in README.md are those of the program.

use std::fs;

use crate::cli::roster_with;

/// The width of the terminal in README.md.
const COLUMNS: &str = "100";

/// The commands of a document, each with the screen below it.
fn screens(document: &str) -> Vec<(&str, &str)> {
    let blocks = document.split("```text\n$ roster ").skip(1);
    blocks
        .map(|block| block.split("\n```").next().unwrap_or_default())
        .map(|b| b.split_once('\n').unwrap_or((b, "")))
        .collect()
}

#[test]
fn the_screens_are_those_of_the_program() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let mut document = fs::read_to_string(path).unwrap();
    assert!(document.find("```text\n$ roster ").is_some_and(|at| at < 100), "README.md begins with a command");
    let found = screens(&document);
    assert!(found.len() >= 2, "{found:?}");
    let mut fresh = document.clone();
    for (command, screen) in found {
        let args: Vec<&str> = command.split(' ').collect();
        let ran = roster_with(&args, &[("COLUMNS", COLUMNS)], "");
        assert_eq!(ran.err, "", "{command}");
        let lines = ran.out.lines().count();
        assert!(lines < 30 && ran.out.lines().all(|l| l.chars().count() <= 100), "{lines} lines:\n{}", ran.out);
        fresh = fresh.replacen(
            &format!("$ roster {command}\n{screen}"),
            &format!("$ roster {command}\n{}", ran.out.trim_end()),
            1,
        );
    }
    // As the test of generated files does.
    if std::env::var("ROSTER_WRITE").is_ok_and(|group| group == "docs") {
        fs::write(path, &fresh).unwrap();
        document.clone_from(&fresh);
    }
    assert!(document == fresh, "README.md is stale: cargo xtask docs\n{fresh}");
}
