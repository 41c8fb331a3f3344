//! The archives: a folder with the program and its files, for each architecture.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::contents::{self, Content};
use super::pack::{Tar, gzip};
use super::{Architecture, Release};
use crate::steps::Outcome;

/// Writes the archives.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let contents = contents::all(release)?;
    for (architecture, program) in release.read_programs()? {
        let archive = gzip(&tar(release, architecture, &program, &contents)?)?;
        let name = release.archive(architecture);
        println!("    {name}: {} files, {} bytes", contents.len() + 1, archive.len());
        release.write(&name, archive)?;
    }
    Ok(Outcome::Passed)
}

/// An archive, whose folder has its name.
fn tar(release: &Release, architecture: Architecture, program: &[u8], contents: &[Content]) -> Result<Vec<u8>> {
    let name = release.archive(architecture);
    let top = name.trim_end_matches(".tar.gz");
    let mut tar = Tar::new(release.epoch);
    let path = |content: &Content| format!("{top}/{}", content.archived);
    for folder in folders(contents.iter().map(path)) {
        tar.folder(&folder)?;
    }
    tar.file(&format!("{top}/roster"), 0o755, program)?;
    for content in contents {
        tar.file(&path(content), 0o644, &content.bytes)?;
    }
    tar.finish()
}

/// The folders of these files, those above first.
pub(super) fn folders(files: impl Iterator<Item = String>) -> BTreeSet<String> {
    let above = |file: String| -> Vec<String> {
        let folders = Path::new(&file).ancestors().skip(1).filter(|folder| *folder != Path::new(""));
        folders.map(|folder| folder.display().to_string()).collect()
    };
    files.flat_map(above).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_stand_before_what_is_in_them() {
        let files = ["a/b/c/x", "a/y", "b/z", "w"].map(str::to_owned);
        assert_eq!(folders(files.into_iter()).into_iter().collect::<Vec<_>>(), ["a", "a/b", "a/b/c", "b"]);
    }
}
