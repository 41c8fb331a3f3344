//! Circles between files and between rooms.

use super::super::circles::{Graph, circles};
use super::super::rooms::{Imports::Everything, Room};
use super::{reported, violations};

#[test]
fn two_files_that_import_each_other() {
    let found = violations(&[
        ("src/cli/mod.rs", "mod live;\nmod output;"),
        ("src/cli/live.rs", "use super::output;\npub(super) fn read() {\n    output::warning();\n}"),
        ("src/cli/output.rs", "pub(super) fn warning() {}\nfn f() { super::live::read() }"),
    ]);
    assert_eq!(
        found,
        ["src/cli/live.rs:3: circle of 2 files\n    \
          src/cli/live.rs:3: output::warning in src/cli/output.rs\n    \
          src/cli/output.rs:2: super::live::read in src/cli/live.rs"]
    );
}

#[test]
fn a_child_that_needs_its_parent() {
    let found = violations(&[
        ("src/engine/mod.rs", "mod members;\npub(crate) struct Job;\nfn f(job: &Job) { members::of(job) }"),
        ("src/engine/members.rs", "use super::Job;\npub(super) fn of(_: &Job) {}"),
    ]);
    assert_eq!(
        found,
        ["src/engine/mod.rs:3: circle of 2 files\n    \
          src/engine/mod.rs:3: members::of in src/engine/members.rs\n    \
          src/engine/members.rs:1: super::Job in src/engine/mod.rs"]
    );
}

#[test]
fn a_parent_that_uses_what_it_hands_on() {
    let found = violations(&[
        ("src/engine/mod.rs", "mod near;\npub use near::Kinds;\npub struct Finding;\nfn f() {\n    Kinds::new();\n}"),
        ("src/engine/near.rs", "pub struct Kinds;\nfn f(_: &super::Finding) {}"),
    ]);
    assert_eq!(
        found,
        ["src/engine/mod.rs:5: circle of 2 files\n    \
          src/engine/mod.rs:5: Kinds::new in src/engine/near.rs\n    \
          src/engine/near.rs:2: super::Finding in src/engine/mod.rs"]
    );
}

