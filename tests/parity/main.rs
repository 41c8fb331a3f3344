//! Roster against recorded answers of the real controllers.
//!
//! The committed cases are a compact part of a larger recording; where that lies beside the checkout
//! (`../shared/vectors`), all of it is compared.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test: it may fail loudly, it reads files, and it prints"
)]

mod canon;
mod engine;
mod exact;
mod explanations;
mod views;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use canon::canon;
use engine::Engine;
use exact::exact;
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// How many differences are shown in full.
const SHOWN: usize = 3;

/// One line of a recording.
#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    case: &'a RawValue,
    answers: Vec<Value>,
}

/// What came of one recording.
#[derive(Default)]
struct Score {
    comparisons: usize,
    differences: Vec<String>,
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files(dir: &Path, ending: &str, beginning: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .map(|e| e.unwrap().path())
        .filter(|p| {
            p.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(beginning) && n.ends_with(ending))
        })
        .collect();
    found.sort();
    found
}

/// The rows of a file: one a line, or the whole file.
fn rows(path: &Path) -> Vec<String> {
    if path.extension().is_some_and(|e| e == "gz") {
        return BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines().map(Result::unwrap).collect();
    }
    vec![fs::read_to_string(path).unwrap()]
}

/// Compares one row with every release that it names.
fn compare(text: &str, score: &mut Score) {
    let row: Row<'_> = serde_json::from_str(text).expect("a row is JSON");
    let case: Value = serde_json::from_str(row.case.get()).expect("a case is JSON");
    let mut engine = Engine::new(&case, row.case.get());
    // Several answers for one release are several right ones.
    let mut wanted: Vec<(&str, Vec<usize>)> = Vec::new();
    for (i, answer) in row.answers.iter().enumerate() {
        for version in answer["versions"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            match wanted.iter_mut().find(|(v, _)| *v == version) {
                Some((_, answers)) => answers.push(i),
                None => wanted.push((version, vec![i])),
            }
        }
    }
    // Where the reference's order was chosen, the answer is the same to the letter.
    let ordered = row.answers.iter().any(|a| a["ordered"] == true);
    let form = |answer: &Value| if ordered { exact(&case, answer) } else { canon(&case, answer) };
    let forms: Vec<Value> = row.answers.iter().map(form).collect();
    // The last answer and its form: most releases answer the same.
    let mut last = (Value::Null, Value::Null);
    for (version, answers) in wanted {
        score.comparisons += 1;
        match engine.as_mut().map_err(|e| e.clone()).and_then(|e| e.answer(version)) {
            Ok(answer) if answer == last.0 => {}
            Ok(answer) => {
                let form = form(&answer);
                last = (answer, form);
            }
            Err(e) => last = (Value::Null, json!({ "no answer": e })),
        }
        let got = &last.1;
        if answers.iter().any(|i| forms[*i] == *got) {
            continue;
        }
        let mut note = format!("{} as {version}", case["id"].as_str().unwrap_or_default());
        if score.differences.len() < SHOWN {
            let cut = |v: &Value| v.to_string().chars().take(1500).collect::<String>();
            note = format!("{note}\n  want {}\n  got  {}", cut(&forms[answers[0]]), cut(got));
        }
        score.differences.push(note);
    }
}

/// Compares all rows of some files, on all cores.
fn score(paths: &[PathBuf]) -> Score {
    let rows: Vec<String> = paths.iter().flat_map(|p| rows(p)).collect();
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Score::default());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Score::default();
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    compare(row, &mut own);
                }
                let mut total = total.lock().unwrap();
                total.comparisons += own.comparisons;
                total.differences.extend(own.differences);
            });
        }
    });
    total.into_inner().unwrap()
}

fn check(name: &str, paths: &[PathBuf]) {
    let score = score(paths);
    let failed = score.differences.len();
    println!("{name}: {} passed, {failed} failed", score.comparisons - failed);
    let some: Vec<&str> = score.differences.iter().take(20).map(String::as_str).collect();
    assert!(failed == 0, "{name}: {failed} of {} differ; the first of them:\n{}", score.comparisons, some.join("\n"));
    assert!(score.comparisons > 0, "{name}: nothing was compared");
}

#[test]
fn committed_cases() {
    let mut paths = files(&here("tests/parity/cases"), ".jsonl.gz", "");
    paths.extend(files(&here("tests/parity/cases/found"), ".json", ""));
    check("committed cases", &paths);
}

/// Some of the committed cases, and what else may become of them.
#[test]
fn what_is_explained_is_what_is_published() {
    let paths = files(&here("tests/parity/cases"), ".jsonl.gz", "");
    let rows: Vec<String> = paths.iter().flat_map(|p| rows(p)).collect();
    let explained = explanations::check(&rows);
    println!("explanations: {} rows hold, {} do not", explained.rows, explained.differences.len());
    let some: Vec<&str> = explained.differences.iter().take(20).map(String::as_str).collect();
    assert!(some.is_empty(), "{} differ; the first of them:\n{}", explained.differences.len(), some.join("\n"));
    let missing: Vec<&&str> = explanations::SEEN.iter().filter(|code| !explained.seen.contains(**code)).collect();
    assert!(missing.is_empty(), "no row says {missing:?}");
}

#[test]
fn committed_views() {
    let mut compared = 0;
    let mut differences = Vec::new();
    for path in files(&here("tests/parity/cases/views"), ".jsonl.gz", "") {
        let rows = rows(&path);
        compared += rows.len();
        differences.extend(rows.iter().filter_map(|row| views::difference(row)));
    }
    println!("committed views: {} passed, {} failed", compared - differences.len(), differences.len());
    let some: Vec<&str> = differences.iter().take(SHOWN).map(String::as_str).collect();
    assert!(some.is_empty(), "{} of {compared} differ; the first of them:\n{}", differences.len(), some.join("\n"));
    assert!(compared >= 3200, "only {compared} were compared");
}

#[test]
fn whole_recording() {
    let paths = files(&here("../shared/vectors"), ".jsonl.gz", "controllers-");
    if paths.is_empty() {
        println!("skipped: no recording in ../shared/vectors; the committed part of it was compared");
        return;
    }
    check("whole recording", &paths);
}
