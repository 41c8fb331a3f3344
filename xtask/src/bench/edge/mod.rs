//! Measures the node proxy before a large cluster: the time until it answers, its memory, and the time from a change of a
//! label to the last event of the last client.

mod objects;
mod watchers;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::api_server::ApiServer;
use super::{Goals, memory_of};
use crate::command::{Process, release_program};
use crate::free_port::free_address;
use crate::paths;
use crate::server::is_ready;
use objects::{MOVING, OWN, SERVICES, SLICES_OF_NODE, node, node_name};
use watchers::Watchers;

const WATCHERS: usize = 100;
/// Longest time until the proxy is ready.
const LIMIT: Duration = Duration::from_mins(1);
/// How long memory is left to settle.
const SETTLED: Duration = Duration::from_secs(5);

/// The goals: megabytes, and milliseconds until it is ready and until a change of a label has arrived.
const MEGABYTES: u64 = 150;
const READY: u128 = 1000;
const LABEL: u128 = 50;

/// A running proxy.
struct Edge {
    process: Process,
    address: SocketAddr,
}

impl Edge {
    fn start(program: &Path, folder: &Path) -> Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(program);
        command.args(["edge", "--scheme", "superedge", "--node", &node_name(OWN)]);
        command.args(["--listen", &address.to_string(), "--kubeconfig"]).arg(folder.join("kubeconfig"));
        command.arg("--state-file").arg(folder.join("edge.state"));
        // As in manifests/edge.
        command.env("MIMALLOC_PURGE_DELAY", "0");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("starting the proxy")?;
        Ok(Self { process: Process::new(child), address })
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let began = Instant::now();
        while !is_ready(&self.address) {
            ensure!(self.process.exit_status()?.is_none(), "the proxy has ended");
            ensure!(began.elapsed() < LIMIT, "the proxy is not ready after {} s", LIMIT.as_secs());
            sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Megabytes.
    fn memory(&self, key: &str) -> Result<u64> {
        let status = self.process.proc_file("status")?;
        memory_of(&status, key).with_context(|| format!("/proc has no {key}"))
    }
}

/// Measures `rounds` starts, and ten times as many changes of a label.
pub(super) fn run_edge(rounds: usize, goals: &mut Goals) -> Result<()> {
    let program = release_program()?;
    let api = ApiServer::start(objects::all())?;
    println!("\nroster edge --scheme superedge, {}; every Service has topology keys", api.objects());
    let folder: PathBuf = paths::target().join(format!("bench-edge-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    fs::write(folder.join("kubeconfig"), api.kubeconfig())?;
    let mut starts = Vec::new();
    for _ in 0..rounds {
        for name in ["edge.state", "edge.state.objects", "edge.state.journal.0"] {
            // There may be none.
            let _ = fs::remove_file(folder.join(name));
        }
        let began = Instant::now();
        Edge::start(&program, &folder)?.wait_until_ready()?;
        starts.push(began.elapsed().as_millis());
    }
    let mut edge = Edge::start(&program, &folder)?;
    edge.wait_until_ready()?;
    let watchers = Watchers::open(&edge.address, WATCHERS)?;
    sleep(SETTLED);
    let (memory, peak) = (edge.memory("VmRSS:")?, edge.memory("VmHWM:")?);

    let relabel = |moved: usize, region: usize, each: usize| -> Result<u128> {
        let changed = Instant::now();
        api.send("nodes", &format!(r#"{{"type":"MODIFIED","object":{}}}"#, node(moved, region)));
        Ok(watchers.wait(each)?.saturating_duration_since(changed).as_millis())
    };
    let mut labels = Vec::new();
    for _ in 0..5 * rounds {
        labels.push(relabel(MOVING, 1, SLICES_OF_NODE)?);
        labels.push(relabel(MOVING, 0, SLICES_OF_NODE)?);
    }
    let after = edge.memory("VmRSS:")?;
    for times in [&mut starts, &mut labels] {
        times.sort_unstable();
    }
    let (ready, label) = (starts[starts.len() / 2], labels[labels.len() / 2]);
    println!(
        "ready after              {ready} ms (median of {rounds} starts; the longest {} ms)",
        starts[starts.len() - 1]
    );
    println!("memory                   {memory} MB, {after} MB after the changes; peak {peak} MB");
    println!(
        "label of another node    {label} ms until {WATCHERS} watches have {SLICES_OF_NODE} events each (median of {}; the longest {} ms)",
        labels.len(),
        labels[labels.len() - 1],
    );
    goals.check(ready < READY, &format!("ready after {ready} ms; {READY} allowed"));
    goals.check(memory < MEGABYTES, &format!("{memory} MB; {MEGABYTES} allowed"));
    goals.check(label < LABEL, &format!("a label in {label} ms; {LABEL} allowed"));

    // The whole view changes.
    drop(watchers);
    let one = Watchers::open(&edge.address, 1)?;
    let changed = Instant::now();
    api.send("nodes", &format!(r#"{{"type":"MODIFIED","object":{}}}"#, node(OWN, 1)));
    let seen = seen_of(SERVICES);
    let last = one.wait(seen)?;
    println!("label of the own node    {} ms until one watch has {seen} events", (last - changed).as_millis());
    drop(edge);
    fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))
}

/// The slices with an endpoint in the site that the own node leaves, or in the one it comes to.
fn seen_of(services: usize) -> usize {
    (0..services).filter(|service| objects::touches(*service, [0, 1])).count()
}
