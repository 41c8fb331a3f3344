//! Runs the script of the GitHub Action, which downloads the release from loopback.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{LIMIT, folder, serve};
use crate::command::{capture_within, has};
use crate::free_port::free_address;
use crate::paths;
use crate::release::Release;
use crate::release::files::CHECKSUMS;
use crate::steps::Outcome;

pub(super) fn check(release: &Release) -> Result<Outcome> {
    if !has("python3") {
        return Outcome::missing("python3 is not installed");
    }
    let folder = folder("action")?;
    let downloads = folder.join(format!("v{}", release.version));
    fs::create_dir(&downloads)?;
    for entry in fs::read_dir(&release.folder)? {
        let entry = entry?;
        symlink(fs::canonicalize(entry.path())?, downloads.join(entry.file_name()))?;
    }
    let address = free_address()?;
    let (port, host) = (address.port().to_string(), address.ip().to_string());
    let mut server = Command::new("python3");
    let _server = serve(server.args(["-m", "http.server", "--bind", &host, &port]).current_dir(&folder), address)?;
    let releases = format!("http://{address}");

    // The arguments, the file for code scanning, the outputs, and whether there are findings in that file.
    let written = "code=1\nsarif=written\n";
    let cases = [
        ("examples/typo --warnings-as-errors", "roster.sarif", written, true),
        ("examples/shop.yaml\nexamples/typo\n--warnings-as-errors\n", "new/lines.sarif", written, true),
        ("examples/typo --warnings-as-errors", "", "code=1\n", false),
        ("examples/typo --no-such-flag", "usage.sarif", "code=2\n", false),
    ];
    for (arguments, sarif, want, has_findings) in cases {
        lint(&folder, &releases, arguments, sarif)?;
        let outputs = fs::read_to_string(folder.join("output")).context("reading the outputs")?;
        ensure!(outputs == want, "{arguments}: {outputs}");
        let found = findings(&folder, sarif)?;
        let as_wanted = if has_findings { found.is_some_and(|n| n > 0) } else { found.is_none() };
        ensure!(as_wanted, "{arguments}: the findings in {sarif:?} are {found:?}");
    }
    // An archive that is not the one of the checksums.
    let text = fs::read_to_string(downloads.join(CHECKSUMS))?;
    fs::remove_file(downloads.join(CHECKSUMS))?;
    let changed = text.lines().map(|line| format!("{}{}\n", "0".repeat(64), line.get(64..).unwrap_or_default()));
    fs::write(downloads.join(CHECKSUMS), changed.collect::<String>())?;
    let refused = lint(&folder, &releases, ".", "").err().context("an archive with another checksum is installed")?;
    ensure!(refused.to_string().contains("nothing was installed"), "{refused:#}");
    Ok(Outcome::Passed)
}

/// Runs the script as the action does.
fn lint(folder: &Path, releases: &str, arguments: &str, sarif: &str) -> Result<()> {
    fs::write(folder.join("output"), "").context("emptying the outputs")?;
    let mut script = Command::new(paths::root().join("packaging/action.sh"));
    script.env("GITHUB_ACTION_PATH", paths::root()).env("ROSTER_RELEASES", releases);
    script.env("RUNNER_TEMP", folder.join("temp"));
    for (name, file) in [("GITHUB_PATH", "path"), ("GITHUB_OUTPUT", "output")] {
        script.env(name, folder.join(file));
    }
    let sarif = if sarif.is_empty() { PathBuf::new() } else { folder.join(sarif) };
    script.env("ROSTER_SARIF_FILE", sarif).env("ROSTER_VERSION", "").env("ROSTER_ARGUMENTS", arguments);
    capture_within(&mut script, LIMIT).map(drop)
}

/// The number of findings in the file for code scanning, if it was written.
fn findings(folder: &Path, sarif: &str) -> Result<Option<usize>> {
    let file = folder.join(sarif);
    if !file.is_file() {
        return Ok(None);
    }
    let log: Value = serde_json::from_slice(&fs::read(file)?)?;
    Ok(Some(log["runs"][0]["results"].as_array().map_or(0, Vec::len)))
}
