//! Where the files of modules are, and files that cannot be read.

use super::super::tree::Tree;
use super::{TABLE, engine_imports, of_engine, sources, violations};

fn error(files: &[(&str, &str)]) -> String {
    Tree::read(&sources(TABLE, files)).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn modules_are_found_where_rust_looks() {
    let takes = "fn f() { crate::cli::run() }";
    let found = violations(&[
        ("src/engine/mod.rs", "mod a;\nmod inner { mod c; }\n#[path = \"given/other.rs\"]\nmod e;"),
        ("src/engine/a.rs", "mod b;"),
        ("src/engine/a/b.rs", takes),
        ("src/engine/inner/c.rs", takes),
        ("src/engine/given/other.rs", "mod f;"),
        ("src/engine/given/f.rs", takes),
        ("src/cli/mod.rs", "pub(crate) fn run() {}"),
    ]);
    let wanted = ["a/b", "given/f", "inner/c"].map(|file| {
        format!(
            "src/engine/{file}.rs:1: engine imports crate::cli::run from cli (src/cli/mod.rs); engine may import model"
        )
    });
    assert_eq!(found, wanted);
}

#[test]
fn a_file_may_be_for_tests_as_a_whole() {
    let found = violations(&[
        ("src/engine/mod.rs", "mod tests;"),
        ("src/engine/tests.rs", "#![cfg(test)]\nuse crate::cli::run;"),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn one_module_may_have_two_files() {
    let files = "#[cfg(unix)]\nmod live;\n#[cfg(not(unix))]\n#[path = \"absent.rs\"]\nmod live;";
    let found = violations(&[
        ("src/engine/mod.rs", files),
        ("src/engine/live.rs", ""),
        ("src/engine/absent.rs", "use crate::cli::run;"),
    ]);
    let wanted =
        "src/engine/absent.rs:1: engine imports crate::cli::run from cli (src/cli/mod.rs); engine may import model";
    assert_eq!(found, [wanted]);
}

#[test]
fn names_that_import_each_other_end() {
    assert_eq!(of_engine("use self::a as b;\nuse self::b as a;\npub use self::*;\nfn f() { a::x(); }"), [""; 0]);
    assert_eq!(
        of_engine("use crate::cli::table::print as crate_print;\nuse crate_print as p;\nfn f() { p() }"),
        [engine_imports(1, "crate::cli::table::print", "src/cli/table.rs"),]
    );
}

#[test]
fn files_that_are_missing_or_broken_are_errors() {
    assert_eq!(
        error(&[("src/engine/mod.rs", "\nmod plan;")]),
        "src/engine/mod.rs:2: mod plan: there is neither src/engine/plan.rs nor src/engine/plan/mod.rs"
    );
    assert_eq!(
        error(&[("src/engine/mod.rs", "#[path = \"x.rs\"]\nmod plan;")]),
        "src/engine/mod.rs:2: mod plan: there is no src/engine/x.rs"
    );
    assert_eq!(error(&[("src/engine/mod.rs", "fn f() {}\nstruct 1;")]), "src/engine/mod.rs:2: expected identifier");
}
