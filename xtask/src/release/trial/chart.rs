//! The chart on a real API server, with the program of the image that was unpacked before.

use anyhow::{Result, ensure};

use super::{here, registry};
use crate::command::cargo;
use crate::release::Release;
use crate::steps::Outcome;
use crate::test::{no_control_plane, run_cargo_test, with_control_plane};

pub(super) fn check(release: &Release) -> Result<Outcome> {
    let Some(here) = here() else {
        return Ok(Outcome::Skipped("the image has no program for this machine".to_owned()));
    };
    let program = registry::program_of(here);
    ensure!(program.is_file(), "the image of {} was not unpacked", release.version);
    if let Some(skipped) = no_control_plane() {
        return skipped;
    }
    let mut tests = cargo();
    tests.args(["test", "--package", "roster", "--test", "cluster", "--", "--ignored", "--test-threads=1", "chart::"]);
    run_cargo_test(with_control_plane(&mut tests)?.env("ROSTER_PROGRAM", program))
}
