//! Programs of others that a test runs.

use std::env;

/// Whether a program is installed. In continuous integration it must be.
#[expect(clippy::print_stdout, reason = "who runs the tests must see what is skipped")]
pub(crate) fn has_program(name: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    let is_found = env::split_paths(&folders).any(|folder| folder.join(name).is_file());
    if !is_found {
        println!("skipped: {name} is not installed");
        assert!(env::var_os("CI").is_none(), "{name} is not installed");
    }
    is_found
}
