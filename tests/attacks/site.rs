//! The server that is attacked: `roster serve` or `roster edge` on loopback, in a folder of its own.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio::{runtime, time::timeout};

use crate::{
    api_server::ApiServer,
    attacker::{Attacker, Sources, Targets},
    free_port::free_address,
    genuine_request::revoked_reads,
    http2::{HEADERS, Http2, Scheme},
    request::Request,
    stored,
    upstream::{Changes, Upstream},
};

/// How long a start may take.
const START: Duration = Duration::from_secs(30);

/// What is attacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Site {
    /// The webhook of `roster serve`.
    Webhook,
    /// The webhook and the REST API of `roster serve`.
    Rest,
    /// The webhook, with a copy of a cluster whose slices have many ports.
    Cluster,
    /// The webhook, with policies that deny many ranges.
    Policies,
    /// The node proxy, `roster edge`.
    Edge,
    /// The node proxy, beside a Service with many topology keys and endpoints.
    Keys,
    /// The node proxy, started again with permissions of tokens that were revoked meanwhile.
    Restarted,
}

impl Site {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Rest => "rest",
            Self::Cluster => "cluster",
            Self::Policies => "policies",
            Self::Edge => "edge",
            Self::Keys => "keys",
            Self::Restarted => "restarted",
        }
    }

    /// Whether it is a node proxy.
    pub(crate) fn is_edge(self) -> bool {
        matches!(self, Self::Edge | Self::Keys | Self::Restarted)
    }

    /// Whether it can answer only when it has read the objects of an API server.
    fn reads_objects(self) -> bool {
        self.is_edge() || self == Self::Cluster
    }

    /// What the server calls itself.
    fn program(self) -> &'static str {
        if self.is_edge() { "roster edge" } else { "roster serve" }
    }
}

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
    /// The API server of a node proxy.
    pub(crate) upstream: Option<Upstream>,
    /// The processor time that it had used when it could answer.
    pub(crate) start_time: Duration,
}

impl Server {
    /// Starts a server, and waits until it listens; one that reads objects, until it can answer.
    pub(crate) fn start(program: &Path, certificate: &Certificate, site: Site) -> Result<Self> {
        let rest = (site == Site::Rest).then(free_address).transpose()?;
        let targets = Targets { site, served: free_address()?, admin: free_address()?, rest, soon: Targets::SOON };
        let upstream = site.is_edge().then(|| Upstream::start(&certificate.0, site == Site::Keys)).transpose()?;
        let mut command = Command::new(program);
        match &upstream {
            Some(upstream) => {
                upstream.arguments(&mut command);
                command.args(["--listen", &targets.served.to_string()]);
            }
            None => {
                command.args(["serve", "--webhook-listen", &targets.served.to_string()]);
            }
        }
        match site {
            Site::Cluster => {
                let file = certificate.0.join("kubeconfig");
                fs::write(&file, ApiServer::start(stored::cluster())?.kubeconfig())?;
                command.args(["--cluster", "--kubeconfig"]).arg(file);
            }
            Site::Policies => {
                let file = certificate.0.join("policies.json");
                fs::write(&file, stored::policies())?;
                command.arg("--policy").arg(file);
            }
            Site::Webhook | Site::Rest | Site::Edge | Site::Keys | Site::Restarted => {}
        }
        command.args(["--log", "error", "--admin-listen", &targets.admin.to_string()]);
        command.arg("--tls-cert-file").arg(certificate.0.join("tls.crt"));
        command.arg("--tls-private-key-file").arg(certificate.0.join("tls.key"));
        if let Some(address) = targets.rest {
            command.args(["--listen", &address.to_string()]);
        }
        let child = spawn(&mut command)?;
        let mut server = Self { child, targets, upstream, start_time: Duration::ZERO };
        server.wait_until_ready()?;
        if site == Site::Restarted {
            server.revoke_and_restart(&mut command)?;
        }
        server.start_time = server.processor_time();
        Ok(server)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let (began, program) = (Instant::now(), self.targets.site.program());
        while !self.is_ready() {
            ensure!(self.is_running()?, "{program} has ended");
            ensure!(began.elapsed() < START, "{program} is not ready after 30 s");
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Reads with tokens, revokes them, and kills and starts the server: permissions of a former run are old at once. Otherwise
    /// it would ask again only after five minutes.
    fn revoke_and_restart(&mut self, command: &mut Command) -> Result<()> {
        let (reads, client) = (revoked_reads(), Attacker::new(self.targets, Sources::Others(1))?);
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async { timeout(START, read_all(&client, &reads)).await })??;
        let (began, upstream) = (Instant::now(), self.upstream.as_ref().context("no API server")?);
        while upstream.saved_permissions() < reads.len() {
            ensure!(began.elapsed() < START, "the permissions are not saved after 30 s");
            sleep(Duration::from_millis(100));
        }
        upstream.revoke();
        self.end();
        self.child = spawn(command)?;
        self.wait_until_ready()
    }

    fn end(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn is_ready(&self) -> bool {
        let listens = std::net::TcpStream::connect(self.targets.served).is_ok();
        listens && (!self.targets.site.reads_objects() || says_ready(self.targets.admin).unwrap_or(false))
    }

    /// The changes of the object that clients of a node proxy watch.
    pub(crate) fn changes(&self) -> Option<Changes> {
        self.upstream.as_ref().map(|upstream| upstream.changes.clone())
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
        self.end();
    }
}

fn spawn(command: &mut Command) -> Result<Child> {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.with_context(|| format!("starting {}", command.get_program().display()))
}

/// Sends reads on one connection, until the head of the answer to each says that it is allowed.
async fn read_all(client: &Attacker, reads: &[Request]) -> Result<()> {
    let mut http2 = Http2::open(client.http2(0).await?, Scheme::Https, &[]).await?;
    for read in reads {
        http2.send(read).await?;
    }
    let mut allowed = 0;
    while allowed < reads.len() {
        let frame = http2.next_frame().await?;
        http2.taken(&frame).await?;
        if frame.kind == HEADERS {
            ensure!(frame.status() == 200, "a read before the attack is not allowed");
            allowed += 1;
        }
    }
    Ok(())
}

/// Whether `/readyz` says so.
fn says_ready(admin: SocketAddr) -> std::io::Result<bool> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(admin)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"GET /readyz HTTP/1.0\r\nhost: localhost\r\n\r\n")?;
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    Ok(head.ends_with(b" 200"))
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
