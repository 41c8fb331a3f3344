//! The real table, and whether `src/` has its rooms.

use std::collections::BTreeSet;

use super::super::rooms::Imports::{Everything, Only};
use super::super::rooms::{ROOMS, room_of};
use super::{TABLE, reported};

#[test]
fn a_room_may_import_rooms_above_it_in_the_table() {
    let mut above = BTreeSet::new();
    for room in ROOMS {
        let allowed: BTreeSet<&str> = match room.may_import {
            Only(names) => names.iter().copied().collect(),
            Everything => BTreeSet::new(),
        };
        let others: Vec<_> = allowed.difference(&above).collect();
        assert!(others.is_empty(), "{}: {others:?}", room.name);
        assert!(above.insert(room.name), "{} is listed twice", room.name);
    }
}

#[test]
fn files_belong_to_rooms() {
    let name = |row: usize| TABLE[row].name.to_owned();
    for (file, wanted) in [
        ("src/lib.rs", Ok("lib.rs")),
        ("src/model.rs", Ok("model")),
        ("src/model/pod/phase.rs", Ok("model")),
        ("src/models.rs", Err("models")),
        ("src/servers/mod.rs", Ok("servers")),
        ("src/servers/rest.rs", Ok("servers/rest")),
        ("src/servers/rest/plan.rs", Ok("servers/rest")),
        ("src/servers/page/mod.rs", Err("servers/page")),
        ("src/other/model/mod.rs", Err("other")),
    ] {
        assert_eq!(room_of(TABLE, file).map(name), wanted.map(str::to_owned).map_err(str::to_owned), "{file}");
    }
}

#[test]
fn rooms_that_are_gone_are_named() {
    let report = reported(TABLE, &[]);
    assert_eq!(report.violations, []);
    let mut sources = super::sources(TABLE, &[("src/lib.rs", "mod engine;\nmod servers;\nmod cli;")]);
    sources.remove("src/model/mod.rs");
    let tree = super::Tree::read(&sources).unwrap();
    let found: Vec<_> = super::report(TABLE, &sources, &tree).violations.iter().map(ToString::to_string).collect();
    let wanted =
        "xtask/src/layers/rooms.rs:1: the table of rooms lists model, and there is no src/model/mod.rs or src/model.rs";
    assert_eq!(found, [wanted]);
}
