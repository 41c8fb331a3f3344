//! Roster from outside: the program, the API and the generated files, in one test binary, so that it links once.
#![expect(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]
mod agreement;
mod chart;
mod cli;
mod defects;
mod documents;
mod examples;
#[path = "../fields/mod.rs"]
#[expect(dead_code, reason = "only the cluster tests compare with an API server")]
mod field_cases;
mod fields;
mod generated;
mod http;
#[path = "../pages/mod.rs"]
#[expect(dead_code, reason = "the cluster tests read the other blocks")]
mod pages;
mod programs;
mod reference;
mod rules;
mod walkthrough;
mod webhook;

/// The program under test. `ROSTER_PROGRAM` names another build of it.
fn program() -> std::path::PathBuf {
    std::env::var_os("ROSTER_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_roster").into(), Into::into)
}
