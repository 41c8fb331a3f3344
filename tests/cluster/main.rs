//! Roster beside a real API server and the real controllers.
//!
//! `cargo xtask test cluster` builds the programs, sets `KUBEBUILDER_ASSETS`, and runs these tests: others ignore them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test: it may fail loudly, it reads files, and it prints"
)]

mod account;
mod api;
mod attacked;
mod chart;
mod closed;
#[expect(dead_code, reason = "`cargo xtask cluster` needs the rest of it")]
mod control_plane;
mod controller;
mod defaults;
mod dry_run;
mod edge;
mod end_to_end;
mod faults;
mod fields;
mod load;
mod matrix;
mod network;
mod new_namespaces;
mod page;
mod policies;
mod screens;
mod site;
mod static_config;
mod stored_addresses;
mod streamed_lists;
mod switch;
mod webhook;
mod workloads;

/// The random states of the live comparison, and the engine as it is asked there.
#[path = "../parity"]
#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
mod parity {
    pub(crate) mod canon;
    pub(crate) mod engine;
    #[expect(dead_code, reason = "only the live comparison asks in an order of its own")]
    pub(crate) mod generator;
    pub(crate) mod rng;
}

#[path = "../fields/mod.rs"]
mod fields_of_manifests;
#[path = "../../xtask/src/free_port.rs"]
mod free_port;
#[path = "../pages/mod.rs"]
mod pages;

use std::{
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use control_plane::{ControlPlane, Setup};

/// What most things take at most.
const SOON: Duration = Duration::from_secs(30);

/// The folder of the programs.
fn assets() -> PathBuf {
    std::env::var_os("KUBEBUILDER_ASSETS").expect("KUBEBUILDER_ASSETS, as cargo xtask test cluster sets it").into()
}

fn start(assets: &Path, dir: &Path) -> ControlPlane {
    ControlPlane::start(&Setup { assets, dir, api_server: &[], controllers: true }).unwrap()
}

fn start_without_controllers(assets: &Path, dir: &Path) -> ControlPlane {
    ControlPlane::start(&Setup { assets, dir, api_server: &[], controllers: false }).unwrap()
}

/// Runs `kubectl` with the words of `line`; whether it ended well, and all that it printed.
fn kubectl(plane: &ControlPlane, line: &str, input: &str) -> (bool, String) {
    let mut command = plane.kubectl();
    command.args(line.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.success(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

/// Waits until `ready` gives something.
fn wait<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + SOON;
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(Instant::now() < until, "{what}: not within {} s", SOON.as_secs());
        sleep(Duration::from_millis(100));
    }
}

/// The answer to a GET over plain HTTP, head and all.
fn get(address: &str, path: &str) -> Option<String> {
    let mut tcp = TcpStream::connect(address).ok()?;
    tcp.set_read_timeout(Some(SOON)).ok()?;
    write!(tcp, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// The value of a metric in what `/metrics` answers.
fn metric_in<'a>(metrics: &'a str, name: &str) -> Option<&'a str> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.split(' ').next())
}

/// The resident memory of a process in KiB; `None` if it has ended.
fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// The program under test. `ROSTER_PROGRAM` names another build of it.
fn roster() -> Command {
    Command::new(std::env::var_os("ROSTER_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_roster").into()))
}
