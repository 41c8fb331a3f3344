//! Roster from outside: every door, one test binary.

#[cfg(feature = "cli")]
mod cli;
