//! Running programs: the command is printed, and an error names it. What runs beside others ends with a value.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use anyhow::{Context, Result, bail, ensure};

use crate::paths;

/// `cargo`, without the variables that `cargo run` sets. Build scripts read these (ring's does), and their crates would be
/// rebuilt whenever `cargo xtask test` and `cargo test` alternate.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new("cargo");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|n| n.starts_with("CARGO_PKG_") || n.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs `program` with the words of `line`, and passes its output through.
pub(crate) fn run(program: &str, line: &str) -> Result<()> {
    run_with(named(program).args(line.split_whitespace()))
}

fn named(program: &str) -> Command {
    if program == "cargo" { cargo() } else { Command::new(program) }
}

/// Runs a prepared command.
pub(crate) fn run_with(command: &mut Command) -> Result<()> {
    let line = shown(command);
    println!("    {line}");
    let status = command.status().with_context(|| format!("cannot start {line}"))?;
    ensure!(status.success(), "{line} ended with {status}");
    Ok(())
}

/// Runs prepared commands concurrently, and prints the output of each when it has ended.
pub(crate) fn run_together(commands: impl IntoIterator<Item = Command>) -> Result<()> {
    let run = |mut command: Command| {
        let line = shown(&command);
        println!("    {line}");
        thread::spawn(move || (command.stdin(Stdio::null()).output(), line))
    };
    let running: Vec<_> = commands.into_iter().map(run).collect();
    let mut failed = Vec::new();
    for command in running {
        let Ok((output, line)) = command.join() else { bail!("the thread of a command panicked") };
        let output = output.with_context(|| format!("cannot start {line}"))?;
        print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            failed.push(format!("{line} ended with {}", output.status));
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Runs `program` and returns what it printed.
pub(crate) fn capture(program: &str, line: &str) -> Result<String> {
    let mut command = named(program);
    command.args(line.split_whitespace());
    let line = shown(&command);
    let output = command.output().with_context(|| format!("cannot start {line}"))?;
    if !output.status.success() {
        bail!("{line} ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("the output of {line} is not UTF-8"))
}

/// Runs a command and returns what it printed. It is killed when `limit` is over.
pub(crate) fn capture_within(command: &mut Command, limit: Duration) -> Result<String> {
    let line = shown(command);
    println!("    {line}");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {line}"))?;
    let read = |out: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut text = Vec::new();
            // What cannot be read is missing in the text.
            let _ = out.map(|mut out| out.read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let out = read(child.stdout.take().map(|out| Box::new(out) as _));
    let err = read(child.stderr.take().map(|err| Box::new(err) as _));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().with_context(|| format!("waiting for {line}"))? {
            break status;
        }
        if began.elapsed() > limit {
            // It may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            bail!("{line} has not ended after {} s", limit.as_secs());
        }
        thread::sleep(Duration::from_millis(50));
    };
    let [out, err] = [out, err].map(|text| text.join().unwrap_or_default());
    ensure!(status.success(), "{line} ended with {status}:\n{}{}", out, err.trim_end());
    Ok(out + &err)
}

/// Runs a command, prints every line of its output, and passes it to `see`. Returns whether the command succeeded.
pub(crate) fn watch(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    let line = shown(command);
    println!("    {line}");
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {line}"))?;
    if let Some(out) = child.stdout.take() {
        for text in BufReader::new(out).split(b'\n') {
            let text = text.with_context(|| format!("reading what {line} prints"))?;
            let text = String::from_utf8_lossy(&text);
            println!("{text}");
            see(&text);
        }
    }
    Ok(child.wait().with_context(|| format!("waiting for {line}"))?.success())
}

/// Whether `program` is in the PATH.
pub(crate) fn has(program: &str) -> bool {
    find(program).is_some()
}

/// Where `program` is in the PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Whether this is continuous integration, where a step must not be skipped.
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|v| !v.is_empty() && v != "false" && v != "0")
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The release build of `roster`, which this builds, unless `ROSTER_PROGRAM` names another program.
pub(crate) fn release_program() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os("ROSTER_PROGRAM") {
        return Ok(program.into());
    }
    run("cargo", "build --quiet --release --bin roster")?;
    Ok(paths::target().join("release/roster"))
}

/// A running program. It is killed when the value is dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn new(child: Child) -> Self {
        Self(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// How it has ended; `None` while it runs.
    pub(crate) fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    /// A file of the process in `/proc`.
    pub(crate) fn proc_file(&self, name: &str) -> Result<String> {
        fs::read_to_string(format!("/proc/{}/{name}", self.id())).context("reading /proc")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
