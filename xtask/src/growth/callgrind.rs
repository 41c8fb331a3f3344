//! Callgrind: counts the instructions of each input, and knows the functions that they belong to.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

/// Gives each line of `index` to the program `growth`, and returns what it printed for each. The counts of the i-th line are in
/// the file that [`counts`] names.
pub(super) fn measure(program: &Path, index: &Path, folder: &Path) -> Result<Vec<String>> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let lines = File::open(index).with_context(|| format!("opening {}", index.display()))?;
    let mut command = Command::new("valgrind");
    // What was counted before an input is written, too: callgrind would forget only what the thread itself has done.
    command.args([
        "-q",
        "--tool=callgrind",
        "--dump-before=growth::growth_begin*",
        "--dump-before=growth::growth_end*",
    ]);
    command.arg(format!("--callgrind-out-file={}", folder.join("out").display()));
    let output = command.arg(program).arg("measure").stdin(Stdio::from(lines)).output().context("starting valgrind")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let shown = || format!("{}{}", printed.lines().last().unwrap_or_default(), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "growth ended with {}: {}", output.status, shown());
    Ok(printed.lines().map(str::to_owned).collect())
}

/// Counts a whole run of the program with arguments of `roster`. Returns how many bytes it printed.
pub(super) fn measure_run(program: &Path, arguments: &[String], counts: &Path) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["-q", "--tool=callgrind"]).arg(format!("--callgrind-out-file={}", counts.display()));
    let output = command.arg(program).args(arguments).stdin(Stdio::null()).output().context("starting valgrind")?;
    // There may be findings.
    let code = output.status.code();
    let shown = || String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        code == Some(0) || code == Some(1),
        "roster {} ended with {}: {}",
        arguments.join(" "),
        output.status,
        shown()
    );
    Ok(output.stdout.len() as u64)
}

/// The file with the counts of one input.
pub(super) fn counts(folder: &Path, at: usize) -> PathBuf {
    folder.join(format!("out.{}", 2 * at + 2))
}

/// The instructions in a file of counts.
pub(super) fn instructions(counts: &Path) -> Result<u64> {
    for line in lines(counts)? {
        if let Some(sum) = line?.strip_prefix("summary: ") {
            return sum.trim().parse().with_context(|| format!("the sum in {}", counts.display()));
        }
    }
    anyhow::bail!("there is no sum in {}", counts.display())
}

/// The function with the most instructions of its own, and its share of all in percent.
pub(super) fn heaviest(counts: &Path) -> Result<(String, u64)> {
    let (mut names, mut own) = (HashMap::new(), HashMap::<String, u64>::new());
    let (mut function, mut is_call) = (String::new(), false);
    for line in lines(counts)? {
        let line = line?;
        if let Some((is_callee, (id, name))) = named(&line) {
            if let Some(name) = name {
                names.insert(id.to_owned(), name.to_owned());
            }
            if !is_callee {
                id.clone_into(&mut function);
            }
        } else if line.starts_with("calls=") {
            // The next line counts what is called.
            is_call = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) && !std::mem::take(&mut is_call) {
            let count = line.split_once(' ').and_then(|(_, count)| count.trim().parse::<u64>().ok());
            *own.entry(function.clone()).or_default() += count.unwrap_or_default();
        }
    }
    let sum: u64 = own.values().sum();
    let most = own.into_iter().max_by(|a, b| (a.1, &b.0).cmp(&(b.1, &a.0))).context("no function was counted")?;
    let name = names.remove(&most.0).unwrap_or(most.0);
    Ok((name, most.1 * 100 / sum.max(1)))
}

/// A line that names a function: whether it is one that is called, its number, and its name if this is the first time.
fn named(line: &str) -> Option<(bool, (&str, Option<&str>))> {
    let (is_callee, rest) = match line.strip_prefix("cfn=(") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix("fn=(")?),
    };
    let (id, name) = rest.split_once(')')?;
    Some((is_callee, (id, Some(name.trim()).filter(|name| !name.is_empty()))))
}

fn lines(path: &Path) -> Result<std::io::Lines<BufReader<File>>> {
    Ok(BufReader::new(File::open(path).with_context(|| format!("opening {}", path.display()))?).lines())
}
