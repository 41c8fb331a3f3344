//! Measures the time and memory of `roster lint` for a directory of manifests.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Goals, cluster::measure};
use crate::command::run;
use crate::paths;

/// How many seconds and megabytes the directory may take on two cores.
const SECONDS: f64 = 2.0;
const MEGABYTES: u64 = 200;
const RUNS: usize = 5;

const FILES: usize = 2_000;
/// Manifests in a file, on average: two or three Deployments, each with its Service.
const MANIFESTS: usize = 5;
/// Directories, of one namespace each; one of them has a quarter of all files.
const NAMESPACES: usize = 40;

/// Writes the directory unless it is in the cache, and lints it: 5 000 Deployments and 5 000 Services in 2 000 files.
pub(super) fn run_lint(goals: &mut Goals) -> Result<()> {
    let folder = folder()?;
    run("cargo", "build --quiet --release --bin roster")?;
    let program = paths::target().join("release/roster");
    println!("\nroster lint {} ({} manifests in {FILES} files)", folder.display(), FILES * MANIFESTS);
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let run = measure(Command::new(&program).args(["lint", "-o", "json"]).arg(&folder))?;
        let code = run.code.map_or_else(|| "none".to_owned(), |c| c.to_string());
        println!("  {:.2} s, {} MB at most, exit code {code}", run.time.as_secs_f64(), run.peak);
        runs.push(run);
    }
    runs.sort_by_key(|r| r.time);
    let time = runs.get(RUNS / 2).context("no run")?.time.as_secs_f64();
    let peak = runs.iter().map(|r| r.peak).max().unwrap_or(0);
    goals.check(runs.iter().all(|r| r.code == Some(0)), "manifests without an error");
    goals.check(time < SECONDS, &format!("10 000 manifests in {time:.2} s; {SECONDS} allowed"));
    goals.check(peak < MEGABYTES, &format!("10 000 manifests in {peak} MB; {MEGABYTES} allowed"));
    Ok(())
}

fn folder() -> Result<PathBuf> {
    // The name contains a hash of this file, which writes the directory.
    let hash = crate::oracle::fnv(include_bytes!("manifests.rs"));
    let folder = paths::cache()?.join(format!("bench/manifests-{hash:016x}"));
    if !folder.exists() {
        let half = folder.with_extension("part");
        println!("writing {}", folder.display());
        write_all(&half)?;
        fs::rename(half, &folder)?;
    }
    Ok(folder)
}

fn write_all(folder: &Path) -> Result<()> {
    for file in 0..FILES {
        let namespace = if file.is_multiple_of(4) { 0 } else { file % NAMESPACES };
        let directory = folder.join(format!("team-{namespace}"));
        fs::create_dir_all(&directory)?;
        let mut text = String::new();
        for pair in 0..MANIFESTS / 2 + file % 2 {
            write!(text, "{}", manifests(namespace, file * MANIFESTS + pair))?;
        }
        fs::write(directory.join(format!("app-{file}.yaml")), text)?;
    }
    Ok(())
}

/// A Deployment and its Service. Every fiftieth selector has a mistake.
fn manifests(namespace: usize, number: usize) -> String {
    let selected = if number.is_multiple_of(50) { format!("app-{number}x") } else { format!("app-{number}") };
    let labels = |name: &str, indent: &str| {
        format!("{indent}app.kubernetes.io/name: {name}\n{indent}app.kubernetes.io/part-of: team-{namespace}\n")
    };
    let meta = format!(
        "metadata:\n  name: app-{number}\n  namespace: team-{namespace}\n  labels:\n{}",
        labels(&format!("app-{number}"), "    ")
    );
    format!(
        "apiVersion: apps/v1\nkind: Deployment\n{meta}spec:\n  replicas: 3\n  selector:\n    matchLabels:\n{}  template:\n    \
         metadata:\n      labels:\n{}    spec:\n      containers:\n        - name: app\n          image: app:{number}\n          \
         ports:\n            - name: http\n              containerPort: 8080\n          readinessProbe:\n            httpGet:\n              \
         path: /healthz\n              port: http\n          resources:\n            requests:\n              cpu: 100m\n              \
         memory: 128Mi\n---\napiVersion: v1\nkind: Service\n{meta}spec:\n  ports:\n    - name: http\n      port: 80\n      \
         targetPort: http\n  selector:\n{}---\n",
        labels(&format!("app-{number}"), "      "),
        labels(&format!("app-{number}"), "        "),
        labels(&selected, "    "),
    )
}
