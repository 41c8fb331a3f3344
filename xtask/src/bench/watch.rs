//! Measures the copy of a large cluster that the webhook or the controller has: the time until it is synced, and its memory, with an API server that
//! lists the objects of a file, has no events, and then wants everything to be listed again.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::api_server::{ApiServer, ListedObjects};
use super::webhook::certificate;
use super::{Goals, cluster, cpu_millis, memory_of};
use crate::command::{Process, release_program};
use crate::free_port::free_address;
use crate::paths;
use crate::server::is_ready;

/// How long a replica may take to read the cluster.
const SECONDS: u64 = 120;
/// How long memory is left to settle after the lists.
const SETTLED: Duration = Duration::from_secs(3);

/// A server with a copy of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copied {
    Webhook,
    /// A follower: the API server has no Lease, so that it never writes.
    Controller,
}

impl Copied {
    fn name(self) -> &'static str {
        match self {
            Self::Webhook => "roster serve --cluster",
            Self::Controller => "roster controller",
        }
    }

    /// How many megabytes the copy of 150 000 pods may take.
    fn megabytes(self) -> u64 {
        match self {
            Self::Webhook => 150,
            Self::Controller => 250,
        }
    }

    /// How many seconds it may take until it is synced, if there is a goal.
    fn seconds(self) -> Option<f64> {
        match self {
            Self::Webhook => None,
            Self::Controller => Some(15.0),
        }
    }

    fn command(self, program: &Path, admin: &str, folder: &Path, kubeconfig: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        match self {
            Self::Webhook => {
                command.args(["serve", "--cluster", "--webhook-listen", &free_address()?.to_string()]);
                command.arg("--tls-cert-file").arg(certificate(folder)?);
                command.arg("--tls-private-key-file").arg(folder.join("tls.key"));
            }
            Self::Controller => {
                command.arg("controller");
            }
        }
        command.args(["--admin-listen", admin, "--kubeconfig"]).arg(kubeconfig);
        Ok(command)
    }
}

/// Starts a server beside the API server, `rounds` times, in turns with the program `beside` if there is one.
pub(super) fn run_watch(
    copied: Copied,
    services: usize,
    rounds: usize,
    beside: Option<&Path>,
    goals: &mut Goals,
) -> Result<()> {
    let api = ApiServer::start(ListedObjects::of_file(&cluster::file(services)?)?)?;
    println!("\n{}, {}", copied.name(), api.objects());
    let folder = paths::target().join(format!("bench-watch-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let kubeconfig = folder.join("kubeconfig");
    fs::write(&kubeconfig, api.kubeconfig())?;
    let mut programs = vec![(release_program()?, Vec::new())];
    programs.extend(beside.map(|path| (path.to_owned(), Vec::new())));
    for _ in 0..rounds {
        for (program, runs) in &mut programs {
            runs.push(Run::of(copied, program, &folder, &kubeconfig, &api)?);
        }
    }
    println!(
        "{:<56}{:>10}{:>10}{:>12}{:>12}{:>12}",
        "median", "synced, s", "CPU, s", "memory, MB", "peak, MB", "again, MB"
    );
    for (program, runs) in &mut programs {
        let [synced, cpu] = [median(runs, |r| r.millis), median(runs, |r| r.cpu)].map(Duration::from_millis);
        let [memory, peak, again] = [median(runs, |r| r.memory), median(runs, |r| r.peak), median(runs, |r| r.again)];
        let (synced, cpu, program) = (synced.as_secs_f64(), cpu.as_secs_f64(), program.display());
        println!("{program:<56}{synced:>10.2}{cpu:>10.2}{memory:>12}{peak:>12}{again:>12}");
    }
    let now = median(&mut programs[0].1, |r| r.memory);
    let megabytes = copied.megabytes();
    goals.check(now < megabytes, &format!("the copy of a cluster in {now} MB; {megabytes} allowed"));
    let again = median(&mut programs[0].1, |r| r.again);
    goals.check(10 * again <= 13 * now, &format!("listed again in {again} MB; 1.3 times {now} allowed"));
    if let Some(allowed) = copied.seconds() {
        let synced = Duration::from_millis(median(&mut programs[0].1, |r| r.millis)).as_secs_f64();
        goals.check(synced < allowed, &format!("synced in {synced:.1} s; {allowed} allowed"));
    }
    fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))
}

fn median(runs: &mut [Run], value: impl Fn(&Run) -> u64) -> u64 {
    runs.sort_by_key(&value);
    runs.get(runs.len() / 2).map_or(0, value)
}

/// One start of a server.
struct Run {
    /// From the start to readiness.
    millis: u64,
    /// Milliseconds of CPU time. The rest is that of the API server, which shares the cores.
    cpu: u64,
    /// Megabytes after the lists.
    memory: u64,
    /// The peak in megabytes.
    peak: u64,
    /// The peak while everything is listed again.
    again: u64,
}

impl Run {
    fn of(copied: Copied, program: &Path, folder: &Path, kubeconfig: &Path, api: &ApiServer) -> Result<Self> {
        let admin = free_address()?;
        let mut command = copied.command(program, &admin.to_string(), folder, kubeconfig)?;
        let began = Instant::now();
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut server = Process::new(child.with_context(|| format!("starting {}", program.display()))?);
        while !is_ready(&admin) {
            ensure!(server.exit_status()?.is_none(), "{} has ended", program.display());
            ensure!(began.elapsed() < Duration::from_secs(SECONDS), "the copy is not synced after {SECONDS} s");
            sleep(Duration::from_millis(10));
        }
        let millis = u64::try_from(began.elapsed().as_millis())?;
        sleep(SETTLED);
        let status = server.proc_file("status")?;
        let cpu = cpu_millis(&server.proc_file("stat")?).context("no CPU time")?;
        let of = |key| memory_of(&status, key).with_context(|| format!("/proc has no {key}"));
        let (memory, peak) = (of("VmRSS:")?, of("VmHWM:")?);
        // From now on the peak is a new one.
        fs::write(format!("/proc/{}/clear_refs", server.id()), "5").context("the peak cannot be reset")?;
        api.expire_watches();
        let mut used = cpu;
        loop {
            sleep(SETTLED);
            let now = cpu_millis(&server.proc_file("stat")?).context("no CPU time")?;
            // Meanwhile it has read everything again, and nothing since.
            if used > cpu && now < used + 100 {
                break;
            }
            used = now;
        }
        let status = server.proc_file("status")?;
        let again = memory_of(&status, "VmHWM:").context("/proc has no peak")?;
        Ok(Self { millis, cpu, memory, peak, again })
    }
}
