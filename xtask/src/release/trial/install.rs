//! The trial of the install script, with a web server on loopback.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{folder, here, program, serve};
use crate::command::{has, run_with};
use crate::release::files::CHECKSUMS;
use crate::release::pack::{Tar, gzip, sha256};
use crate::release::{Release, installer};
use crate::steps::Outcome;

/// Installs the release, then refuses to install where it cannot, an archive that has changed, and a program that does not
/// run.
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
    run_with(&mut script(release, "sh", address, &prefix))?;
    ensure!(fs::read(prefix.join("bin/roster"))? == fs::read(program(release)?)?, "another program was installed");
    for file in ["man/man1/roster-plan.1", "bash-completion/completions/roster"] {
        let file = prefix.join("share").join(file);
        let mode = fs::metadata(&file).with_context(|| format!("{} was not installed", file.display()))?.mode();
        ensure!(mode & 0o444 == 0o444, "only its owner can read {}", file.display());
    }
    for shell in ["dash", "busybox sh"].into_iter().filter(|shell| shell.split(' ').all(has)) {
        run_with(&mut script(release, shell, address, &folder.join(shell)))?;
    }

    let refused = |prefix: &Path, message: &str| {
        let output = script(release, "sh", address, prefix).output().context("starting the script")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(!output.status.success() && said.contains(message), "instead of {message:?}: {said}");
        Ok(())
    };
    refused(Path::new(""), "--prefix needs a folder")?;
    let occupied = folder.join("occupied");
    fs::create_dir_all(occupied.join("bin/roster"))?;
    refused(&occupied, "is a folder")?;

    let mut bytes = fs::read(files.join(&archive))?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(files.join(&archive), bytes)?;
    let untouched = folder.join("untouched");
    refused(&untouched, "the checksum of")?;
    ensure!(!untouched.exists(), "something was installed before the checksum was compared");

    let broken = broken(release, archive.trim_end_matches(".tar.gz"))?;
    fs::write(files.join(CHECKSUMS), format!("{}  {archive}\n", sha256(&broken)))?;
    fs::write(files.join(&archive), broken)?;
    refused(&prefix, "does not run")?;
    let names = fs::read_dir(prefix.join("bin"))?.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>>>()?;
    ensure!(names == ["roster"], "what does not run is left: {names:?}");
    run_with(Command::new(prefix.join("bin/roster")).arg("--version"))
        .context("the program that worked was replaced")?;
    Ok(Outcome::Passed)
}

/// An archive whose program does not run.
fn broken(release: &Release, top: &str) -> Result<Vec<u8>> {
    let mut tar = Tar::new(release.epoch);
    tar.file(&format!("{top}/roster"), 0o755, b"\x7fELF")?;
    gzip(&tar.finish()?)
}

/// The script of the release, with another address, for a user whose new files are closed to others.
fn script(release: &Release, shell: &str, address: SocketAddr, prefix: &Path) -> Command {
    let mut script = Command::new("sh");
    script.args(["-c", &format!("umask 077; exec {shell} \"$@\""), "sh"]);
    script.arg(release.folder.join(installer::FILE)).arg("--prefix").arg(prefix);
    script.env("ROSTER_URL", format!("http://{address}"));
    script
}
