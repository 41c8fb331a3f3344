//! Roster from outside: the program, the API and the generated files, in one test binary, so that it links once.
#![expect(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

#[cfg(feature = "shell")]
mod cli;
mod defects;
mod documents;
#[cfg(feature = "decode")]
mod examples;
#[cfg(feature = "shell")]
#[path = "../fields/mod.rs"]
#[expect(dead_code, reason = "only the cluster tests compare with an API server")]
mod field_cases;
#[cfg(feature = "shell")]
mod fields;
mod generated;
#[cfg(feature = "shell")]
mod http;
#[cfg(feature = "decode")]
mod rules;
#[cfg(feature = "shell")]
mod walkthrough;
#[cfg(feature = "shell")]
mod webhook;