#[test]
fn siblings_that_meet_through_their_parent_are_no_circle_with_it() {
    let found = violations(&[
        (
            "src/engine/mod.rs",
            "mod plan;\nmod state;\npub use plan::plan;\npub(crate) use state::State;\npub use state::*;",
        ),
        (
            "src/engine/plan.rs",
            "use super::State;\nuse crate::engine;\npub fn plan(_: &State) -> engine::Options { todo!() }",
        ),
        ("src/engine/state.rs", "pub struct State;\npub struct Options;"),
        (
            "src/cli/mod.rs",
            "use crate::engine::{self, plan};\nfn f() { let plan = plan(&engine::State); plan.print(); }",
        ),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_re_export_leads_to_the_file_that_defines_the_name() {
    let found = violations(&[
        ("src/engine/mod.rs", "mod plan;\nmod state;\npub use plan::plan;\npub use state::State as Given;"),
        ("src/engine/plan.rs", "pub fn plan(_: &super::Given) {}"),
        ("src/engine/state.rs", "pub struct State;\nfn f(state: &State) { crate::engine::plan(state) }"),
    ]);
    assert_eq!(
        found,
        ["src/engine/plan.rs:1: circle of 2 files\n    \
          src/engine/plan.rs:1: super::Given in src/engine/state.rs\n    \
          src/engine/state.rs:2: crate::engine::plan in src/engine/plan.rs"]
    );
}

#[test]
fn names_from_a_glob_lead_to_the_file_that_defines_them() {
    let found = violations(&[
        ("src/engine/mod.rs", "mod plan;\nmod state;\npub use plan::*;\npub use state::*;"),
        ("src/engine/plan.rs", "use crate::engine::*;\npub fn plan(_: &State) {}"),
        ("src/engine/state.rs", "pub struct State;\nfn f(state: &State) { super::plan(state) }"),
    ]);
    assert_eq!(
        found,
        ["src/engine/plan.rs:2: circle of 2 files\n    \
          src/engine/plan.rs:2: State in src/engine/state.rs\n    \
          src/engine/state.rs:2: super::plan in src/engine/plan.rs"]
    );
}

#[test]
fn a_variable_is_not_the_function_of_its_name() {
    let files =
        |body: &'static str| [("src/engine/mod.rs", body), ("src/engine/plan.rs", "pub fn plan(_: super::Job) {}")];
    let variable = "mod plan;\npub use plan::plan;\npub struct Job;\nfn f(plan: Job) -> Job { let x = plan; x }";
    assert_eq!(violations(&files(variable)), [""; 0]);
    let called = "mod plan;\npub use plan::plan;\npub struct Job;\nfn f(job: Job) { let plan = plan(job); plan }";
    assert_eq!(
        violations(&files(called)),
        ["src/engine/mod.rs:4: circle of 2 files\n    \
          src/engine/mod.rs:4: plan in src/engine/plan.rs\n    \
          src/engine/plan.rs:1: super::Job in src/engine/mod.rs"]
    );
}

#[test]
fn a_macro_needs_no_import() {
    let found = violations(&[
        ("src/engine/mod.rs", "macro_rules! rules { () => {} }\nmod rule;\nfn f() { rule::check(); }"),
        ("src/engine/rule.rs", "rules!();\npub(super) fn check() {}"),
    ]);
    assert_eq!(
        found,
        ["src/engine/mod.rs:3: circle of 2 files\n    \
          src/engine/mod.rs:3: rule::check in src/engine/rule.rs\n    \
          src/engine/rule.rs:1: rules in src/engine/mod.rs"]
    );
}

#[test]
fn an_exported_macro_is_of_the_file_that_defines_it() {
    let found = violations(&[
        ("src/engine/mod.rs", "mod rule;\nmod rules;"),
        ("src/engine/rules.rs", "#[macro_export]\nmacro_rules! rules { () => {} }\nfn f() { super::rule::check(); }"),
        ("src/engine/rule.rs", "crate::rules!();\npub(super) fn check() {}"),
    ]);
    assert_eq!(
        found,
        ["src/engine/rule.rs:1: circle of 2 files\n    \
          src/engine/rule.rs:1: crate::rules in src/engine/rules.rs\n    \
          src/engine/rules.rs:3: super::rule::check in src/engine/rule.rs"]
    );
}

#[test]
fn circles_of_three_files_and_all_of_them_at_once() {
    let found = violations(&[
        ("src/cli/mod.rs", "mod a;\nmod b;\nmod c;\nmod d;\nmod e;"),
        ("src/cli/a.rs", "use super::b::B;\npub struct A;"),
        ("src/cli/b.rs", "use super::c::C;\npub struct B;"),
        ("src/cli/c.rs", "use super::a::A;\npub struct C;"),
        ("src/cli/d.rs", "use super::{a::A, e::E};\npub struct D;"),
        ("src/cli/e.rs", "use super::d::D;\npub struct E;"),
    ]);
    assert_eq!(
        found,
        [
            "src/cli/a.rs:1: circle of 3 files\n    \
             src/cli/a.rs:1: super::b::B in src/cli/b.rs\n    \
             src/cli/b.rs:1: super::c::C in src/cli/c.rs\n    \
             src/cli/c.rs:1: super::a::A in src/cli/a.rs",
            "src/cli/d.rs:1: circle of 2 files\n    \
             src/cli/d.rs:1: super::e::E in src/cli/e.rs\n    \
             src/cli/e.rs:1: super::d::D in src/cli/d.rs",
        ]
    );
}

#[test]
fn three_rooms_in_a_circle() {
    let room = |name| Room { name, may_import: Everything };
    let report = reported(
        &[room("a"), room("b"), room("c"), room("lib.rs")],
        &[
            ("src/a/mod.rs", "mod own;\nuse crate::b;"),
            ("src/a/own.rs", "pub struct A;"),
            ("src/b/mod.rs", "mod own;\npub struct B;"),
            ("src/b/own.rs", "\nfn f() { crate::c::run() }"),
            ("src/c/mod.rs", "pub use crate::a::A;\npub fn run() {}"),
        ],
    );
    assert_eq!(
        report.violations.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["src/a/mod.rs:2: circle of 3 rooms\n    \
          src/a/mod.rs:2: crate::b in b\n    \
          src/b/own.rs:2: crate::c::run in c\n    \
          src/c/mod.rs:1: crate::a::A in a"]
    );
}

#[test]
fn circles_are_short_share_no_arrow_and_leave_none() {
    type Row = (&'static [(usize, usize)], &'static [&'static [usize]]);
    let rows: &[Row] = &[
        (&[], &[]),
        (&[(1, 2), (2, 3), (1, 3)], &[]),
        (&[(1, 2), (2, 1)], &[&[1, 2]]),
        (&[(2, 3), (3, 1), (1, 2)], &[&[1, 2, 3]]),
        // The shorter one is first; the longer one shares an arrow with it.
        (&[(1, 2), (2, 3), (3, 4), (4, 1), (3, 2)], &[&[2, 3]]),
        (&[(1, 2), (2, 1), (2, 3), (3, 2)], &[&[1, 2], &[2, 3]]),
    ];
    for (arrows, wanted) in rows {
        let mut graph = Graph::new();
        for (from, to) in *arrows {
            graph.entry(*from).or_default().insert(*to);
        }
        assert_eq!(circles(graph), *wanted, "{arrows:?}");
    }
}
