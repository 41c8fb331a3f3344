//! Folders: the repository, the cache, Cargo's target folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The cache outside the repository: `$ROSTER_CACHE`, or `~/.cache/roster`.
pub(crate) fn cache() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("ROSTER_CACHE") {
        return Ok(folder.into());
    }
    let home = std::env::home_dir().context("no home folder; set ROSTER_CACHE to a folder for caches")?;
    Ok(home.join(".cache/roster"))
}

/// Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
