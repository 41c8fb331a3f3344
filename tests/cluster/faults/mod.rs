//! What goes wrong around a webhook, tried under a steady load: who rolls, dies, or sends rubbish, and certificates
//! that change and end.
//!
//! Two replicas are behind the Service of the manifests, and the API server calls them at their addresses. These must
//! be no loopback addresses, so everything runs in a network of its own: this test runs itself again inside.

mod certificates;
mod clients;
mod replicas;
mod site;
mod tls;

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    thread,
};

use site::Site;
use tempfile::TempDir;

use super::{assets, load::Load};

/// Says to the second run where it is.
const INSIDE: &str = "ROSTER_FAULTS_INSIDE";
/// What the lines of the table begin with, so that the first run finds them.
const ROW: &str = "fault | ";

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn faults_lose_no_write() {
    let assets = assets();
    if env::var_os(INSIDE).is_none() {
        return run_inside("faults::faults_lose_no_write");
    }
    let dir = Folder(Some(tempfile::tempdir().unwrap()));
    row("", &format!("{:>6} | {:>6} | {:>8} | {:>8}", "writes", "failed", "admitted", "p99"));
    let mut site = Site::start(&assets, dir.0.as_ref().unwrap().path());
    without_loss(&mut site, nothing);
    without_loss(&mut site, certificates::rotated);
    without_loss(&mut site, certificates::ca_rotated);
    certificates::bundle_is_wrong(&site);
    without_loss(&mut site, clients::garbage);
    without_loss(&mut site, clients::more_than_there_is_room_for);
    without_loss(&mut site, clients::slow_bodies);
    without_loss(&mut site, clients::large_reviews);
    without_loss(&mut site, replicas::rolled);
    replicas::killed(&mut site);
    certificates::end_all(&mut site);
    without_loss(&mut site, certificates::begun_after_the_end);
    without_loss(&mut site, certificates::past_expiry);
}

/// A folder that stays if the test fails: logs are in it.
struct Folder(Option<TempDir>);

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(dir) = self.0.take_if(|_| thread::panicking()) {
            println!("logs are in {}", dir.keep().display());
        }
    }
}

/// A fault: it happens while the load runs, and tells its name.
type Fault = fn(&mut Site, &Load) -> String;

/// Tries a fault, which must lose no write. It is tried again where the machine had no time for it.
fn without_loss(site: &mut Site, fault: Fault) {
    for last in [false, false, true] {
        let load = site.load();
        let name = fault(site, &load);
        load.go_on(100);
        let tally = load.stop();
        row(&name, &tally.to_string());
        if last || tally.is_clean() || !tally.is_in_doubt() {
            return tally.assert_clean();
        }
        row("  even writes without a webhook were slow", "tried again");
    }
}

/// What there is to compare with.
fn nothing(_: &mut Site, load: &Load) -> String {
    load.go_on(500);
    "none".to_owned()
}

/// A line of the table.
fn row(name: &str, numbers: &str) {
    println!("{ROW}{name:<44} | {numbers}");
}

/// Runs this test again, in a network and with processes of its own: addresses and processes end with it, however it
/// ends.
fn run_inside(test: &str) {
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
