//! The test files that arguments name.

use std::path::{Path, PathBuf};

use anyhow::ensure;

use crate::cli::input_paths::expand;

/// Files that are given by name, and the test files in directories and below them.
pub(super) fn find(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found: Vec<PathBuf> =
                expand(std::slice::from_ref(path))?.into_iter().filter(|file| is_test_file(file)).collect();
            ensure!(!found.is_empty(), "{}: contains no roster-test.yaml", path.display());
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn is_test_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or_default();
    stem == "roster-test" || stem.ends_with(".roster-test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_have_a_name_of_their_own() {
        for (name, want) in [
            ("a/roster-test.yaml", true),
            ("shop.roster-test.yml", true),
            ("test.yaml", false),
            ("roster-test.json", false),
        ] {
            assert_eq!(is_test_file(Path::new(name)), want, "{name}");
        }
    }
}
