//! Roster from outside: the program, the API and the generated files, in one test binary, so that it links once.
#![expect(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]
mod agreement;
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
mod rules;
mod walkthrough;
mod webhook;
