//! The module in three hosts: each must answer as the program does, to the letter and in a similar time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::module::Module;
use crate::command::{cargo, has, in_ci, run_with};
use crate::paths;
use crate::steps::{Outcome, Tally};

/// How many times the time of the program a host may take.
const SLOWEST: f64 = 4.0;
/// How often a host that is too slow is measured: other work disturbs it.
const ATTEMPTS: usize = 3;
/// Which of the recorded states continuous integration takes: each of this many.
const EVERY_IN_CI: usize = 5;

/// The input of the examples.
const EXAMPLE: [&str; 2] = ["examples/shop.yaml", "shop/catalog"];

/// A program that runs the module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    Node,
    Go,
    Python,
}

/// Builds the module, and compares the installed hosts.
pub(crate) fn compare_hosts() -> Result<Outcome> {
    let module = match Module::build()? {
        Ok(module) => module,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let bench = Bench { folder: paths::cache()?.join("wasm"), module: fs::canonicalize(&module.path)? };
    fs::create_dir_all(&bench.folder).with_context(|| format!("creating {}", bench.folder.display()))?;
    let mut tally = Tally::default();
    let program = bench.run_program()?;
    let mut served = None;
    for host in [Host::Node, Host::Go, Host::Python] {
        if let Err(why) = host.prepare(&bench) {
            ensure!(!in_ci(), "{}: {why:#}", host.name());
            println!("    {}: skipped: {why:#}", host.name());
            tally.ignored += 1;
            continue;
        }
        match bench.compare(host, program, &mut served) {
            Ok(()) => tally.passed += 1,
            Err(error) => {
                println!("    {}: {error:#}", host.name());
                tally.failed += 1;
            }
        }
    }
    Ok(Outcome::Tests(tally))
}

/// Where the requests and the answers are, and the module.
struct Bench {
    folder: PathBuf,
    module: PathBuf,
}

impl Bench {
    /// Writes the requests and the program's answers to them. Returns the seconds that it takes for the answers.
    fn run_program(&self) -> Result<f64> {
        let mut command = cargo();
        command.args("run --quiet --release --package xtask --features wasm --bin wasm_vectors".split(' '));
        let every = if in_ci() { EVERY_IN_CI } else { 1 };
        seconds(command.arg(&self.folder).arg(every.to_string()))
    }

    fn compare(&self, host: Host, program: f64, served: &mut Option<String>) -> Result<()> {
        let mut ratio = f64::INFINITY;
        for _ in 0..ATTEMPTS {
            ratio = ratio.min(seconds(&mut host.answer(self))? / program);
            if ratio <= SLOWEST || in_ci() {
                break;
            }
        }
        let (requests, want) = (messages(&self.folder.join("requests"))?, messages(&self.folder.join("program"))?);
        let got = messages(&self.folder.join(host.name()))?;
        ensure!(got.len() == want.len(), "{} answers to {} requests", got.len(), want.len());
        let different: Vec<usize> = (0..want.len()).filter(|i| got[*i] != want[*i]).collect();
        if let Some(first) = different.first() {
            let [request, want, got] = [&requests[*first], &want[*first], &got[*first]].map(|bytes| shown(bytes));
            anyhow::bail!("{} answers differ; the first:\n{request}\nwant {want}\ngot  {got}", different.len());
        }
        println!(
            "    {}: {} answers, all of them those of the program, in {ratio:.2} of its time",
            host.name(),
            want.len()
        );
        // A shared machine of continuous integration tells the answers apart, and not the times.
        let is_fast = ratio <= SLOWEST || in_ci();
        ensure!(is_fast, "it takes {ratio:.2} times the time of the program, and {SLOWEST} are allowed");
        let prints = printed(&mut host.example(self))?;
        let expected = served.get_or_insert_with(|| prints.clone());
        ensure!(
            prints.contains(" 8080 http") && prints == *expected,
            "the example prints\n{prints}\nand not\n{expected}"
        );
        Ok(())
    }
}

impl Host {
    fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Go => "go",
            Self::Python => "python",
        }
    }

    /// Installs what the host needs besides itself.
    fn prepare(self, bench: &Bench) -> Result<()> {
        match self {
            Self::Node => ensure!(has("node"), "node is not installed"),
            Self::Go => {
                ensure!(has("go"), "go is not installed");
                run_with(go().args(["mod", "download"]))?;
            }
            Self::Python => {
                ensure!(has("python3"), "python3 is not installed");
                install_wasmtime(&bench.folder)?;
            }
        }
        Ok(())
    }

    /// The command that answers the requests, and prints its seconds.
    fn answer(self, bench: &Bench) -> Command {
        let mut command = match self {
            Self::Node => with(Command::new("node"), ["tests/wasm/vectors.mjs"]),
            Self::Go => {
                let mut command = with(go(), ["test", "-count=1", "-v", "-run", "TestVectors", "."]);
                command.env("ROSTER_VECTORS", &bench.folder).env("ROSTER_MODULE", &bench.module);
                return command;
            }
            Self::Python => with(python(&bench.folder), ["tests/wasm/vectors.py"]),
        };
        command.arg(&bench.module).arg(&bench.folder);
        command
    }

    /// The command of the example.
    fn example(self, bench: &Bench) -> Command {
        let [objects, service] = EXAMPLE;
        let mut command = match self {
            Self::Node => with(Command::new("node"), ["examples/wasm/node/plan.mjs"]),
            Self::Go => with(go(), ["run", "."]),
            Self::Python => with(python(&bench.folder), ["examples/wasm/python/plan.py"]),
        };
        command.arg(&bench.module).arg(paths::root().join(objects)).arg(service);
        command
    }
}

/// `go` in the folder of the example.
fn go() -> Command {
    let mut command = Command::new("go");
    command.current_dir("examples/wasm/go").env("GOFLAGS", "-mod=readonly");
    command
}

fn with<const N: usize>(mut command: Command, arguments: [&str; N]) -> Command {
    command.args(arguments);
    command
}

/// The Python that has wasmtime. It leaves nothing beside the sources.
fn python(folder: &Path) -> Command {
    let mut command = Command::new(folder.join("venv/bin/python"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn install_wasmtime(folder: &Path) -> Result<()> {
    const LOCK: &str = "examples/wasm/python/requirements.txt";
    let (installed, lock) = (folder.join(".installed"), fs::read(LOCK).with_context(|| format!("reading {LOCK}"))?);
    if fs::read(&installed).ok().as_ref() == Some(&lock) {
        return Ok(());
    }
    run_with(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("venv")))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", LOCK];
    run_with(python(folder).args(pip))?;
    fs::write(&installed, lock).context("writing the mark of an installation")
}

/// Runs a command and returns what it prints.
fn printed(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{}:\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

/// Runs a command and returns the seconds that it prints.
fn seconds(command: &mut Command) -> Result<f64> {
    let text = printed(command)?;
    let number = text.lines().find_map(|line| line.split_once("seconds ")?.1.trim().parse().ok());
    number.with_context(|| format!("no seconds are in:\n{text}"))
}

/// The messages of a file, each after its length.
fn messages(path: &Path) -> Result<Vec<Vec<u8>>> {
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let (mut rest, mut messages) = (bytes.as_slice(), Vec::new());
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = usize::try_from(u32::from_le_bytes(*length))?;
        messages.push(after.get(..length).context("a message is cut off")?.to_vec());
        rest = &after[length..];
    }
    Ok(messages)
}

fn shown(message: &[u8]) -> String {
    String::from_utf8_lossy(message).chars().take(1500).collect()
}
