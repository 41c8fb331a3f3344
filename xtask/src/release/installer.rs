//! The install script: `packaging/install.sh` with the version and the address of this release.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::{Release, files::downloads};
use crate::paths;
use crate::steps::Outcome;

/// The file of a release.
pub(super) const FILE: &str = "install.sh";

/// Writes the script.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let script =
        fs::read_to_string(paths::root().join("packaging").join(FILE)).context("reading the install script")?;
    let filled = script.replace("@VERSION@", &release.version).replace("@URL@", &downloads()?);
    ensure!(!filled.contains(":-@"), "packaging/{FILE} has a placeholder that is unknown");
    release.write(FILE, filled)?;
    Ok(Outcome::Passed)
}
