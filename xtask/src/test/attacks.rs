//! Runs the attacks of `tests/attacks/main.rs` on the release build.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::command::{cargo, release_program, run, run_with, watch};
use crate::paths;
use crate::steps::Outcome;

#[derive(clap::Args)]
#[command(next_help_heading = "Attacks")]
pub(super) struct AttackArguments {
    /// How long each attack lasts, in seconds. All of them together take about six minutes with the default
    #[arg(long, default_value_t = SHORT)]
    seconds: f64,
    /// Only these attacks: names or parts of names, separated by commas
    #[arg(long, value_name = "NAMES")]
    only: Option<String>,
    /// Only attacks on these sites, separated by commas: `webhook`, `rest` (the webhook beside the REST API), `cluster` (the
    /// webhook with a copy of a cluster), `policies` (the webhook with many ranges), `edge` (the node proxy), `keys` (the
    /// node proxy beside a Service with many topology keys) and `restarted` (the node proxy with permissions of a former run)
    #[arg(long, value_name = "SITES")]
    site: Option<String>,
    /// Attack from the genuine client's own address: then only recovery, memory and refusals are judged
    #[arg(long)]
    from_genuine: bool,
    /// Attack a webhook that a real API server calls, and write through that server (needs Go)
    #[arg(long, conflicts_with_all = ["site", "from_genuine", "sources", "shared"])]
    api_server: bool,
    /// Do not judge the p99 of reviews: other programs use the machine as well
    #[arg(long)]
    shared: bool,
    /// From how many addresses the attackers come
    #[arg(long, default_value_t = ALL_SOURCES)]
    sources: u8,
}

/// Long enough to fill what an attack fills.
const SHORT: f64 = 3.0;
const ALL_SOURCES: u8 = 249;

impl Default for AttackArguments {
    fn default() -> Self {
        Self {
            seconds: SHORT,
            only: None,
            site: None,
            from_genuine: false,
            api_server: false,
            shared: false,
            sources: ALL_SOURCES,
        }
    }
}

/// The attacks on the node proxy in the short form: those of its own, and those that meet it at other places than the
/// webhook. What the listeners share is attacked there.
const SHORT_EDGE: &str = "unread,protobuf,watches,tokens,many-names,slow-own-review,proxied,tricks,upgrades,heads-over-http2,\
                          slow-heads,dripped-bodies,dripped-streams,label-selectors,topology-keys";

impl AttackArguments {
    /// Two seconds for each attack, on a machine that other programs use as well: those on `roster serve`, and those on the
    /// node proxy.
    pub(super) fn short() -> [Self; 2] {
        let on = |sites: &str| Self { seconds: 2.0, shared: true, site: Some(sites.to_owned()), ..Self::default() };
        [on("webhook,rest,cluster,policies"), Self { only: Some(SHORT_EDGE.to_owned()), ..on("edge,keys,restarted") }]
    }
}

/// Builds both programs, unless `ROSTER_PROGRAM` names the one to attack, and runs the attacks.
pub(super) fn run_attacks(arguments: &AttackArguments) -> Result<Outcome> {
    if !cfg!(target_os = "linux") {
        return Ok(Outcome::Skipped("the attackers need the addresses and the /proc of Linux".to_owned()));
    }
    let program = release_program()?;
    run("cargo", "build --quiet --release --package xtask --features load --bin attacks")?;
    let attacks = paths::target().join("release/attacks");
    if arguments.api_server {
        beside_an_api_server(arguments, &program, &attacks)
    } else {
        alone(arguments, &program, &attacks)
    }
}

/// Attacks a server that only the genuine client calls.
fn alone(arguments: &AttackArguments, program: &Path, attacks: &Path) -> Result<Outcome> {
    // The usual limit of open files is less than the connections of an attack.
    let mut command = Command::new("sh");
    command.args(["-c", r#"ulimit -n 16384; exec "$0" "$@""#]).arg(attacks);
    command.arg("--program").arg(program).args(["--seconds", &arguments.seconds.to_string()]);
    command.args(["--sources", &arguments.sources.to_string()]);
    if let Some(name) = &arguments.only {
        command.args(["--only", name]);
    }
    if let Some(site) = &arguments.site {
        command.args(["--site", site]);
    }
    for (flag, is_set) in [("--from-genuine", arguments.from_genuine), ("--shared", arguments.shared)] {
        command.args(is_set.then_some(flag));
    }
    // Each attack that missed a goal has a line. The summary repeats it, because the log above it is long.
    let mut missed = Vec::new();
    let well = watch(&mut command, |line| missed.extend(line.contains(": missed: ").then(|| line.to_owned())))?;
    ensure!(well, "{}", if missed.is_empty() { "the attacks did not run".to_owned() } else { missed.join("; ") });
    Ok(Outcome::Passed)
}

/// Attacks a webhook that a real API server calls: a test with a control plane, which this program starts.
fn beside_an_api_server(arguments: &AttackArguments, program: &Path, attacks: &Path) -> Result<Outcome> {
    let mut command = cargo();
    command.args("test --workspace --test cluster attacked:: -- --ignored --nocapture".split(' '));
    command.env("KUBEBUILDER_ASSETS", crate::cluster::assets_folder()?);
    command.env("ROSTER_PROGRAM", program).env("ROSTER_ATTACKS", attacks);
    command.env("ROSTER_ATTACKS_SECONDS", arguments.seconds.to_string());
    if let Some(names) = &arguments.only {
        command.env("ROSTER_ATTACKS_ONLY", names);
    }
    run_with(&mut command)?;
    Ok(Outcome::Passed)
}
