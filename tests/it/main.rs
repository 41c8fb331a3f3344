//! Roster from outside: every door, one test binary.
#![expect(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

#[cfg(feature = "cli")]
mod cli;
