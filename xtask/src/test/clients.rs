//! Clients in four languages, generated from the `OpenAPI` document: each is compiled, and makes the same calls.
//!
//! Their programs and lock files are in `tests/clients`. All else is in the cache: what is installed, generated and built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::{cargo, has, run_with};
use crate::paths;
use crate::server::Server;
use crate::steps::{Outcome, Tally};

/// The programs, a folder for each language.
const PROGRAMS: &str = "tests/clients";
/// The document, and the same for generators that read no newer version than 3.0.
const DOCUMENTS: [&str; 2] = ["openapi/v1.json", "openapi/v1-3.0.json"];

/// What a folder of programs needs, and what is done in it.
struct Client {
    /// The folder.
    name: &'static str,
    /// The programs that must be installed.
    needs: &'static [&'static str],
    /// What is done after a change of the lock file.
    install: &'static [&'static str],
    lock: &'static str,
    /// Generates, compiles and calls, one after the other.
    steps: &'static [&'static str],
}

const CLIENTS: [Client; 5] = [
    Client {
        name: "lint",
        needs: &["node", "npm"],
        install: &["npm ci --silent --ignore-scripts --no-audit --no-fund"],
        lock: "package-lock.json",
        steps: &[
            "node_modules/.bin/spectral lint --ruleset spectral.yaml v1.json v1-3.0.json",
            "node_modules/.bin/redocly lint --config redocly.yaml --format summary v1.json v1-3.0.json",
        ],
    },
    Client {
        name: "python",
        needs: &["python3"],
        install: &[
            "python3 -m venv --clear venv",
            "venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt",
        ],
        lock: "requirements.txt",
        steps: &[
            "venv/bin/openapi-python-client generate --path v1.json --config openapi-python-client.yaml --meta none \
             --output-path roster_client --overwrite",
            "venv/bin/python -m compileall -q roster_client",
            "venv/bin/python calls.py",
        ],
    },
    Client {
        name: "go",
        needs: &["go"],
        install: &["go mod download"],
        lock: "go.sum",
        steps: &[
            "mkdir -p roster",
            "go tool oapi-codegen -config oapi-codegen.yaml v1.json",
            "go build -o calls .",
            "./calls",
        ],
    },
    Client {
        name: "typescript",
        needs: &["node", "npm"],
        install: &["npm ci --silent --ignore-scripts --no-audit --no-fund"],
        lock: "package-lock.json",
        steps: &[
            "node_modules/.bin/openapi-ts --input v1.json --output roster --silent --no-log-file",
            "node_modules/.bin/tsc",
            "node built/calls.js",
        ],
    },
    Client {
        name: "rust",
        needs: &["cargo"],
        install: &[],
        lock: "Cargo.lock",
        steps: &["cargo build --quiet --locked", "target/debug/roster-client-test"],
    },
];

/// Lints the document, and generates and runs every client.
pub(super) fn generated_clients() -> Result<Outcome> {
    let missing = CLIENTS.iter().flat_map(|client| client.needs).find(|program| !has(program));
    if let Some(program) = missing {
        return Outcome::missing(&format!("{program} is not installed, which a generated client needs"));
    }
    let server = Server::start()?;
    let mut tally = Tally::default();
    for client in &CLIENTS {
        match client.run(&server) {
            Ok(()) => tally.passed += 1,
            Err(error) => {
                println!("    {}: {error:#}", client.name);
                tally.failed += 1;
            }
        }
    }
    Ok(Outcome::Tests(tally))
}

impl Client {
    fn run(&self, server: &Server) -> Result<()> {
        let folder = paths::cache()?.join("clients").join(self.name);
        copy(&Path::new(PROGRAMS).join(self.name), &folder)?;
        for document in DOCUMENTS {
            copy_changed(Path::new(document), &folder)?;
        }
        let installed = folder.join(".installed");
        let lock = fs::read(folder.join(self.lock)).with_context(|| format!("the lock file of {}", self.name))?;
        if fs::read(&installed).ok().as_ref() != Some(&lock) {
            self.install.iter().try_for_each(|line| run_in(&folder, line, server))?;
            fs::write(&installed, lock)?;
        }
        self.steps.iter().try_for_each(|line| run_in(&folder, line, server))
    }
}

/// Runs a line in the folder. Its first word is a program in the folder, or one that is installed.
fn run_in(folder: &Path, line: &str, server: &Server) -> Result<()> {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let mut command = match program {
        "cargo" => cargo(),
        _ if program.contains('/') => Command::new(folder.join(program)),
        _ => Command::new(program),
    };
    command.args(words).current_dir(folder);
    command
        .env("ROSTER_URL", server.url())
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("GOFLAGS", "-mod=readonly");
    // The linter must not call home.
    command.envs([("REDOCLY_TELEMETRY", "off"), ("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")]);
    run_with(&mut command)
}

/// Copies a folder, and those in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            copy(&path, &to.join(path.file_name().unwrap_or_default()))?;
        } else {
            copy_changed(&path, to)?;
        }
    }
    Ok(())
}

/// Copies a file into a folder, unless it is there already: compilers look at the time of a file.
fn copy_changed(file: &Path, folder: &Path) -> Result<()> {
    let to: PathBuf = folder.join(file.file_name().unwrap_or_default());
    let text = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    if fs::read(&to).ok().as_ref() != Some(&text) {
        fs::write(&to, text).with_context(|| format!("writing {}", to.display()))?;
    }
    Ok(())
}
