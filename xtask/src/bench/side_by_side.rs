//! Measures `roster controller` beside kube-controller-manager: each has a control plane of its own, one after the other, and the same load.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use anyhow::{Context, Error, Result, ensure};
use serde_json::Value;

use super::Goals;
use crate::cluster::{ControlPlane, Setup, assets_folder};
use crate::command::{Process, release_program, run};
use crate::free_port::free_address;
use crate::paths;

/// Goals, as parts of what the reference takes.
const BEHIND: f64 = 0.25;
const P99: f64 = 0.5;
const MEMORY: f64 = 0.2;
const CPU: f64 = 0.25;
/// How many milliseconds slower than a bare client's write a flip may be published.
const ABOVE_BARE: f64 = 2.0;

/// Services, and the pods of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    services: usize,
    pods: usize,
}

impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (services, pods) = text.split_once('x').context("SERVICESxPODS")?;
        Ok(Self { services: services.parse()?, pods: pods.parse()? })
    }
}

/// The programs that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    Reference,
    Roster,
}

impl Compared {
    fn name(self) -> &'static str {
        match self {
            Self::Reference => "kube-controller-manager",
            Self::Roster => "roster controller",
        }
    }

    fn command(self, assets: &Path, roster: &Path) -> Result<Command> {
        if self == Self::Reference {
            let mut command = Command::new(assets.join("kube-controller-manager"));
            let controllers = "endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller";
            command.arg(format!("--controllers={controllers}"));
            // Roster has no limit.
            command.args(["--kube-api-qps=2000", "--kube-api-burst=4000", "--leader-elect=false", "--secure-port=0"]);
            return Ok(command);
        }
        let mut command = Command::new(roster);
        command.args(["controller", "--admin-listen", &free_address()?.to_string()]);
        Ok(command)
    }
}

/// Compares both programs at each size, and prints what they took.
pub(super) fn run_side_by_side(sizes: &[Size], seconds: u64, goals: &mut Goals) -> Result<()> {
    run("cargo", "build --quiet --release --package xtask --features load --bin controller_load")?;
    let load = paths::target().join("release/controller_load");
    let (assets, roster) = (assets_folder()?, release_program()?);
    for size in sizes {
        let folder = paths::target().join(format!("bench-side-by-side-{}", std::process::id()));
        let measure = |compared: Compared| -> Result<Run> {
            let command = compared.command(&assets, &roster)?;
            let measured = Run::of(&load, command, &assets, &folder, *size, seconds)?;
            println!("    {}: {}", compared.name(), measured.0);
            fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
            Ok(measured)
        };
        let (reference, roster) = (measure(Compared::Reference)?, measure(Compared::Roster)?);
        print(*size, &reference, &roster);
        judge(&reference, &roster, goals);
    }
    Ok(())
}

/// What the load has measured.
struct Run(Value);

impl Run {
    fn of(load: &Path, mut command: Command, assets: &Path, folder: &Path, size: Size, seconds: u64) -> Result<Self> {
        let plane = ControlPlane::start(&Setup { assets, dir: folder, api_server: &[], controllers: false })?;
        let log = fs::File::create(folder.join("controller.log"))?;
        command.arg("--kubeconfig").arg(plane.kubeconfig()).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let controller = Process::new(command.spawn().context("starting the controller")?);
        let numbers = [controller.id().into(), size.services as u64, size.pods as u64, seconds];
        let mut command = Command::new(load);
        command.arg(plane.kubeconfig()).args(numbers.map(|number| number.to_string()));
        let output = command.output().with_context(|| format!("starting {}", load.display()))?;
        ensure!(output.status.success(), "the load: {}", String::from_utf8_lossy(&output.stderr));
        Ok(Self(serde_json::from_slice(&output.stdout).context("the output of the load")?))
    }

    /// A number, `NaN` if it was not measured.
    fn number(&self, path: &str) -> f64 {
        self.0.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    fn sum(&self, paths: &[&str]) -> f64 {
        paths.iter().map(|path| self.number(path)).sum()
    }

    fn cpu(&self) -> f64 {
        self.sum(&["/fill/cpu", "/flips/cpu"])
    }

    fn writes(&self) -> f64 {
        self.sum(&["/fill/slices", "/fill/endpoints", "/flips/slices", "/flips/endpoints"])
    }

    /// Services whose pods were not published, and flips.
    fn unpublished(&self) -> f64 {
        self.sum(&["/behind/incomplete/0", "/behind/incomplete/1", "/latencies/unpublished"])
    }
}

/// Lines of the table: what they show, where it is measured, and digits after the point.
const LINES: [(&str, &str, usize); 19] = [
    ("fill, s", "/fill_seconds", 1),
    ("last status to last slice, s", "/behind/slices", 2),
    ("last status to the end, s", "/behind/all", 2),
    ("writes of slices, fill", "/fill/slices", 0),
    ("writes of Endpoints, fill", "/fill/endpoints", 0),
    ("refused, fill", "/fill/refused", 0),
    ("CPU, fill, s", "/fill/cpu", 2),
    ("flips", "/latencies/flips", 0),
    ("status to slice p50, ms", "/latencies/answered/p50", 1),
    ("status to slice p90, ms", "/latencies/answered/p90", 1),
    ("status to slice p99, ms", "/latencies/answered/p99", 1),
    ("from its sending p50, ms", "/latencies/sent/p50", 1),
    ("from its sending p99, ms", "/latencies/sent/p99", 1),
    ("bare client p50, ms", "/latencies/bare/p50", 1),
    ("bare client p99, ms", "/latencies/bare/p99", 1),
    ("writes of slices, flips", "/flips/slices", 0),
    ("writes of Endpoints, flips", "/flips/endpoints", 0),
    ("CPU, flips, s", "/flips/cpu", 2),
    ("memory at most, MB", "/peak", 0),
];

fn print(size: Size, reference: &Run, roster: &Run) {
    println!("\n{} Services, {} pods of each", size.services, size.pods);
    println!("{:<32}{:>26}{:>26}", "", Compared::Reference.name(), Compared::Roster.name());
    for (name, path, digits) in LINES {
        println!("{name:<32}{:>26.digits$}{:>26.digits$}", reference.number(path), roster.number(path));
    }
}

fn judge(reference: &Run, roster: &Run, goals: &mut Goals) {
    goals.check(roster.unpublished() == 0.0, &format!("{} Services or flips were not published", roster.unpublished()));
    let mut part = |name: &str, value: fn(&Run) -> f64, allowed: f64| {
        let part = value(roster) / value(reference);
        goals.check(part <= allowed, &format!("{name}: {part:.2} of the reference; {allowed} allowed"));
    };
    part("last status to last slice", |run| run.number("/behind/slices"), BEHIND);
    part("status to slice event at p99", |run| run.number("/latencies/answered/p99"), P99);
    part("memory", |run| run.number("/peak"), MEMORY);
    part("CPU", Run::cpu, CPU);
    part("writes", Run::writes, 1.0);
    let above = roster.number("/latencies/answered/p50") - roster.number("/latencies/bare/p50");
    let text = format!("status to slice event at p50: {above:.1} ms above a bare write; {ABOVE_BARE} allowed");
    goals.check(above <= ABOVE_BARE, &text);
}
