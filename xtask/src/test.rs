//! Runs all tests: those of Cargo first, then those that use the running program from outside.

mod attacks;
mod browser;
mod clients;
mod upstream;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use serde_json::Value;

use crate::command::{capture, cargo, has, run_together, watch};
use crate::parity::{self, ParityArgs};
use crate::paths;
use crate::server::Server;
use crate::steps::{Outcome, Steps, Tally};

/// The paths that take half of the time of the API test.
const HALF: &str = "^/v1/endpoint";

#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// Which tests to run [default: all]
    #[arg(value_enum)]
    kinds: Vec<Kind>,
    #[command(flatten)]
    attacks: attacks::AttackArguments,
}

/// Test threads for each core. Many tests wait, so one thread would not keep a core busy.
const THREADS: usize = 3;

/// A kind of test.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// cargo test: unit, integration, recorded answers
    Cargo,
    /// Random states, compared with the real controllers
    Live,
    /// Tests with a real API server and the real controllers
    Cluster,
    /// Kubernetes' own integration tests of the controllers, with roster controller
    Upstream,
    /// The page, its playground and /docs in a headless browser, offline
    Browser,
    /// The API against its description
    Schemathesis,
    /// Clients generated from the description of the API, and its linters
    Clients,
    /// The WebAssembly module in Node, Go and Python, compared with the program
    Wasm,
    /// Attacks on the release build. Only when it is named
    Attacks,
}

/// Runs all tests, or those of the given kinds.
pub(crate) fn all(steps: &mut Steps, arguments: &Arguments) {
    let wanted = |kind| arguments.kinds.is_empty() || arguments.kinds.contains(&kind);
    let run = |steps: &mut Steps, kind, name: &str, test: fn() -> Result<Outcome>| {
        if wanted(kind) {
            steps.run(name, test);
        }
    };
    run(steps, Kind::Cargo, "cargo test: unit, integration, recorded answers", cargo_test);
    // Alone: a page takes several times as long beside control planes.
    run(steps, Kind::Browser, "browser: the page and /docs, offline", browser::served_page);
    run(steps, Kind::Browser, "browser: the playground, with the module in place of a server", browser::playground);
    let others = |steps: &mut Steps| {
        run(steps, Kind::Schemathesis, "schemathesis: the API against its description", schemathesis);
        run(steps, Kind::Clients, "clients: generated from the API's description", clients::generated_clients);
        run(
            steps,
            Kind::Upstream,
            "upstream: Kubernetes' own integration tests of the controllers",
            upstream::run_tests,
        );
        run(steps, Kind::Live, "live: random states, compared with the real controllers", live_parity);
    };
    run(
        steps,
        Kind::Wasm,
        "wasm: the module in Node, Go and Python answers as the program",
        crate::wasm::compare_hosts,
    );
    // Control planes wait for much of their time, and faults must be harmless on a busy machine too.
    if wanted(Kind::Cluster) {
        steps.run("protobuf: the table of messages is that of the published modules", crate::protobuf::check);
        steps.run_beside("cluster: with a real API server, and faults under a steady load of writes", cluster, others);
    } else {
        others(steps);
    }
    if arguments.kinds.contains(&Kind::Attacks) {
        steps.run("attacks: what a genuine client notices of them", || attacks::run_attacks(&arguments.attacks));
    }
}

/// Runs all attacks in a short form.
pub(crate) fn short_attacks(steps: &mut Steps) {
    steps.run("attacks: what a genuine client notices of them", || {
        let [serve, edge] = attacks::AttackArguments::short();
        attacks::run_attacks(&serve)?;
        attacks::run_attacks(&edge)
    });
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn cargo_test() -> Result<Outcome> {
    let mut command = cargo();
    command.args("test --workspace --no-fail-fast".split(' '));
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        command.env("RUST_TEST_THREADS", (THREADS * cores()).to_string());
    }
    run_cargo_test(&mut command)
}

/// Runs `cargo test`, and counts the tests.
pub(crate) fn run_cargo_test(command: &mut Command) -> Result<Outcome> {
    let mut tally = Tally::default();
    let well = watch(command, |line| {
        if let Some(more) = result_line(line) {
            tally += more;
        }
    })?;
    // If a test does not compile or the harness is killed, no failed test is reported.
    if !well && tally.failed == 0 {
        bail!("cargo test ended early, after {} tests", tally.passed);
    }
    ensure!(tally.passed > 0, "cargo test ran no tests");
    Ok(Outcome::Tests(tally))
}

/// Reads `test result: ok. 5 passed; 0 failed; 1 ignored; …`.
fn result_line(line: &str) -> Option<Tally> {
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let number = |what: &str| {
        counts.split("; ").find_map(|part| part.strip_suffix(what)).and_then(|n| n.trim().parse().ok()).unwrap_or(0)
    };
    Some(Tally { passed: number(" passed"), failed: number(" failed"), ignored: number(" ignored") })
}

