//! Attacks `roster serve` and `roster edge` on this machine, and measures what a genuine client notices.
//!
//! Each attack has a server of its own. The genuine client sends a review on a new and on a persistent connection every
//! 20 ms from 127.0.0.1, a kubelet probes the admin listener, and the attackers come from other addresses of 127.0.0.0/8.
//! `cargo xtask test attacks` builds both programs and runs it. With `--against`, it only attacks a server that already runs.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    reason = "a test program reads files, prints what it does, and rounds what it measured"
)]

#[expect(dead_code, reason = "benches use the rest")]
#[path = "../../xtask/src/bench/api_server.rs"]
mod api_server;
mod attacker;
mod attacks;
mod bodies;
#[path = "../../xtask/src/free_port.rs"]
mod free_port;
mod genuine;
mod genuine_request;
mod http1;
mod http2;
mod large_bodies;
mod report;
mod request;
mod run;
mod site;
mod stored;
mod tls;
mod upstream;
mod watches;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context, Result, ensure};
use clap::Parser;

use attacker::{Sources, Targets};
use attacks::Attack;
use report::{Goals, Report};
use site::{Certificate, Site};

/// The files that a process must be able to open: thousands of connections.
const FILES: u64 = 8192;

#[derive(Parser)]
#[command(about = "Attack a server of this machine, and measure what a genuine client notices")]
struct Arguments {
    /// The program to attack
    #[arg(long, required_unless_present_any = ["against", "list"])]
    program: Option<PathBuf>,
    /// Attack the webhook at this address of this machine, without a genuine client
    #[arg(long, value_name = "ADDRESS", conflicts_with = "program", requires = "admin")]
    against: Option<SocketAddr>,
    /// The address of the admin listener of that server
    #[arg(long, value_name = "ADDRESS", requires = "against")]
    admin: Option<SocketAddr>,
    /// How long each attack lasts, in seconds
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Only these attacks: names or parts of names, separated by commas
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only attacks on these sites, separated by commas
    #[arg(long, value_delimiter = ',')]
    site: Vec<Site>,
    /// Attack from the genuine client's own address: its reviews may be lost until the attack ends
    #[arg(long)]
    from_genuine: bool,
    /// From how many addresses the attackers come, at most 249
    #[arg(long, default_value_t = 249)]
    sources: u8,
    /// Other programs use the machine as well: do not judge the p99 of reviews, and wait five seconds for probes and events
    #[arg(long)]
    shared: bool,
    /// List the attacks
    #[arg(long)]
    list: bool,
}

impl Arguments {
    /// Whether an attack is to run at a site. A part that is the whole name of another attack means only that one.
    fn names(&self, attack: &Attack, site: Site) -> bool {
        let is_name = |part: &str| attacks::ALL.iter().any(|attack| attack.name == part);
        let matches =
            |part: &String| if is_name(part) { attack.name == part } else { attack.name.contains(part.as_str()) };
        (self.only.is_empty() || self.only.iter().any(matches)) && (self.site.is_empty() || self.site.contains(&site))
    }

    /// The server that already runs. It has no REST API.
    fn targets(&self) -> Option<Targets> {
        Some(Targets {
            site: Site::Webhook,
            served: self.against?,
            admin: self.admin?,
            rest: None,
            soon: Targets::SOON,
        })
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs the attacks. Returns whether all goals are met.
fn run(arguments: &Arguments) -> Result<bool> {
    let targets = arguments.targets();
    let all = attacks::ALL.iter().flat_map(|attack| attack.sites.iter().map(move |site| (attack, *site)));
    let can_run = |(attack, site): &(&Attack, Site)| {
        arguments.names(attack, *site) && targets.is_none_or(|targets| targets.site == *site)
    };
    let attacks: Vec<(&'static Attack, Site)> = all.filter(can_run).collect();
    ensure!(!attacks.is_empty(), "there is no such attack; --list lists them");
    if arguments.list {
        for (attack, site) in attacks {
            println!("{:<8} {:<24} {}", site.name(), attack.name, attack.about);
        }
        return Ok(true);
    }
    let files = site::open_files()?;
    ensure!(files >= FILES, "a process may open only {files} files: ulimit -n {FILES}");
    let sources = if arguments.from_genuine { Sources::Genuine } else { Sources::Others(arguments.sources) };
    let duration = Duration::try_from_secs_f64(arguments.seconds)?;
    match targets {
        Some(targets) => attack_only(&attacks, targets, sources, duration),
        None => measure(arguments, &attacks, sources, duration),
    }
}

/// Attacks a server that already runs. Returns whether each attack reached it, and no object was wrongly admitted.
fn attack_only(
    attacks: &[(&'static Attack, Site)],
    targets: Targets,
    sources: Sources,
    duration: Duration,
) -> Result<bool> {
    let mut well = true;
    for (attack, _) in attacks {
        let (counts, _) = run::attack(attack, targets, sources, duration)?;
        println!("{}: {counts}, {} let in", attack.name, counts.let_in());
        well &= counts.connections() > 0 && counts.let_in() == 0;
    }
    Ok(well)
}

/// Starts a server for each attack, and measures what a genuine client notices. Returns whether all goals are met.
fn measure(
    arguments: &Arguments,
    attacks: &[(&'static Attack, Site)],
    sources: Sources,
    duration: Duration,
) -> Result<bool> {
    let program = arguments.program.as_ref().context("--program is missing")?;
    let certificate = Certificate::issue(program)?;
    // A client at the attackers' address shares what they get.
    let no_loss = !arguments.from_genuine;
    let soon = if arguments.shared { Targets::SOON_SHARED } else { Targets::SOON };
    let mut report = Report::new(Goals { no_loss, p99: no_loss && !arguments.shared });
    for (attack, site) in attacks {
        println!("\n{}, {}: {}", site.name(), attack.name, attack.about);
        match run::run((attack, *site), program, &certificate, sources, duration, soon) {
            Ok(measured) => report.add(&measured),
            Err(error) => report.not_measured(attack.name, *site, &error),
        }
    }
    Ok(report.finish())
}
