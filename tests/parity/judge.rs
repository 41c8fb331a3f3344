//! Whether Roster's answer is one that the reference gives.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::canon::canon;
use crate::deviation;
use crate::engine::Engine;
use crate::oracle_process::Oracle;

pub(crate) struct Settings {
    /// How often the reference is run before a difference counts.
    pub(crate) runs: usize,
    /// How often it is run in all before a difference is believed; agreement beyond `runs` is counted apart.
    pub(crate) patience: usize,
    /// Where differences are written down.
    pub(crate) found: Option<PathBuf>,
    /// Compare the reference with itself instead: how often does it throw dice?
    pub(crate) against_itself: bool,
    /// How many differences are shown.
    pub(crate) show: usize,
}

/// More answers of the reference to one state than this are no dice any more.
const ARBITRARY: usize = 16;

/// What was counted. A comparison is one state with one release.
#[derive(Default)]
pub(crate) struct Tally {
    comparisons: u64,
    agreed: u64,
    /// Agreed with another run than the first: the reference throws dice.
    dice: u64,
    /// Agreed only with a run beyond the regular ones.
    late: u64,
    /// Agreed in everything but which endpoints are written, where the reference never repeats itself.
    arbitrary: u64,
    deviations: BTreeMap<&'static str, u64>,
    by_controller: BTreeMap<String, u64>,
    writes: u64,
    differences: Vec<String>,
    shown: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.comparisons += other.comparisons;
        self.agreed += other.agreed;
        self.dice += other.dice;
        self.late += other.late;
        self.arbitrary += other.arbitrary;
        self.writes += other.writes;
        for (k, n) in other.deviations {
            *self.deviations.entry(k).or_default() += n;
        }
        for (k, n) in other.by_controller {
            *self.by_controller.entry(k).or_default() += n;
        }
        self.differences.extend(other.differences);
    }

    pub(crate) fn failed(&self) -> usize {
        self.differences.len()
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate for a person")]
    pub(crate) fn print<'a>(&self, time: Duration, versions: impl Iterator<Item = &'a str>) {
        let seconds = time.as_secs_f64();
        println!(
            "{} comparisons with Kubernetes {} in {seconds:.1} s ({:.0} a second); {} of them write something",
            self.comparisons,
            versions.collect::<Vec<_>>().join(", "),
            self.comparisons as f64 / seconds,
            self.writes,
        );
        let kinds: Vec<String> = self.by_controller.iter().map(|(k, n)| format!("{k} {n}")).collect();
        println!("  {}", kinds.join(", "));
        println!(
            "  {} agreed with the first run, {} with a later one: the reference threw dice",
            self.agreed, self.dice
        );
        if self.late > 0 {
            println!("  {} agreed only with a run beyond the regular ones: dice with a rare side", self.late);
        }
        if self.arbitrary > 0 {
            println!(
                "  {} agreed but for which endpoints are written: the reference never does the same",
                self.arbitrary
            );
        }
        for (name, n) in &self.deviations {
            println!("  {n} {name}");
        }
        for d in &self.differences {
            println!("  differs: {d}");
        }
        println!("{} passed, {} failed", self.comparisons - self.differences.len() as u64, self.differences.len());
    }
}

pub(crate) struct Judge<'a> {
    pub(crate) case: &'a Value,
    /// The case as text.
    pub(crate) line: &'a str,
    pub(crate) version: &'a str,
    pub(crate) oracle: &'a mut Oracle,
    pub(crate) settings: &'a Settings,
}

