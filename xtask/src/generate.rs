//! Generated files: the test that compares them also writes them.
//!
//! `tests/it/generated.rs` has the table of them. With `ROSTER_WRITE=GROUP` it writes them before it compares.

use anyhow::Result;

use crate::command::{cargo, run_with};
use crate::steps::Outcome;

/// Writes the generated files of one group: `openapi` or `docs`.
pub(crate) fn write(group: &str) -> Result<Outcome> {
    let mut command = cargo();
    command.args("test --quiet --workspace --test it generated:: -- --nocapture".split(' ')).env("ROSTER_WRITE", group);
    run_with(&mut command)?;
    Ok(Outcome::Passed)
}
