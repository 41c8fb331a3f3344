//! The two webhooks, each with the same certificate.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::bench::{cpu_millis, memory_of};
use crate::command::{Process, release_program};
use crate::free_port::free_address;
use crate::{oracle, paths};

/// A running webhook, which ends when the value is dropped.
pub(super) struct Server {
    process: Process,
    address: String,
}

impl Server {
    /// Roster with the release profile.
    pub(super) fn roster(folder: &Path) -> Result<Self> {
        let (address, admin) = (free_address()?.to_string(), free_address()?.to_string());
        let mut command = Command::new(release_program()?);
        command.args(["serve", "--webhook-listen", &address, "--admin-listen", &admin]);
        command
            .arg("--tls-cert-file")
            .arg(certificate(folder)?)
            .arg("--tls-private-key-file")
            .arg(folder.join("tls.key"));
        Self::start(command, address)
    }

    /// The webhook of `benches/webhook`.
    pub(super) fn go(folder: &Path) -> Result<Self> {
        let address = free_address()?.to_string();
        certificate(folder)?;
        let mut command = Command::new(go_program()?);
        command.args(["-port", address.rsplit(':').next().unwrap_or_default()]).arg("-cert-dir").arg(folder);
        Self::start(command, address)
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Memory in megabytes: now, and the peak.
    pub(super) fn memory(&self) -> Result<(u64, u64)> {
        let status = self.process.proc_file("status")?;
        let of = |key| memory_of(&status, key);
        of("VmRSS:").zip(of("VmHWM:")).context("/proc does not tell how much memory it has")
    }

    /// The CPU time that it has used, in milliseconds.
    pub(super) fn cpu(&self) -> Result<u64> {
        cpu_millis(&self.process.proc_file("stat")?).context("/proc does not tell how much CPU time it has used")
    }

    fn start(mut command: Command, address: String) -> Result<Self> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let name = command.get_program().to_string_lossy().into_owned();
        let mut server = Self { process: Process::new(child.with_context(|| format!("starting {name}"))?), address };
        let began = Instant::now();
        while TcpStream::connect(&server.address).is_err() {
            ensure!(server.process.exit_status()?.is_none(), "{name} has ended");
            ensure!(began.elapsed() < Duration::from_secs(30), "{name} does not listen after 30 s");
            sleep(Duration::from_millis(50));
        }
        Ok(server)
    }
}

/// `tls.crt` and `tls.key` in `folder`, created by the first call.
pub(in crate::bench) fn certificate(folder: &Path) -> Result<PathBuf> {
    let file = folder.join("tls.crt");
    if !file.exists() {
        let made = Command::new(release_program()?).args(["certs", "dev", "--dir"]).arg(folder).output()?;
        ensure!(made.status.success(), "roster certs dev: {}", String::from_utf8_lossy(&made.stderr));
    }
    Ok(file)
}

/// The program, built unless it is in the cache under a hash of its sources.
fn go_program() -> Result<PathBuf> {
    let source = paths::root().join("benches/webhook");
    let mut text = Vec::new();
    for name in ["main.go", "go.mod", "go.sum"] {
        text.extend(fs::read(source.join(name)).with_context(|| format!("reading {name}"))?);
    }
    let store = paths::cache()?.join("bench");
    let binary = store.join(format!("webhook-{:016x}", oracle::fnv(&text)));
    if !binary.exists() {
        fs::create_dir_all(&store)?;
        println!("building the webhook of controller-runtime (once; a few minutes)");
        let half = binary.with_extension(std::process::id().to_string());
        let mut command = Command::new("go");
        command.args(["build", "-buildvcs=false", "-o"]).arg(&half).arg(".").current_dir(&source);
        ensure!(command.status().context("running go")?.success(), "go build failed");
        fs::rename(half, &binary)?;
    }
    Ok(binary)
}
