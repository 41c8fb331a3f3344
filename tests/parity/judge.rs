//! Whether two sides answer a state alike.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::canon::canon;
use crate::deviation;
use crate::engine::Engine;
use crate::exact::exact;
use crate::oracle_process::Oracle;
use crate::tally::Tally;

/// What the ordered reference is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Other {
    /// Roster: exactly the same.
    Roster,
    /// Itself: the same bytes, or something was left to chance.
    Itself,
    /// The reference as it is published: one of its runs gives the same answer.
    Plain,
}

pub(crate) struct Settings {
    pub(crate) other: Other,
    /// How often the published reference is run before its answer counts as another one.
    pub(crate) runs: usize,
    /// Where differences are written down.
    pub(crate) found: Option<PathBuf>,
    /// How many differences are shown.
    pub(crate) show: usize,
}

/// One state, as one release.
pub(crate) struct Judge<'a> {
    pub(crate) case: &'a Value,
    /// The case as text.
    pub(crate) line: &'a str,
    pub(crate) version: &'a str,
    pub(crate) settings: &'a Settings,
}

impl Judge<'_> {
    /// Compares `want`, the answer of the ordered reference, with that of the other side; `program` is the one that is
    /// asked if that is a program.
    pub(crate) fn compare(&self, want: &Value, program: &mut Oracle, tally: &mut Tally) {
        tally.comparisons += 1;
        *tally.by_controller.entry(self.case["controller"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        tally.writing += u64::from(want["actions"].as_array().is_some_and(|a| !a.is_empty()));
        match self.settings.other {
            Other::Roster => self.with_roster(want, tally),
            Other::Itself => {
                let again = program.ask(&[self.line]).remove(0);
                if again == *want {
                    tally.agreed += 1;
                } else {
                    self.difference("a second run gives another answer", want, &again, tally);
                }
            }
            Other::Plain => self.with_plain(want, program, tally),
        }
    }

    fn with_roster(&self, want: &Value, tally: &mut Tally) {
        let got = match Engine::new(self.case, self.line).and_then(|mut e| e.answer(self.version)) {
            Ok(got) if exact(self.case, want) == exact(self.case, &got) => {
                tally.agreed += 1;
                return;
            }
            Ok(got) => got,
            Err(e) => json!({ "no answer": e }),
        };
        match deviation::known(self.case, want, &got) {
            Some(name) => *tally.deviations.entry(name).or_default() += 1,
            None => self.difference("Roster answers otherwise", want, &got, tally),
        }
    }

    /// That the rewritten program does what the published one may do.
    fn with_plain(&self, want: &Value, program: &mut Oracle, tally: &mut Tally) {
        let wanted = canon(self.case, want);
        let mut others: Vec<Value> = Vec::new();
        let mut run = 0;
        while run < self.settings.runs {
            let many = vec![self.line; if run == 0 { 1 } else { (self.settings.runs - run).min(32) }];
            for answer in program.ask(&many) {
                let form = canon(self.case, &answer);
                if form == wanted {
                    *(if run == 0 { &mut tally.agreed } else { &mut tally.later }) += 1;
                    return;
                }
                run += 1;
                if !others.contains(&form) {
                    others.push(form);
                }
            }
        }
        if let [only] = others.as_slice() {
            self.difference("the published program always gives another answer", &wanted, only, tally);
        } else {
            tally.unseen += 1;
        }
    }

    fn difference(&self, what: &str, want: &Value, got: &Value, tally: &mut Tally) {
        let id = self.case["id"].as_str().unwrap_or_default();
        let controller = self.case["controller"].as_str().unwrap_or_default();
        let mut note = format!("{id} {} {controller}: {what}", self.version);
        if tally.shown < self.settings.show {
            tally.shown += 1;
            let cut = |v: &Value| v.to_string().chars().take(3000).collect::<String>();
            let form = |v: &Value| if v["actions"].is_array() { exact(self.case, v) } else { v.clone() };
            let _ = write!(note, "\n    want {}\n    got  {}", cut(&form(want)), cut(&form(got)));
        }
        if let Some(dir) = &self.settings.found {
            let mut answer = want.clone();
            answer.as_object_mut().unwrap().remove("id");
            answer["versions"] = json!([self.version]);
            answer["ordered"] = true.into();
            let row = json!({ "case": self.case, "answers": [answer], "roster": got });
            std::fs::create_dir_all(dir).unwrap();
            let path = dir.join(format!("{id}-{}.json", self.version));
            std::fs::write(&path, serde_json::to_string_pretty(&row).unwrap() + "\n").unwrap();
        }
        tally.differences.push(note);
    }
}