impl Judge<'_> {
    pub(crate) fn compare(&mut self, first: Value, tally: &mut Tally) {
        tally.comparisons += 1;
        *tally.by_controller.entry(self.case["controller"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        tally.writes += u64::from(first["actions"].as_array().is_some_and(|a| !a.is_empty()));
        let ours = if self.settings.against_itself {
            Ok(self.oracle.ask(&[self.line]).remove(0))
        } else {
            Engine::new(self.case, self.line).and_then(|mut e| e.answer(self.version))
        };
        let got = match &ours {
            Ok(answer) => canon(self.case, answer),
            Err(e) => json!({ "no answer": e }),
        };
        if canon(self.case, &first) == got {
            tally.agreed += 1;
            return;
        }
        let answer = ours.as_ref().unwrap_or(&Value::Null);
        if let Some(name) = deviation::known(self.case, &first, answer) {
            *tally.deviations.entry(name).or_default() += 1;
            return;
        }
        // Every other answer that the reference gives, once.
        let mut wanted = vec![(canon(self.case, &first), first)];
        let mut run = 1;
        loop {
            // Some dice have a side that comes up once in eight throws or less: Go starts in a random slot of
            // a map, and most slots of a small map are empty. Only an engine that is plainly wrong has many
            // differences, and then the first of them are enough to look at so closely.
            let patience = if tally.failed() < 25 { self.settings.patience } else { 0 };
            let limit = if run < self.settings.runs { self.settings.runs } else { patience };
            if run >= limit {
                break;
            }
            let many = vec![self.line; (limit - run).min(32)];
            for answer in self.oracle.ask(&many) {
                run += 1;
                let want = canon(self.case, &answer);
                if want == got {
                    *(if run > self.settings.runs { &mut tally.late } else { &mut tally.dice }) += 1;
                    return;
                }
                if wanted.iter().all(|(w, _)| *w != want) {
                    wanted.push((want, answer));
                }
            }
        }
        // Chance may have hidden the deviation from the first run.
        if let Some(name) = wanted.iter().find_map(|(_, theirs)| deviation::known(self.case, theirs, answer)) {
            *tally.deviations.entry(name).or_default() += 1;
            return;
        }
        // No two runs alike: the reference writes a random choice of the endpoints, as for a Service that is
        // being deleted, whose new slices it holds back.
        if wanted.len() > ARBITRARY && wanted.iter().any(|(w, _)| counts_only(w) == counts_only(&got)) {
            tally.arbitrary += 1;
            return;
        }
        self.difference(&wanted, &got, ours, run, tally);
    }

    fn difference(
        &self,
        wanted: &[(Value, Value)],
        got: &Value,
        ours: Result<Value, String>,
        runs: usize,
        tally: &mut Tally,
    ) {
        let id = self.case["id"].as_str().unwrap_or_default();
        let controller = self.case["controller"].as_str().unwrap_or_default();
        let mut note = format!("{id} {} {controller}: none of {runs} runs gives our answer", self.version);
        if wanted.len() > 1 {
            let _ = write!(note, "; they give {} different ones", wanted.len());
        }
        if tally.shown < self.settings.show {
            tally.shown += 1;
            let cut = |v: &Value| v.to_string().chars().take(3000).collect::<String>();
            let _ = write!(note, "\n    want {}\n    got  {}", cut(&wanted[0].0), cut(got));
        }
        if let Some(dir) = &self.settings.found {
            let answers: Vec<Value> = wanted
                .iter()
                .map(|(_, answer)| {
                    let mut a = answer.clone();
                    a.as_object_mut().unwrap().remove("id");
                    a["versions"] = json!([self.version]);
                    a
                })
                .collect();
            let row = json!({ "case": self.case, "answers": answers, "roster": ours.unwrap_or_else(Value::String) });
            std::fs::create_dir_all(dir).unwrap();
            let path = dir.join(format!("{id}-{}.json", self.version));
            std::fs::write(&path, serde_json::to_string_pretty(&row).unwrap() + "\n").unwrap();
        }
        tally.differences.push(note);
    }
}

/// A canonical form with the number of endpoints in place of the endpoints.
fn counts_only(form: &Value) -> Value {
    let mut form = form.clone();
    for (_, group) in form["state"]["groups"].as_object_mut().into_iter().flatten() {
        group["endpoints"] = group["endpoints"].as_array().map_or(0, Vec::len).into();
    }
    form
}
