//! What `cargo xtask growth` measures: inputs of growing sizes, for every way in.
//!
//! `prepare DIR BYTES containing TEXT` writes the inputs of all cases whose names contain TEXT to DIR, and prints a line for each;
//! `prepare DIR BYTES named NAME…` those of some cases.
//! `measure` reads such lines, and gives each input to its way in. Callgrind counts from `growth_begin` to `growth_end`.
//! `largest [NAME…]` gives bodies as large as the limits allow, one dimension each, and prints seconds of processor time.
//! Without one of these words, this is the program `roster` itself: the command line is measured so.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::needless_pass_by_value,
    reason = "a program that reads files, makes objects of objects, and prints what it did"
)]

mod files;
mod objects;
mod pages;
mod plans;
mod reviews;
mod sizes;
mod texts;
mod views;
mod watches;
mod ways;

use std::{
    fs,
    hint::black_box,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context, Result};
use sizes::{Family, Input, Sizes};
use ways::{Ways, Work};

/// The allocator of the released program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// All families.
const FAMILIES: &[&[Family]] = &[
    reviews::FAMILIES,
    plans::FAMILIES,
    pages::FAMILIES,
    views::FAMILIES,
    texts::FAMILIES,
    watches::FAMILIES,
    files::FAMILIES,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["prepare", folder, bytes, "containing", text] => prepare(Path::new(folder), bytes, |name| name.contains(text)),
        ["prepare", folder, bytes, "named", names @ ..] => {
            prepare(Path::new(folder), bytes, |name| names.contains(&name))
        }
        ["measure"] => measure(),
        ["largest", names @ ..] => largest(|name| names.is_empty() || names.contains(&name)),
        _ => return roster::cli::main(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The fewest of anything that an input begins with.
const LEAST: usize = 4;
/// Writes inputs of n, 2n and 4n: the largest n whose last input has at most so many bytes.
fn prepare(folder: &Path, bytes: &str, is_wanted: impl Fn(&str) -> bool) -> Result<()> {
    let most: usize = bytes.parse().context("BYTES")?;
    let mut out = io::stdout().lock();
    let mut at = 0;
    for family in FAMILIES.iter().copied().flatten() {
        for dimensions in family.cases() {
            let name = family.case_name(&dimensions);
            if !is_wanted(&name) {
                continue;
            }
            let make = |n: usize| (family.make)(&Sizes::of(family, &dimensions, n));
            let base = make(LEAST).bytes();
            let mut n = LEAST;
            // What the input has without the dimension does not count. One that does not make it longer ends somewhere, too.
            while n < most / 6 && make(8 * n).bytes() <= base + most {
                n *= 2;
            }
            // The dimension is only one beside another.
            if make(4 * n).bytes() < make(2 * n).bytes() + n {
                continue;
            }
            for n in [n, 2 * n, 4 * n] {
                let input = make(n);
                let file = folder.join(at.to_string());
                at += 1;
                write(&file, &input)?;
                writeln!(out, "{name}\t{n}\t{}\t{}\t{}", input.bytes(), input.way, file.display())?;
            }
        }
    }
    Ok(())
}

fn write(file: &Path, input: &Input) -> Result<()> {
    if input.way.starts_with("cli ") {
        return write_files(&file.join("in"), &input.body);
    }
    for (part, text) in [("body", &input.body), ("stored", &input.stored), ("policies", &input.policies)] {
        let path = file.with_extension(part);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Writes the files of a body.
fn write_files(folder: &Path, body: &str) -> Result<()> {
    for part in body.split("#### ").skip(1) {
        let (path, text) = part.split_once('\n').context("a file without text")?;
        let path = folder.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn read(file: &Path, way: &str) -> Result<Input> {
    let text = |part: &str| {
        let path = file.with_extension(part);
        fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    };
    Ok(Input { way: way.to_owned(), body: text("body")?, stored: text("stored")?, policies: text("policies")? })
}

/// Gives each input of the standard input to its way in, in order, and prints a line for each. The first input of a case is
/// given twice: what is only done once, such as the reading of a table, is not counted.
fn measure() -> Result<()> {
    let ways = Ways::new()?;
    let mut last = String::new();
    for line in io::stdin().lines() {
        let line = line?;
        let mut fields = line.split('\t');
        let (Some(name), Some(way), Some(file)) = (fields.next(), fields.nth(2), fields.next()) else { continue };
        let input = || read(Path::new(file), way);
        if last != name {
            // What fails fails again below.
            let _ = Work::prepare(&ways, input()?).and_then(|work| work.run(&ways));
            name.clone_into(&mut last);
        }
        let work = Work::prepare(&ways, input()?);
        growth_begin();
        let done = black_box(work.and_then(|work| work.run(&ways)));
        growth_end();
        match done {
            Ok(length) => println!("ok\t{length}"),
            Err(error) => println!("failed\t{}", format!("{error:#}").replace(['\n', '\t'], " ")),
        }
    }
    Ok(())
}

/// Gives the largest allowed body of each dimension to its way in, and prints its bytes, the processor time that it took and
/// the time that is allowed.
fn largest(is_wanted: impl Fn(&str) -> bool) -> Result<()> {
    let ways = Ways::new()?;
    for family in FAMILIES.iter().copied().flatten() {
        for (dimension, _) in family.base {
            let name = family.case_name(&[*dimension]);
            if !is_wanted(&name) {
                continue;
            }
            let make = |n: usize| (family.make)(&Sizes::of(family, &[*dimension], n));
            let (small, large) = (make(LEAST), make(LEAST + 64));
            let each = (large.body.len() - small.body.len().min(large.body.len())) / 64;
            let Some((most, allowed)) = limits(&small.way) else { continue };
            if each == 0 {
                continue;
            }
            let mut n = most / each;
            // Numbers with more digits are longer.
            let input = loop {
                let input = make(n);
                if input.body.len() <= most {
                    break input;
                }
                n = n / 10 * 9;
            };
            let bytes = input.body.len();
            let work = Work::prepare(&ways, input)?;
            let before = processor_seconds()?;
            let status = work.run(&ways).map_or_else(|_| "refused", |_| "ok");
            let took = processor_seconds()? - before;
            println!("{name}\t{n}\t{bytes}\t{took:.2}\t{allowed}\t{status}");
        }
    }
    Ok(())
}

/// The most bytes of a body, and the seconds that it may take.
fn limits(way: &str) -> Option<(usize, f64)> {
    match way.split_once(' ').unwrap_or((way, "")) {
        ("post/yaml", _) => Some((8 << 20, 1.0)),
        // A sixteenth of what is allowed, for as much of the time: the input is in memory many times while it is made.
        (_, "/v1/cluster") => Some(((1 << 30) / 16, 4.0 / 16.0)),
        (post, _) if post.starts_with("post") => Some((64 << 20, 1.0)),
        ("validate" | "mutate", _) => Some((7 << 20, 0.2)),
        _ => None,
    }
}

/// The processor time of this program, in all threads.
fn processor_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let ticks = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split(' ').skip(12).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Ok(ticks as f64 / 100.0)
}

/// Callgrind writes what it counted while the input was made.
#[inline(never)]
fn growth_begin() {
    black_box("begin");
}

/// Callgrind writes what it counted.
#[inline(never)]
fn growth_end() {
    black_box("end");
}
