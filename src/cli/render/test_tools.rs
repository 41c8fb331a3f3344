//! Directories and programs for the tests of the renderers.

use std::{env, fs};

use super::process::RendererProgram;

/// A directory with files.
#[expect(clippy::disallowed_methods, reason = "a test")]
pub(super) fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Whether a program is installed. In continuous integration it must be.
pub(super) fn has_program(name: &'static str) -> bool {
    let is_found = RendererProgram::find(name).is_some();
    if !is_found {
        println!("skipped: {name} is not installed");
        assert!(env::var_os("CI").is_none(), "{name} is not installed");
    }
    is_found
}
