//! The paths of files, of which each file has one, however it is named.

use std::path::{Component, Path, PathBuf};

/// Room for the paths that the files of an input name: each is as long as its folder, and a file may name any number.
#[derive(Clone, Debug)]
pub(super) struct PathRoom(usize);

impl PathRoom {
    /// Takes the room for a path in `folder`. Returns whether there was any.
    pub(super) fn take(&mut self, folder: &Path, path: &str) -> bool {
        let left = self.0.checked_sub(folder.as_os_str().len() + path.len());
        self.0 = left.unwrap_or_default();
        left.is_some()
    }
}

impl Default for PathRoom {
    fn default() -> Self {
        Self(16 << 20)
    }
}

/// A path without `.`, and without the `..` that can be resolved.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The path of a file from the working directory, if it is in that one: `../base/web.yaml` and `/x/base/web.yaml` are `web.yaml`
/// in the directory `/x/base`.
pub fn path_within(working_directory: &Path, path: &Path) -> PathBuf {
    let path = normal(path);
    let whole = normal(&working_directory.join(&path));
    match whole.strip_prefix(working_directory) {
        Ok(within) if !working_directory.as_os_str().is_empty() => within.to_owned(),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_paths_in_a_deep_folder_have_no_room() {
        let (deep, mut room) = ("x/".repeat(2000), PathRoom::default());
        let taken = (0..10_000).filter(|_| room.take(Path::new(&deep), "web.yaml")).count();
        assert_eq!(taken, (16 << 20) / (4000 + 8));
    }

    #[test]
    fn each_file_has_one_path() {
        for (path, want) in [
            ("web.yaml", "web.yaml"),
            ("./a/./web.yaml", "a/web.yaml"),
            ("a/../b/web.yaml", "b/web.yaml"),
            ("../dev/../base/web.yaml", "web.yaml"),
            ("../base", ""),
            ("../base-2/web.yaml", "../base-2/web.yaml"),
            ("../../x/base/a/web.yaml", "a/web.yaml"),
            ("../../../../../web.yaml", "../../../../../web.yaml"),
            ("/x/base/web.yaml", "web.yaml"),
            ("/x/web.yaml", "/x/web.yaml"),
        ] {
            assert_eq!(path_within(Path::new("/x/base"), Path::new(path)), Path::new(want), "{path}");
            let unknown = normal(Path::new(path));
            assert_eq!(path_within(Path::new(""), Path::new(path)), unknown, "{path} in an unknown directory");
        }
    }
}
