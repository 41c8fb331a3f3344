//! The trial of the install script, with a web server on loopback.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{folder, here, program, serve};
use crate::command::{has, run_with};
use crate::release::files::CHECKSUMS;
use crate::release::{Release, installer};
use crate::steps::Outcome;

/// Installs the release, then refuses to install an archive that has changed.
pub(super) fn check(release: &Release) -> Result<Outcome> {
    if !has("python3") {
        return Outcome::missing("python3 is not installed");
    }
    let (folder, archive) = (folder("install")?, release.archive(here().context("no archive for this machine")?));
    let files = folder.join("files");
    fs::create_dir(&files)?;
    for name in [CHECKSUMS, &archive] {
        fs::copy(release.folder.join(name), files.join(name)).with_context(|| format!("copying {name}"))?;
    }
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let mut server = Command::new("python3");
    server.args(["-m", "http.server", "--bind", "127.0.0.1", "--directory"]).arg(&files);
    let _server = serve(server.arg(address.port().to_string()), address)?;

    let prefix = folder.join("prefix");
    run_with(&mut script(release, address, &prefix))?;
    ensure!(fs::read(prefix.join("bin/roster"))? == fs::read(program(release)?)?, "another program was installed");
    for file in ["man/man1/roster-plan.1", "bash-completion/completions/roster"] {
        ensure!(prefix.join("share").join(file).is_file(), "{file} was not installed");
    }

    let mut bytes = fs::read(files.join(&archive))?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(files.join(&archive), bytes)?;
    let (untouched, output) = (folder.join("untouched"), script(release, address, &folder.join("untouched")).output()?);
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && message.contains("the checksum of"),
        "a changed archive is installed: {message}"
    );
    ensure!(!untouched.exists(), "something was installed before the checksum was compared");
    Ok(Outcome::Passed)
}

/// The script of the release, with another address.
fn script(release: &Release, address: SocketAddr, prefix: &Path) -> Command {
    let mut script = Command::new("sh");
    script.arg(release.folder.join(installer::FILE)).arg("--prefix").arg(prefix);
    script.env("ROSTER_URL", format!("http://{address}"));
    script
}
