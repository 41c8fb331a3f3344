//! Roster from outside: every door, one test binary, so that it links once.
#![expect(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

#[cfg(feature = "cli")]
mod cli;
mod documents;
mod generated;
#[cfg(feature = "server")]
mod http;
#[cfg(feature = "decode")]
mod rules;
#[cfg(feature = "server")]
mod webhook;
