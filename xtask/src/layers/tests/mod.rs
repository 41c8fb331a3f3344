//! The check on small trees in memory. Every test compares whole messages.

mod circles;
mod document;
mod imports;
mod syntax;
mod table;

use std::fmt::Write as _;

use super::report::{Report, report};
use super::rooms::Imports::{Everything, Only};
use super::rooms::Room;
use super::tree::{Sources, Tree};

/// A small table, so that the tests do not depend on the real one.
const TABLE: &[Room] = &[
    Room { name: "model", may_import: Only(&[]) },
    Room { name: "engine", may_import: Only(&["model"]) },
    Room { name: "servers", may_import: Only(&["model", "engine"]) },
    Room { name: "servers/rest", may_import: Only(&["model", "engine"]) },
    Room { name: "servers/webhook", may_import: Only(&["model", "engine"]) },
    Room { name: "cli", may_import: Everything },
    Room { name: "lib.rs", may_import: Everything },
    Room { name: "main.rs", may_import: Everything },
];

/// A tree with an empty `mod.rs` for every room of the table, declared where it belongs, and with these files.
fn sources(rooms: &[Room], files: &[(&str, &str)]) -> Sources {
    let mut sources = Sources::new();
    for room in rooms {
        let file = room.module_files().swap_remove(0);
        sources.entry(file).or_default();
        let (parent, name) = room
            .name
            .rsplit_once('/')
            .map_or(("lib.rs".to_owned(), room.name), |(parent, name)| (format!("{parent}/mod.rs"), name));
        if !room.is_root() {
            let text = sources.entry(format!("src/{parent}")).or_default();
            writeln!(text, "pub mod {name};").unwrap();
        }
    }
    sources.extend(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    sources
}

fn reported(rooms: &[Room], files: &[(&str, &str)]) -> Report {
    let sources = sources(rooms, files);
    report(rooms, &sources, &Tree::read(&sources).unwrap())
}

/// What the check says of a tree with these files.
fn violations(files: &[(&str, &str)]) -> Vec<String> {
    reported(TABLE, files).violations.iter().map(ToString::to_string).collect()
}

/// What it says where one file has this text, beside files whose names it can use.
fn of_engine(text: &str) -> Vec<String> {
    violations(&[
        ("src/engine/mod.rs", text),
        ("src/cli/mod.rs", "mod output;\npub(crate) use output::Output;\npub(crate) mod table;"),
        ("src/cli/output.rs", "pub(crate) struct Output;\nimpl Output { pub(crate) fn new() -> Self { Self } }"),
        ("src/cli/table.rs", "pub(crate) fn print() {}\npub(crate) const WIDTH: usize = 80;"),
    ])
}

/// The message for one import by the engine of what the command line has.
fn engine_imports(line: usize, name: &str, file: &str) -> String {
    format!("src/engine/mod.rs:{line}: engine imports {name} from cli ({file}); engine may import model")
}
