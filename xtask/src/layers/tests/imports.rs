//! Imports between rooms, in every place where Rust has paths.

use super::{TABLE, engine_imports, of_engine, reported, violations};

const OUTPUT: &str = "src/cli/output.rs";
const PRINT: &str = "src/cli/table.rs";

/// Texts of src/engine/mod.rs, and what they import from the command line: line, name, file.
type Row = (&'static str, &'static str, &'static [(usize, &'static str, &'static str)]);

const ROWS: &[Row] = &[
    ("an import", "use crate::cli::table::print;", &[(1, "crate::cli::table::print", PRINT)]),
    ("through super", "use super::cli::table::print;", &[(1, "super::cli::table::print", PRINT)]),
    (
        "a group",
        "use crate::{\n    cli::table::{self, print},\n    model,\n};",
        &[(2, "crate::cli::table", PRINT), (2, "crate::cli::table::print", PRINT)],
    ),
    (
        "renamed, and not again where the new name is used",
        "use crate::cli::table as t;\nfn f() { t::print(); }",
        &[(1, "crate::cli::table", PRINT)],
    ),
    ("an item renamed", "use crate::cli::table::print as p;", &[(1, "crate::cli::table::print", PRINT)]),
    ("a glob", "use crate::cli::table::*;", &[(1, "crate::cli::table::*", PRINT)]),
    (
        "a re-export counts for the room that defines it, and for the one that hands it on",
        "use crate::cli::Output;",
        &[(1, "crate::cli::Output", OUTPUT)],
    ),
    ("a re-export of its own", "pub use crate::cli::table::print;", &[(1, "crate::cli::table::print", PRINT)]),
    (
        "in a function",
        "fn f() {\n    use crate::cli::table::print;\n    print();\n}",
        &[(2, "crate::cli::table::print", PRINT)],
    ),
    ("an expression", "fn f() {\n    crate::cli::table::print();\n}", &[(2, "crate::cli::table::print", PRINT)]),
    ("a value", "const W: usize = crate::cli::table::WIDTH;", &[(1, "crate::cli::table::WIDTH", PRINT)]),
    ("a type", "struct S {\n    o: Option<crate::cli::Output>,\n}", &[(2, "crate::cli::Output", OUTPUT)]),
    ("an associated function", "fn f() { crate::cli::Output::new(); }", &[(1, "crate::cli::Output::new", OUTPUT)]),
    (
        "a pattern",
        "fn f(n: usize) -> bool { matches_all(|| match n { crate::cli::table::WIDTH => true, _ => false }) }",
        &[(1, "crate::cli::table::WIDTH", PRINT)],
    ),
    ("a bound", "fn f<T: crate::cli::Show>() {}", &[(1, "crate::cli::Show", "src/cli/mod.rs")]),
    (
        "a qualified path",
        "fn f() { <u8 as crate::cli::Show>::show(&1); }",
        &[(1, "crate::cli::Show::show", "src/cli/mod.rs")],
    ),
    (
        "the arguments of a macro",
        "fn f() { println!(\"{}\", crate::cli::table::WIDTH); }",
        &[(1, "crate::cli::table::WIDTH", PRINT)],
    ),
    (
        "an import in the arguments of a macro",
        "fn f() {\n    select! { _ => { use crate::cli::{table::print}; print() } }\n}",
        &[(2, "crate::cli::table::print", PRINT)],
    ),
    (
        "the body of a macro",
        "macro_rules! show {\n    ($x:expr) => { $crate::cli::table::print() };\n}",
        &[(2, "crate::cli::table::print", PRINT)],
    ),
    ("an attribute", "#[serde(with = \"crate::cli::table\")]\nstruct S;", &[(1, "crate::cli::table", PRINT)]),
    ("a name that a macro makes", "use crate::cli::Made;", &[(1, "crate::cli::Made", "src/cli/mod.rs")]),
    (
        "only once each",
        "fn f() { crate::cli::table::print();\ncrate::cli::table::print(); }",
        &[(1, "crate::cli::table::print", PRINT)],
    ),
    (
        "compiled for tests only",
        "#[cfg(test)]\nuse crate::cli::table::print;\n#[cfg(all(test, unix))]\nmod tests { use crate::cli::Output; }",
        &[],
    ),
    ("a test", "#[test]\nfn t() { crate::cli::table::print(); }", &[]),
    ("a file of tests", "#[cfg(test)]\nmod tests;", &[]),
    (
        "not for tests only",
        "#[cfg(any(test, unix))]\nuse crate::cli::table::print;",
        &[(2, "crate::cli::table::print", PRINT)],
    ),
    ("not for tests", "#[cfg(not(test))]\nuse crate::cli::table::print;", &[(2, "crate::cli::table::print", PRINT)]),
    ("a comment", "// crate::cli::table::print\n/// [`crate::cli::Output`]\nstruct S;", &[]),
    ("a text", "const S: &str = \"crate::cli::table::print\";", &[]),
    ("a restriction", "pub(in crate::cli) struct S;", &[]),
    ("another crate", "use ::cli::table::print;\nuse serde::cli::Output;", &[]),
    ("what it may import", "use crate::model::Pod;", &[]),
];

#[test]
fn paths_are_found_wherever_they_are() {
    for (name, text, wanted) in ROWS {
        let wanted: Vec<_> = wanted.iter().map(|(line, path, file)| engine_imports(*line, path, file)).collect();
        assert_eq!(of_engine(text), wanted, "{name}");
    }
}

#[test]
fn super_is_followed_upwards() {
    let found = violations(&[
        ("src/engine/mod.rs", "mod slices;"),
        ("src/engine/slices/mod.rs", "mod packing;"),
        ("src/engine/slices/packing.rs", "fn f() {\n    super::super::super::cli::run();\n}"),
        ("src/cli/mod.rs", "pub(crate) fn run() {}"),
    ]);
    let wanted = "src/engine/slices/packing.rs:2: engine imports super::super::super::cli::run from cli (src/cli/mod.rs); \
                  engine may import model";
    assert_eq!(found, [wanted]);
}

#[test]
fn super_in_an_inline_module_is_the_module_around_it() {
    assert_eq!(
        of_engine("mod inner {\n    fn f() { super::super::cli::table::print(); }\n}"),
        [engine_imports(2, "super::super::cli::table::print", PRINT)]
    );
}

#[test]
fn a_re_export_does_not_hide_the_room_that_defines_the_name() {
    let found = violations(&[
        ("src/model/mod.rs", "pub use crate::servers::rest::App;"),
        ("src/engine/mod.rs", "use crate::model::App;"),
        ("src/servers/rest/mod.rs", "pub struct App;"),
    ]);
    assert_eq!(
        found,
        [
            "src/engine/mod.rs:1: engine imports crate::model::App from servers/rest (src/servers/rest/mod.rs); engine may \
             import model",
            "src/model/mod.rs:1: model imports crate::servers::rest::App from servers/rest (src/servers/rest/mod.rs); model \
             may import no other room",
        ]
    );
}

#[test]
fn a_re_export_does_not_hide_the_room_that_hands_the_name_on() {
    let found = violations(&[
        ("src/model/mod.rs", "pub struct Pod;"),
        ("src/engine/mod.rs", "use crate::cli::Pod;"),
        ("src/cli/mod.rs", "pub use crate::model::Pod;"),
    ]);
    assert_eq!(found, [engine_imports(1, "crate::cli::Pod", "src/cli/mod.rs")]);
}

#[test]
fn no_server_imports_another_one_nor_what_is_beside_them() {
    let found = violations(&[
        ("src/servers/mod.rs", "pub mod rest;\npub mod webhook;\npub(crate) fn shared() {}"),
        ("src/servers/rest/mod.rs", "use super::webhook::Review;\nuse super::shared;"),
        ("src/servers/webhook/mod.rs", "pub(crate) struct Review;\nuse crate::engine::plan;"),
    ]);
    let may = "servers/rest may import model, engine";
    assert_eq!(
        found,
        [
            format!(
                "src/servers/rest/mod.rs:1: servers/rest imports super::webhook::Review from servers/webhook \
                 (src/servers/webhook/mod.rs); {may}"
            ),
            format!(
                "src/servers/rest/mod.rs:2: servers/rest imports super::shared from servers (src/servers/mod.rs); {may}"
            ),
        ]
    );
}

#[test]
fn nothing_but_the_program_takes_from_the_roots() {
    let found = violations(&[
        (
            "src/lib.rs",
            "mod model;\nmod engine;\nmod servers;\npub mod cli;\npub use engine::plan;\npub const NAME: &str = \"\";",
        ),
        ("src/main.rs", "fn main() { roster::cli::main(roster::NAME) }"),
        ("src/engine/mod.rs", "pub fn plan() {}"),
        ("src/model/mod.rs", "use crate::plan;"),
    ]);
    let may = "model may import no other room";
    assert_eq!(
        found,
        [
            format!("src/model/mod.rs:1: model imports crate::plan from engine (src/engine/mod.rs); {may}"),
            format!("src/model/mod.rs:1: model imports crate::plan from lib.rs (src/lib.rs); {may}"),
        ]
    );
}

#[test]
fn rooms_that_the_table_lacks_are_named() {
    let found = violations(&[
        ("src/scheduler/mod.rs", "mod lease;"),
        ("src/scheduler/lease.rs", ""),
        ("src/page.rs", ""),
        ("src/servers/edge/proxy.rs", ""),
        ("src/servers/shared.rs", ""),
    ]);
    let lacks = |file: &str, room: &str| {
        format!("{file}:1: {room} is not in the table of rooms (xtask/src/layers/rooms.rs), so it may import nothing")
    };
    assert_eq!(
        found,
        [
            lacks("src/page.rs", "page"),
            lacks("src/scheduler/mod.rs", "scheduler"),
            lacks("src/servers/edge/proxy.rs", "servers/edge"),
            lacks("src/servers/shared.rs", "servers/shared"),
        ]
    );
}

#[test]
fn a_tree_without_violations_has_one_line() {
    let report = reported(
        TABLE,
        &[
            ("src/main.rs", "fn main() { roster::cli::main() }"),
            ("src/engine/mod.rs", "mod plan;\npub use plan::plan;"),
            ("src/engine/plan.rs", "pub fn plan(_: &crate::model::Pod) {}"),
            ("src/cli/mod.rs", "pub fn main() { crate::engine::plan(&crate::model::Pod); }"),
            ("src/model/mod.rs", "pub struct Pod;"),
        ],
    );
    assert_eq!(report.violations, []);
    assert_eq!(report.to_string(), "layers: 4 rooms, 9 files, 3 arrows between rooms, no circle");
}