/// Compares a few hundred random states; `cargo xtask parity` compares many more.
fn live_parity() -> Result<Outcome> {
    /// The arguments of `cargo xtask parity`, so that their defaults are in one place.
    #[derive(Parser)]
    struct ParityCommand {
        #[command(flatten)]
        arguments: ParityArgs,
    }
    if !has("go") {
        return Outcome::missing("go is not installed, so the real controllers cannot be built");
    }
    // The second says whether the reference leaves something to chance.
    for line in ["parity --cases 500", "parity --cases 200 --against-itself"] {
        parity::run(&ParityCommand::parse_from(line.split(' ')).arguments, "dev")?;
    }
    Ok(Outcome::Passed)
}

/// Tests with a real API server. Its programs are built once, from published Go modules. Prints nothing before the end.
fn cluster() -> Result<Outcome> {
    if let Some(skipped) = no_control_plane() {
        return skipped;
    }
    if browser::find_browser().is_some() {
        browser::install_packages()?;
    }
    let program = cluster_program()?;
    let mut tally = Tally::default();
    // The faults come last, beside dry runs alone. Attacks are a kind of their own.
    for tests in ["--skip faults:: --skip defaults:: --skip attacked::", "faults:: defaults::"] {
        let mut command = Command::new(&program);
        command.arg("--ignored").args(tests.split(' '));
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            command.env("RUST_TEST_THREADS", (cores() + 1).to_string());
        }
        let output = with_control_plane(&mut command)?.output().context("starting the cluster tests")?;
        let text = String::from_utf8_lossy(&output.stdout);
        print!("{text}{}", String::from_utf8_lossy(&output.stderr));
        let mut counted = Tally::default();
        text.lines().filter_map(result_line).for_each(|more| counted += more);
        ensure!(output.status.success() || counted.failed > 0, "the cluster tests ended early: {tests}");
        ensure!(counted.passed + counted.failed > 0, "no cluster tests ran: {tests}");
        tally += counted;
    }
    Ok(Outcome::Tests(tally))
}

/// Why there is no control plane for tests; `None` if there is one, or it can be built.
pub(crate) fn no_control_plane() -> Option<Result<Outcome>> {
    if !has("kubectl") {
        return Some(Ok(Outcome::Skipped("kubectl is not installed".to_owned())));
    }
    let has_one = has("go") || std::env::var_os("KUBEBUILDER_ASSETS").is_some();
    (!has_one)
        .then(|| Outcome::missing("go is not installed and KUBEBUILDER_ASSETS is not set, so there is no API server"))
}

/// Says where the programs of a control plane are.
pub(crate) fn with_control_plane(command: &mut Command) -> Result<&mut Command> {
    // The control planes are short-lived and may use more memory: garbage collection took a sixth of their time.
    Ok(command.env("KUBEBUILDER_ASSETS", crate::cluster::assets_folder()?).env("GOGC", "400"))
}

/// The program of the cluster tests. Cargo would run it too, but would keep the steps beside it from building until the end;
/// and for this test alone, it would build the crate again.
fn cluster_program() -> Result<String> {
    let messages = capture("cargo", "test --quiet --workspace --no-run --message-format json")?;
    let built = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == "cluster";
        message["executable"].as_str().filter(|_| is_it).map(str::to_owned)
    };
    messages.lines().find_map(built).context("Cargo built no cluster tests")
}

fn schemathesis() -> Result<Outcome> {
    if !Path::new("openapi/v1.json").is_file() {
        return Ok(Outcome::Skipped("there is no openapi/v1.json yet".to_owned()));
    }
    // The copy in the cache, where .ci/run installs it, takes precedence.
    let cached = paths::cache()?.join("venv/bin/schemathesis");
    let program = if cached.is_file() { cached } else { "schemathesis".into() };
    if !program.is_absolute() && !has("schemathesis") {
        return Outcome::missing("schemathesis is not installed: pip install schemathesis");
    }
    let server = Server::start()?;
    let schema = format!("{}/openapi.json", server.url());
    // Two processes with half of the paths each, because schemathesis generates cases in one thread.
    let halves = ["--include-path-regex", "--exclude-path-regex"].map(|option| {
        let mut command = Command::new(&program);
        command.args(["run", "--no-color", "--checks", "all", "--max-examples", "50", "--seed", "1"]);
        command.args([option, HALF, &schema]);
        command
    });
    run_together(halves)?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_is_counted() {
        let tally = |passed, failed, ignored| Some(Tally { passed, failed, ignored });
        for (line, want) in [
            (
                "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 4 filtered out; finished in 0.01s",
                tally(12, 0, 3),
            ),
            (
                "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 9.01s",
                tally(1, 2, 0),
            ),
            ("test result::tests::it ... ok", None),
            ("running 2 tests", None),
        ] {
            assert_eq!(result_line(line), want, "{line}");
        }
    }
}
