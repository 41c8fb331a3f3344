//! `cargo xtask growth`: whether the work of every way in is proportional to its input.
//!
//! ```text
//! benches/growth (dimensions, pairs) ─ prepare ─► inputs of n, 2n, 4n ─ measure, in callgrind ─► instructions ─► exponent
//! ```
//!
//! Instructions are counted, not timed: the counts are the same on every machine, whatever else it does.

mod callgrind;
mod cases;
mod corpora;
mod document;
mod exponent;

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{
    command::{capture_within, cargo, has, run_with},
    paths,
    steps::{Outcome, Tally},
};
use cases::{CaseResult, measure_all};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Also pairs on the command line, the largest bodies that are allowed, and the inputs of the fuzz targets; and write the
    /// tables of docs/explanation/growth.md
    #[arg(long)]
    all: bool,
    /// Only cases whose names contain this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// The most bytes that the last input of a case has more than the smallest one
    #[arg(long, value_name = "BYTES", default_value_t = BYTES)]
    bytes: u64,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { all: false, only: String::new(), bytes: BYTES }
    }
}

/// What is still proportional: the logarithm of a sort, and tables that double.
const MOST: f64 = 1.25;
/// The most bytes that the last input of a case has more than the smallest one.
const BYTES: u64 = 24_000;

/// How much larger the inputs are with which a case that seems too steep is measured again. What a product takes is a larger part
/// there. A step, such as a buffer or a table of fixed size, is passed, and so is the budget of a product.
const LARGER: u64 = 8;

/// Measures every case, and fails if an exponent is too large.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if !has("valgrind") {
        return Outcome::missing("there is no valgrind: apt-get install valgrind");
    }
    let program = build()?;
    let folder = paths::target().join("growth");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("emptying {}", folder.display()))?;
    }
    let bytes = arguments.bytes;
    let index = prepare(&program, &folder, bytes, &["containing", &arguments.only])?;
    let index = if arguments.all || !arguments.only.is_empty() { index } else { without_pairs_of_files(&index) };
    let mut results = measure_all(&program, &index, &folder)?;
    ensure!(!results.is_empty(), "no case has {:?} in its name", arguments.only);
    measure_again(&program, &folder.join("again"), LARGER * bytes, &mut results)?;
    report(&results)?;
    if arguments.all && arguments.only.is_empty() {
        document::write(&results)?;
        let names = document::costliest(&results);
        let largest = capture_within(Command::new(&program).arg("largest").args(names), 30 * MINUTE)?;
        print!("{}", document::write_largest(&largest)?);
        for row in corpora::measure(&program, &folder.join("corpora"))? {
            println!("    {row}");
        }
    }
    let failed = results.iter().filter(|result| is_too_steep(result)).count() as u64;
    Ok(Outcome::Tests(Tally { passed: results.len() as u64 - failed, failed, ignored: 0 }))
}

const MINUTE: std::time::Duration = std::time::Duration::from_mins(1);

/// Writes inputs, and returns their index.
fn prepare(program: &Path, folder: &Path, bytes: u64, wanted: &[&str]) -> Result<String> {
    let inputs = folder.join("inputs");
    fs::create_dir_all(&inputs).with_context(|| format!("creating {}", inputs.display()))?;
    let mut prepare = Command::new(program);
    prepare.arg("prepare").arg(&inputs).arg(bytes.to_string()).args(wanted);
    capture_within(&mut prepare, 20 * MINUTE)
}

/// Measures those that are too steep with larger inputs.
fn measure_again(program: &Path, folder: &Path, bytes: u64, results: &mut [CaseResult]) -> Result<()> {
    let steep: Vec<&str> = results.iter().filter(|result| is_too_steep(result)).map(|result| &*result.name).collect();
    if steep.is_empty() {
        return Ok(());
    }
    let wanted: Vec<&str> = ["named"].into_iter().chain(steep).collect();
    let index = prepare(program, folder, bytes, &wanted)?;
    for larger in measure_all(program, &index, folder)? {
        if let Ok(at) = results.binary_search_by(|result| result.name.cmp(&larger.name)) {
            results[at] = larger;
        }
    }
    Ok(())
}

/// Builds the program from the crates of the released one.
fn build() -> Result<std::path::PathBuf> {
    run_with(cargo().args("build --quiet --release --package xtask --features growth --bin growth".split(' ')))?;
    Ok(paths::target().join("release/growth"))
}

/// Each run of the command line starts valgrind, which takes a second: continuous integration has no time for pairs there.
fn without_pairs_of_files(index: &str) -> String {
    let is_pair_of_files = |line: &&str| line.contains("\tcli ") && line.contains(" × ");
    index.lines().filter(|line| !is_pair_of_files(line)).flat_map(|line| [line, "\n"]).collect()
}

fn is_too_steep(result: &CaseResult) -> bool {
    result.exponent.is_some_and(|exponent| exponent > MOST)
}

/// Prints a line for each way in, and one for each case that is too steep.
fn report(results: &[CaseResult]) -> Result<()> {
    for row in document::rows(results) {
        println!("    {row}");
    }
    for result in results.iter().filter(|result| is_too_steep(result)) {
        let [first, second, last] = result.inputs;
        let (function, share) = callgrind::heaviest(&result.counts)?;
        println!(
            "    FAILED {}: exponent {:.2}, {} allowed; n = {}, {} instructions for {} bytes (before: {} for {}, {} for {}), {share} % of them in {function}",
            result.name,
            result.exponent.unwrap_or_default(),
            MOST,
            4 * result.n,
            last.instructions,
            last.bytes,
            second.instructions,
            second.bytes,
            first.instructions,
            first.bytes,
        );
        println!("        cargo xtask growth --only '{}'; callgrind_annotate {}", result.name, shown(&result.counts));
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.strip_prefix(paths::root()).unwrap_or(path).display().to_string()
}
