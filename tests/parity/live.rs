//! The live comparison: random states, the real Go controllers, and Roster, side by side.
//!
//! Run it with `cargo xtask parity`, which builds the reference programs. In the ordered ones nothing is left to Go's
//! random order of maps, so every state has one answer, and Roster has to give it. Every difference is
//! written down as a case, ready to commit.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    reason = "a test program: it may fail loudly, and it prints"
)]

mod canon;
mod deviation;
mod engine;
mod exact;
mod generator;
mod judge;
mod oracle_process;
mod rng;
mod tally;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use generator::Story;
use judge::{Judge, Other, Settings};
use oracle_process::Oracle;
use tally::Tally;

/// States that one worker takes at a time.
const BATCH: u64 = 32;

struct Arguments {
    cases: u64,
    first: u64,
    seed: u64,
    jobs: usize,
    settings: Settings,
    /// Release and ordered program.
    oracles: Vec<(String, PathBuf)>,
    /// The published programs of the same releases; none unless they are compared with.
    plain: Vec<PathBuf>,
}

fn arguments() -> Arguments {
    let mut a = Arguments {
        cases: 1000,
        first: 0,
        seed: 1,
        jobs: std::thread::available_parallelism().map_or(2, usize::from),
        settings: Settings { other: Other::Roster, runs: 400, found: None, show: 3 },
        oracles: Vec::new(),
        plain: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--against-itself" {
            a.settings.other = Other::Itself;
            continue;
        }
        let value = words.next().unwrap_or_else(|| panic!("{word} needs a value"));
        let number = || value.parse::<u64>().unwrap_or_else(|_| panic!("{word} {value}: not a number"));
        match word.as_str() {
            "--cases" => a.cases = number(),
            "--first" => a.first = number(),
            "--seed" => a.seed = number(),
            "--jobs" => a.jobs = number() as usize,
            "--runs" => a.settings.runs = number() as usize,
            "--show" => a.settings.show = number() as usize,
            "--found" => a.settings.found = Some(value.into()),
            "--plain" => a.plain.push(value.into()),
            "--oracle" => {
                let (version, program) = value.split_once('=').expect("--oracle 1.37=PROGRAM");
                a.oracles.push((version.to_owned(), program.into()));
            }
            _ => panic!("unknown argument {word}"),
        }
    }
    assert!(!a.oracles.is_empty(), "no --oracle; run it as cargo xtask parity");
    if !a.plain.is_empty() {
        assert_eq!(a.plain.len(), a.oracles.len(), "one --plain for each --oracle");
        a.settings.other = Other::Plain;
    }
    a
}

/// The programs of one release.
struct Reference {
    version: String,
    ordered: Oracle,
    plain: Option<Oracle>,
}

impl Reference {
    fn start_all(a: &Arguments) -> Vec<Self> {
        let start = |(i, (version, program)): (usize, &(String, PathBuf))| Self {
            version: version.clone(),
            ordered: Oracle::start(program),
            plain: a.plain.get(i).map(|p| Oracle::start(p)),
        };
        a.oracles.iter().enumerate().map(start).collect()
    }
}

fn main() {
    let a = arguments();
    let started = Instant::now();
    let next = AtomicU64::new(a.first);
    let end = a.first + a.cases;
    let total = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..a.jobs.max(1))
            .map(|_| {
                scope.spawn(|| {
                    let mut tally = Tally::default();
                    let mut references = Reference::start_all(&a);
                    loop {
                        let from = next.fetch_add(BATCH, Ordering::Relaxed);
                        if from >= end {
                            break;
                        }
                        batch(a.seed, from..end.min(from + BATCH), &mut references, &a.settings, &mut tally);
                    }
                    total.lock().unwrap().add(tally);
                })
            })
            .collect();
        for worker in workers {
            if let Err(cause) = worker.join() {
                let text =
                    cause.downcast_ref::<String>().cloned().or(cause.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                println!("a worker stopped: {}", text.unwrap_or_default());
                std::process::exit(2);
            }
        }
    });
    let tally = total.into_inner().unwrap();
    tally.print(started.elapsed(), a.oracles.iter().map(|(v, _)| v.as_str()));
    std::process::exit(i32::from(tally.failed() > 0));
}

/// Brings a batch of states to their end and compares them with every release.
fn batch(
    seed: u64,
    indexes: std::ops::Range<u64>,
    references: &mut [Reference],
    settings: &Settings,
    tally: &mut Tally,
) {
    let mut stories: Vec<Story> = indexes.map(|i| Story::start(seed, i)).collect();
    // Stored objects are written by any of the releases: clusters get upgraded.
    let mut turn = seed as usize;
    while stories.iter().any(|s| s.rounds > 0) {
        turn += 1;
        let writer = turn % references.len();
        let mut open: Vec<&mut Story> = stories.iter_mut().filter(|s| s.rounds > 0).collect();
        let lines: Vec<String> = open.iter().map(|s| s.in_some_order()).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let answers = references[writer].ordered.ask(&lines);
        for (story, answer) in open.iter_mut().zip(&answers) {
            story.advance(answer);
        }
    }
    let texts: Vec<String> = stories.iter().map(|s| s.case.to_string()).collect();
    let lines: Vec<&str> = texts.iter().map(String::as_str).collect();
    for Reference { version, ordered, plain } in references {
        let answers = ordered.ask(&lines);
        let other = plain.as_mut().unwrap_or(ordered);
        for ((story, line), answer) in stories.iter().zip(&lines).zip(&answers) {
            Judge { case: &story.case, line, version, settings }.compare(answer, other, tally);
        }
    }
}
