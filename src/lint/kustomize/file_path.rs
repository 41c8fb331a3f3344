//! The paths of files, of which each file has one, however it is named.

use std::path::{Component, Path, PathBuf};

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

/// A path that is relative to the working directory, without a way that leads out of that and back into it: `../base/web.yaml`
/// is `web.yaml` in the directory `base`.
pub fn path_within(working_directory: &Path, path: &Path) -> PathBuf {
    let path = normal(path);
    let whole = normal(&working_directory.join(&path));
    match whole.strip_prefix(working_directory) {
        Ok(within) if path.starts_with("..") => within.to_owned(),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("/x/base/web.yaml", "/x/base/web.yaml"),
        ] {
            assert_eq!(path_within(Path::new("/x/base"), Path::new(path)), Path::new(want), "{path}");
            let unknown = normal(Path::new(path));
            assert_eq!(path_within(Path::new(""), Path::new(path)), unknown, "{path} in an unknown directory");
        }
    }
}
