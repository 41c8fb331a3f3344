//! Writes through a real API server while its webhook is attacked, under `Fail` and under `Ignore`.
//!
//! One replica is behind the Service of the manifests, and a kubelet probes it: a replica that fails its probes is
//! withdrawn, and then writes fail. The attackers come from other addresses than the API server, which opens new connections
//! all the time. `cargo xtask test attacks --api-server` builds the programs, and sets the variables that name them.

use std::{
    env,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use super::{
    assets,
    load::Tally,
    network::{self, Folder, row},
    site::Site,
};

/// Writes a second. API server, webhook and attackers share the machine.
const RATE: u32 = 100;
/// How often the API server opens new connections.
const RECONNECT: Duration = Duration::from_millis(500);
/// Connections of an attack.
const OPEN_FILES: u32 = 16384;
/// How often an attack is tried where the machine had no time for the API server.
const TRIES: usize = 3;

#[test]
#[ignore = "needs the program of the attacks: cargo xtask test attacks --api-server"]
fn attacks_lose_no_write() {
    let assets = assets();
    if !network::is_own() {
        return network::run_inside("attacked::attacks_lose_no_write");
    }
    let dir = Folder::new();
    let site = Site::start(&assets, dir.path(), 1);
    let attackers = Attackers::of(&site);
    row("attack", "writes | good failed | bad failed | let in under Fail | under Ignore |      p99 | tries");
    let missed: Vec<String> = attackers.names().iter().filter_map(|name| attacked(&site, &attackers, name)).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Runs one attack, and prints its row. What went wrong, if something did.
fn attacked(site: &Site, attackers: &Attackers, name: &str) -> Option<String> {
    for tried in 1.. {
        let load = site.load_of(RATE);
        load.go_on(20);
        let mut attack = attackers.start(name);
        let status = loop {
            if let Some(status) = attack.try_wait().unwrap() {
                break status;
            }
            site.reconnect(1);
            sleep(RECONNECT);
        };
        load.go_on(20);
        let tally = load.stop();
        if !holds(&tally) && tally.is_in_doubt() && tried < TRIES {
            row("  even writes without a webhook were slow", &format!("tried again; {:?}", tally.complaints));
            continue;
        }
        row(name, &format!("{} | {tried:>5}", numbers(&tally)));
        let well = status.success() && holds(&tally);
        return (!well).then(|| format!("{name}: the attackers ended with {status}; {:#?}", tally.complaints));
    }
    None
}

/// No good write may fail, whatever the policy, and no bad one may pass under `Fail`.
fn holds(tally: &Tally) -> bool {
    tally.failed_good.all() + tally.admitted.closed == 0
}

fn numbers(tally: &Tally) -> String {
    let failed_bad = tally.failed.all() - tally.failed_good.all();
    format!(
        "{:>6} | {:>11} | {failed_bad:>10} | {:>17} | {:>12} | {:>5} ms",
        tally.writes,
        tally.failed_good.all(),
        tally.admitted.closed,
        tally.admitted.open,
        tally.p99().as_millis()
    )
}

/// The program of the attacks, and what it is to do.
struct Attackers {
    program: PathBuf,
    seconds: String,
    only: Option<String>,
    webhook: String,
    admin: String,
}

impl Attackers {
    fn of(site: &Site) -> Self {
        let variable =
            |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo xtask test attacks --api-server sets {name}"));
        Self {
            program: variable("ROSTER_ATTACKS").into(),
            seconds: variable("ROSTER_ATTACKS_SECONDS"),
            only: env::var("ROSTER_ATTACKS_ONLY").ok(),
            webhook: site.replicas[0].webhook().to_string(),
            admin: site.replicas[0].admin(),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!(r#"ulimit -n {OPEN_FILES}; exec "$0" "$@""#)]).arg(&self.program);
        command.args(["--against", &self.webhook, "--admin", &self.admin]);
        command
    }

    /// The attacks on a webhook.
    fn names(&self) -> Vec<String> {
        let mut command = self.command();
        command.args(self.only.iter().flat_map(|names| ["--only", names]));
        let output = command.arg("--list").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    }

    fn start(&self, name: &str) -> Child {
        self.command().args(["--only", name, "--seconds", &self.seconds]).stdout(Stdio::null()).spawn().unwrap()
    }
}
