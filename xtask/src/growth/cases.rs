//! The cases: what the program `growth` writes for them, and how they are measured.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    callgrind,
    exponent::{Measured, exponent},
};

/// A line of the index: one input of a case.
#[derive(Clone, Debug)]
struct IndexLine {
    text: String,
    case: String,
    n: u64,
    bytes: u64,
    way: String,
    file: PathBuf,
}

impl IndexLine {
    fn read(text: &str) -> Option<Self> {
        let mut fields = text.split('\t');
        let mut next = || fields.next().map(str::to_owned);
        let (case, n, bytes, way, file) = (next()?, next()?, next()?, next()?, next()?);
        let text = text.to_owned();
        Some(Self { text, case, n: n.parse().ok()?, bytes: bytes.parse().ok()?, way, file: file.into() })
    }
}

/// What was measured of a case.
#[derive(Clone, Debug)]
pub(super) struct CaseResult {
    pub name: String,
    /// The n of its first input.
    pub n: u64,
    pub inputs: [Measured; 3],
    /// `None` where the input is nothing to that way in.
    pub exponent: Option<f64>,
    /// The file with the counts of its last input.
    pub counts: PathBuf,
}

impl CaseResult {
    /// `counted` are instructions, and bytes of the answer.
    fn new(lines: &[IndexLine], counted: [(u64, u64); 3], counts: PathBuf) -> Self {
        let measured = |i: usize| Measured { bytes: lines[i].bytes + counted[i].1, instructions: counted[i].0 };
        let inputs = [0, 1, 2].map(measured);
        Self { name: lines[0].case.clone(), n: lines[0].n, inputs, exponent: exponent(inputs), counts }
    }
}

/// How many inputs one run of the program is given. Then the next begins, so that all cores have something to do to the end.
const AT_ONCE: usize = 300;

/// Measures all cases of an index, with as many runs at once as there are cores. The results are in order of their names.
pub(super) fn measure_all(program: &Path, index: &str, folder: &Path) -> Result<Vec<CaseResult>> {
    let lines: Vec<IndexLine> = index.lines().filter_map(IndexLine::read).collect();
    let (of_cli, of_program): (Vec<IndexLine>, Vec<IndexLine>) =
        lines.into_iter().partition(|line| line.way.starts_with("cli "));
    ensure!(of_cli.len() % 3 == 0 && of_program.len() % 3 == 0, "each case has three inputs");
    let mut parts: Vec<&[IndexLine]> = of_program.chunks(AT_ONCE).collect();
    parts.extend(of_cli.chunks(3));
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<CaseResult>> {
        let mut results = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(at) else { return Ok(results) };
            let folder = folder.join(format!("part-{at}"));
            results.extend(measure_part(program, part, &folder)?);
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut results: Vec<CaseResult> = Vec::new();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let Ok(done) = thread.join() else { bail!("the thread of a measurement panicked") };
            results.extend(done?);
        }
        Ok(())
    })?;
    results.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(results)
}

fn measure_part(program: &Path, part: &[IndexLine], folder: &Path) -> Result<Vec<CaseResult>> {
    if part.first().is_some_and(|line| line.way.starts_with("cli ")) {
        return measure_cli(program, part, folder).map(|result| vec![result]);
    }
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let index = folder.join("index");
    let text: String = part.iter().map(|line| line.text.clone() + "\n").collect();
    fs::write(&index, text).with_context(|| format!("writing {}", index.display()))?;
    let printed = callgrind::measure(program, &index, folder)?;
    let mut answers = Vec::new();
    for (line, printed) in part.iter().zip(&printed) {
        let answer = printed.strip_prefix("ok\t").and_then(|bytes| bytes.parse::<u64>().ok());
        answers.push(answer.with_context(|| format!("{}, n = {}: {printed}", line.case, line.n))?);
    }
    ensure!(printed.len() == part.len(), "{} of {} inputs were measured", printed.len(), part.len());
    let mut results = Vec::new();
    for (at, lines) in part.chunks_exact(3).enumerate() {
        let mut counted = [(0, 0); 3];
        for (i, counted) in counted.iter_mut().enumerate() {
            let at = at * 3 + i;
            *counted = (callgrind::instructions(&callgrind::counts(folder, at))?, answers[at]);
        }
        results.push(CaseResult::new(lines, counted, callgrind::counts(folder, at * 3 + 2)));
    }
    Ok(results)
}

/// A run of the command line for each input.
fn measure_cli(program: &Path, lines: &[IndexLine], folder: &Path) -> Result<CaseResult> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let mut counted = [(0, 0); 3];
    for (i, line) in lines.iter().enumerate() {
        let inputs = line.file.join("in").display().to_string();
        let arguments: Vec<String> = line.way.split(' ').skip(1).map(|word| word.replace("DIR", &inputs)).collect();
        let counts = callgrind::counts(folder, i);
        let printed = callgrind::measure_run(program, &arguments, &counts);
        let printed = printed.with_context(|| format!("{}, n = {}", line.case, line.n))?;
        counted[i] = (callgrind::instructions(&counts)?, printed);
    }
    Ok(CaseResult::new(lines, counted, callgrind::counts(folder, 2)))
}
