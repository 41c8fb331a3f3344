//! Paths of what is rendered: as the programs want them, and as the user wrote them.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use roster_manifests::lint::path_within;

use crate::cli::input_paths::working_directory;

/// A directory that the user named.
pub(super) struct NamedDirectory<'a> {
    /// Its name as it was written.
    pub(super) written: &'a Path,
    /// Its absolute path, without links.
    pub(super) path: PathBuf,
}

impl<'a> NamedDirectory<'a> {
    pub(super) fn of(written: &'a Path) -> io::Result<Self> {
        let path = written.canonicalize()?;
        if path.is_dir() { Ok(Self { written, path }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// The name of a file, given by its absolute path without links, in the way in which the directory was written.
    pub(super) fn shown(&self, file: &Path) -> String {
        path_within(&working_directory(), &self.written.join(relative_path(&self.path, file))).display().to_string()
    }
}

/// The path from one directory to another one, both absolute and without links.
pub(super) fn relative_path(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_leads_up_to_what_both_share_and_down_again() {
        for (from, to, want) in [
            ("/a/b", "/a/b", ""),
            ("/a/b", "/a/b/c", "c"),
            ("/a/b", "/a", ".."),
            ("/a/b", "/a/bc/d", "../bc/d"),
            ("/tmp/x", "/srv/me/app", "../../srv/me/app"),
            ("/", "/a", "a"),
        ] {
            assert_eq!(relative_path(Path::new(from), Path::new(to)), Path::new(want), "{from} {to}");
        }
    }

    #[test]
    fn files_are_named_as_the_directory_was_written() {
        for (written, path, file, want) in [
            ("app/overlay", "/w/app/overlay", "/w/app/base/web.yaml", "app/base/web.yaml"),
            ("../app/overlay", "/w/app/overlay", "/w/app/base/web.yaml", "../app/base/web.yaml"),
            ("/w/app", "/w/app", "/w/app/web.yaml", "/w/app/web.yaml"),
            (".", "/w/app", "/w/app/web.yaml", "web.yaml"),
        ] {
            let directory = NamedDirectory { written: Path::new(written), path: path.into() };
            assert_eq!(directory.shown(Path::new(file)), want, "{written} {file}");
        }
    }
}
