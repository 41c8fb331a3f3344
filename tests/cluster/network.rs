//! A network for one test: its addresses and processes end with it, however it ends.
//!
//! An API server calls no loopback addresses behind a Service, so the replicas need others. The test runs itself again
//! inside of the network, and the first run passes on what it measured.

use std::{
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use tempfile::TempDir;

/// Says to the second run where it is.
const INSIDE: &str = "ROSTER_NETWORK_INSIDE";
/// What the lines of a table begin with, so that the first run finds them.
const ROW: &str = "row | ";

/// A folder that stays if the test fails: logs are in it.
pub(crate) struct Folder(Option<TempDir>);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(Some(tempfile::tempdir().unwrap()))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.as_ref().unwrap().path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(dir) = self.0.take_if(|_| thread::panicking()) {
            println!("logs are in {}", dir.keep().display());
        }
    }
}

/// Prints a line of a table.
pub(crate) fn row(name: &str, numbers: &str) {
    println!("{ROW}{name:<44} | {numbers}");
}

/// Whether this is the second run.
pub(crate) fn is_own() -> bool {
    env::var_os(INSIDE).is_some()
}

/// Gives the network of the second run its loopback device, and runs `ip` with each of these lines.
pub(crate) fn set_up(lines: &[&str]) {
    for line in ["link set lo up"].iter().chain(lines) {
        assert!(Command::new("ip").args(line.split(' ')).status().unwrap().success(), "ip {line}");
    }
}

/// Runs a test again, in a network and with processes of its own.
pub(crate) fn run_inside(test: &str) {
    let mut flags = vec!["--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let possible = |flags: &[&str]| {
        let tried = Command::new("unshare").args(flags).args(["ip", "link", "set", "lo", "up"]).output();
        tried.is_ok_and(|o| o.status.success())
    };
    if !possible(&flags) {
        flags.push("--map-root-user");
    }
    if !possible(&flags) {
        let why = "a network of its own needs root or user namespaces, and the programs unshare, setpriv and ip";
        assert!(env::var_os("CI").is_none(), "{why}");
        println!("skipped: {why}");
        return;
    }
    // It ends with this thread, even if that is killed.
    let mut again = Command::new("setpriv");
    again.args(["--pdeathsig", "KILL", "unshare"]).args(flags).arg(env::current_exe().unwrap()).args([
        "--ignored",
        "--exact",
        test,
        "--nocapture",
    ]);
    let mut child = again.env(INSIDE, "yes").stdout(Stdio::piped()).spawn().unwrap();
    let mut rest = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        match line.strip_prefix(ROW) {
            Some(line) => println!("{line}"),
            None => rest = rest + &line + "\n",
        }
    }
    assert!(child.wait().unwrap().success(), "{rest}");
}
