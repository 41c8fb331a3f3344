//! The server that is attacked: `roster serve` on loopback, in a folder of its own.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use crate::attacker::Targets;

/// How long a start may take.
const START: Duration = Duration::from_secs(30);

/// The certificate of the servers. Its folder is removed with the value.
pub(crate) struct Certificate(PathBuf);

impl Certificate {
    /// Issues one.
    pub(crate) fn issue(program: &Path) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("roster-attacks-{}", std::process::id()));
        let issued = Command::new(program).args(["certs", "dev", "--dir"]).arg(&folder).output();
        let issued = issued.with_context(|| format!("starting {}", program.display()))?;
        ensure!(issued.status.success(), "roster certs dev: {}", String::from_utf8_lossy(&issued.stderr));
        Ok(Self(folder))
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        // It is in the temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running server. It ends with the value.
pub(crate) struct Server {
    child: Child,
    pub(crate) targets: Targets,
}

impl Server {
    /// Starts a server, with the REST API or without it, and waits until it listens.
    pub(crate) fn start(program: &Path, certificate: &Certificate, rest: bool) -> Result<Self> {
        let targets =
            Targets { webhook: free_address()?, admin: free_address()?, rest: rest.then(free_address).transpose()? };
        let mut command = Command::new(program);
        command.args(["serve", "--log", "error"]);
        command.args(["--webhook-listen", &targets.webhook.to_string(), "--admin-listen", &targets.admin.to_string()]);
        command.arg("--tls-cert-file").arg(certificate.0.join("tls.crt"));
        command.arg("--tls-private-key-file").arg(certificate.0.join("tls.key"));
        if let Some(address) = targets.rest {
            command.args(["--listen", &address.to_string()]);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut server = Self { child: child.with_context(|| format!("starting {}", program.display()))?, targets };
        let began = Instant::now();
        while std::net::TcpStream::connect(targets.webhook).is_err() {
            ensure!(server.is_running()?, "roster serve has ended");
            ensure!(began.elapsed() < START, "roster serve does not listen after 30 s");
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// The processor time that it has used.
    pub(crate) fn processor_time(&self) -> Duration {
        processor_time(&format!("/proc/{}/stat", self.process()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processor time of the process or thread with this file in `/proc`; zero where it cannot be read.
pub(crate) fn processor_time(file: &str) -> Duration {
    /// Linux counts in hundredths of a second here, on every machine.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string(file).unwrap_or_default();
    // The name of the program, in parentheses, may contain spaces. User and system time are the 14th and 15th field.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks: u32 = after.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u32>().ok()).sum();
    TICK * ticks
}

/// How many files this process may open.
pub(crate) fn open_files() -> Result<u64> {
    let limits = fs::read_to_string("/proc/self/limits").context("reading /proc/self/limits")?;
    let line = limits.lines().find_map(|l| l.strip_prefix("Max open files")).context("no limit of open files")?;
    let soft = line.split_whitespace().next().context("an empty limit of open files")?;
    // `unlimited` is not a number.
    Ok(soft.parse().unwrap_or(u64::MAX))
}

/// A free loopback address. It was bound and released, for a server that binds it a moment later.
fn free_address() -> Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).context("no free port")
}
