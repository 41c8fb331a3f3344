//! `cargo xtask layers`: each room of `src/` imports only what the table allows, and there is no circle, neither between
//! rooms nor between files.
//!
//! ```text
//!   reader     parses one file: tokens, test_code ─► syntax      rooms      the table
//!   tree       the modules of both crates                       report     what violates it: circles, violation
//!   names      which file defines what a path names             document   the table in ARCHITECTURE.md
//!   arrows     who needs what
//! ```
//!
//! An arrow leads to the file that defines a name, past re-exports. What no path names is not seen: methods, and what
//! a macro of another crate writes.

mod arrows;
mod circles;
mod document;
mod names;
mod reader;
mod report;
mod rooms;
mod syntax;
mod test_code;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;
mod violation;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::steps::Outcome;
use document::DOCUMENT;
use rooms::ROOMS;
use tree::{Sources, Tree};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write the table of rooms in ARCHITECTURE.md before checking
    #[arg(long)]
    write: bool,
}

/// Writes the table if requested, then checks.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.write {
        write()?;
    }
    check()
}

/// Checks `src/` and the table in ARCHITECTURE.md, and prints all violations.
pub(crate) fn check() -> Result<Outcome> {
    let sources = sources()?;
    let document = document()?;
    let mut report = report::report(ROOMS, &sources, &Tree::read(&sources)?);
    report.violations.extend(document::violations(&document, ROOMS, &sources));
    report.violations.sort();
    if report.violations.is_empty() {
        println!("    {report}");
        return Ok(Outcome::Passed);
    }
    for violation in &report.violations {
        println!("    {}", violation.to_string().replace('\n', "\n    "));
    }
    bail!("{} violations", report.violations.len());
}

/// Writes the table of rooms in ARCHITECTURE.md.
pub(crate) fn write() -> Result<()> {
    let text = document()?;
    let fresh = document::with_table(&text, ROOMS, &sources()?);
    let fresh = fresh.with_context(|| format!("{DOCUMENT} has no markers for the table of rooms"))?;
    fs::write(DOCUMENT, fresh).with_context(|| format!("writing {DOCUMENT}"))
}

fn document() -> Result<String> {
    fs::read_to_string(DOCUMENT).with_context(|| format!("reading {DOCUMENT}"))
}

/// Every Rust file below `src/`.
fn sources() -> Result<Sources> {
    let mut sources = Sources::new();
    read_folder("src", &mut sources)?;
    Ok(sources)
}

fn read_folder(folder: &str, sources: &mut Sources) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("reading {folder}"))? {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_folder(&path, sources)?;
        } else if Path::new(&path).extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
            sources.insert(path, text);
        }
    }
    Ok(())
}
