//! Runs the hook of pre-commit in a repository with a manifest that is wrong, and with one that is not.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{LIMIT, folder, program};
use crate::command::{capture_within, find};
use crate::paths;
use crate::release::Release;
use crate::steps::Outcome;

pub(super) fn check(release: &Release) -> Result<Outcome> {
    let installed = paths::cache().ok().map(|cache| cache.join("venv/bin/pre-commit")).filter(|path| path.is_file());
    let Some(pre_commit) = find("pre-commit").or(installed) else {
        return Outcome::missing("pre-commit is not installed: pip install pre-commit");
    };
    let folder = folder("pre-commit")?;
    let (bin, repository) = (folder.join("bin"), folder.join("repository"));
    fs::create_dir(&bin)?;
    symlink(fs::canonicalize(program(release)?)?, bin.join("roster")).context("linking the program")?;
    let manifest = |port: u32| {
        let text =
            format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: {port}\n");
        fs::write(repository.join("service.yaml"), text).context("writing a manifest")
    };
    capture_within(Command::new("git").args(["init", "--quiet"]).arg(&repository), LIMIT)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path)))?;
    let hook = || {
        capture_within(Command::new("git").args(["add", "."]).current_dir(&repository), LIMIT)?;
        let mut command = Command::new(&pre_commit);
        command.arg("try-repo").arg(paths::root()).args(["roster-lint-system", "--all-files"]);
        command.env("PATH", &path).env("PRE_COMMIT_HOME", folder.join("home")).current_dir(&repository);
        capture_within(&mut command, LIMIT)
    };
    manifest(80)?;
    hook()?;
    manifest(99999)?;
    let refused = hook().err().context("the hook passes a port that is out of range")?;
    ensure!(refused.to_string().contains("invalid-port"), "{refused:#}");
    Ok(Outcome::Passed)
}
