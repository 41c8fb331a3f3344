//! Roster from outside: every door, one test binary.

mod documents;
mod generated;
