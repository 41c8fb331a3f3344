//! What `docs/reference/rules.md` says of each example, and whether an API server says it.

use std::{collections::BTreeMap, fs, path::Path};

use roster_admission::{Mode, Remedy, Rule};
use serde_json::{Value, json};

use super::{Cell, Told};
use crate::api::plural;

/// How kubectl's line about an object ends that would be stored.
const STORED: &str = " created (server dry run)";

/// What is documented, by the code of the rule.
pub(super) struct Wanted(BTreeMap<String, Documented>);

#[derive(Default)]
struct Documented {
    /// Code, reason and message of the refusal.
    denied: Option<(u16, String, String)>,
    /// The changed fields.
    patch: Vec<Value>,
    /// Warnings where the rule is enforced, and where it warns.
    enforced: Vec<String>,
    warned: Vec<String>,
}

impl Wanted {
    /// Reads the answers of all examples.
    pub(super) fn read() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/rules.md");
        let text = fs::read_to_string(file).unwrap();
        let sections = text.split("\n### ").skip(1).map(|section| {
            let (code, rest) = section.split_once('\n').unwrap();
            let answers = rest.split_once("```text\n").unwrap().1.split_once("```").unwrap().0;
            (code.to_owned(), Documented::read(answers))
        });
        let all: BTreeMap<String, Documented> = sections.collect();
        assert!(Rule::ALL.iter().all(|r| all.contains_key(r.code())) && all.len() == Rule::COUNT);
        Self(all)
    }

    fn of(&self, cell: Cell) -> &Documented {
        &self.0[cell.rule.code()]
    }

    /// Whether it is what the API server told. `silent` is what it says by itself.
    pub(super) fn check(&self, cell: Cell, told: &Told, silent: &[String]) {
        let (name, documented) = (cell.name(), self.of(cell));
        if let Some(text) = cell.its_own() {
            assert_eq!((told.status, &told.body["reason"]), (422, &json!("Invalid")), "{name}: {told:?}");
            assert!(told.body["message"].as_str().unwrap().contains(text), "{name}: {told:?}");
            return;
        }
        let mut warnings = silent.to_vec();
        assert!(silent.iter().all(|w| Rule::ALL.iter().all(|r| !w.contains(&format!("({r})")))), "{name}: {silent:?}");
        if cell.is_refused() {
            let (code, reason, message) = documented.denied.as_ref().unwrap();
            let message = denied(cell, message);
            assert_eq!(told.status, *code, "{name}: {told:?}");
            assert_eq!(told.body["code"], *code, "{name}");
            assert_eq!(told.body["reason"], *reason, "{name}");
            assert_eq!(told.body["message"], message, "{name}");
            assert!(message.contains(&format!("({}, EndpointPolicy {name})", cell.rule)), "{name}: {message}");
        } else {
            assert_eq!(told.status, 201, "{name}: {told:?}");
            documented.check_patch(cell, &told.body);
        }
        warnings.extend(documented.warnings(cell.mode).iter().cloned());
        let mut heard = told.warnings.clone();
        // Those of mutation come first, those of the API server last.
        heard.sort_unstable();
        warnings.sort_unstable();
        assert_eq!(heard, warnings, "{name}");
    }

    /// Whether kubectl printed it, of the cells in their order: what is stored, the warnings, and last the refusals.
    pub(super) fn check_kubectl(&self, cells: &[Cell], well: bool, told: &str) {
        let of_rules = |line: &&str| Rule::ALL.iter().any(|r| line.ends_with(&format!("({r})")));
        let heard: Vec<&str> =
            told.lines().filter_map(|line| line.strip_prefix("Warning: ")).filter(of_rules).collect();
        let asked = cells.iter().filter(|c| c.its_own().is_none());
        let warnings: Vec<&String> = asked.flat_map(|c| self.of(*c).warnings(c.mode)).collect();
        assert_eq!(heard, warnings, "{told}");

        let (refused, stored): (Vec<Cell>, Vec<Cell>) = cells.iter().partition(|c| c.is_refused());
        let lines: Vec<&str> = told.lines().filter(|line| line.ends_with(STORED)).collect();
        assert_eq!(lines.len(), stored.len(), "{told}");
        for (cell, line) in stored.iter().zip(lines) {
            let name = cell.object()["metadata"]["name"].as_str().unwrap().to_owned();
            assert!(line.contains(&format!("/{name} ")), "{}: {line}", cell.name());
        }
        assert_eq!(well, refused.is_empty(), "{told}");
        let lines: Vec<&str> =
            told.lines().filter(|line| !line.starts_with("Warning: ") && !line.ends_with(STORED)).collect();
        assert_eq!(lines.len(), refused.len(), "{told}");
        for (cell, line) in refused.iter().zip(lines) {
            let (reason, text) = self.refusal(*cell);
            let error = format!("Error from server ({reason}): ");
            // What is invalid has other words where nothing else is refused.
            let alone = refused.len() == 1 && reason == "Invalid" && line.contains(" is invalid: ");
            assert!((line.starts_with(&error) || alone) && line.contains(&text), "{}: {line}", cell.name());
        }
    }

    /// The reason and the text of a refusal.
    fn refusal(&self, cell: Cell) -> (&str, String) {
        match (cell.its_own(), &self.of(cell).denied) {
            (Some(text), _) => ("Invalid", text.to_owned()),
            (None, denial) => {
                let (_, reason, message) = denial.as_ref().unwrap();
                (reason, denied(cell, message))
            }
        }
    }
}

/// A refusal, as the API server passes it on. Here a policy is behind the rule, and the first finding names it.
fn denied(cell: Cell, message: &str) -> String {
    let (rule, webhook) = (cell.rule, plural(&cell.object()));
    let message = message.replacen(&format!("({rule})"), &format!("({rule}, EndpointPolicy {})", cell.name()), 1);
    format!("admission webhook \"{webhook}.validate.roster.dev\" denied the request: {message}")
}

impl Documented {
    fn read(answers: &str) -> Self {
        let mut all = Self::default();
        for line in answers.lines() {
            if let Some(text) = line.strip_prefix("warn: Warning: ") {
                all.warned.push(text.to_owned());
            } else if let Some(text) = line.strip_prefix("enforce: Warning: ") {
                all.enforced.push(text.to_owned());
            } else if let Some(text) = line.strip_prefix("enforce: patch ") {
                // What is after it says what is not shown.
                all.patch = serde_json::Deserializer::from_str(text).into_iter().next().unwrap().unwrap();
            } else {
                let refusal = line.strip_prefix("enforce: ").unwrap_or_else(|| panic!("what is {line:?}?"));
                let (head, message) = refusal.split_once(": ").unwrap();
                let (code, reason) = head.split_once(' ').unwrap();
                all.denied = Some((code.parse().unwrap(), reason.to_owned(), message.to_owned()));
            }
        }
        all
    }

    fn warnings(&self, mode: Mode) -> &[String] {
        match mode {
            Mode::Enforce => &self.enforced,
            Mode::Warn => &self.warned,
            Mode::Audit | Mode::Off => &[],
        }
    }

    /// Whether a patch was applied where the rule is enforced, and only there.
    fn check_patch(&self, cell: Cell, stored: &Value) {
        let name = cell.name();
        for op in &self.patch {
            let found = stored.pointer(op["path"].as_str().unwrap());
            let applied = match op["op"].as_str().unwrap() {
                "remove" => found.is_none(),
                // It is made so that there is a place for the next one.
                _ if op["value"] == json!({}) => continue,
                _ => found == Some(&op["value"]),
            };
            assert_eq!(applied, cell.mode == Mode::Enforce, "{name}: {op} of {stored}");
        }
        if cell.rule == Rule::OverCapacity {
            let left = stored["subsets"][0]["addresses"].as_array().unwrap().len();
            assert_eq!(left, if cell.mode == Mode::Enforce { 1000 } else { 1200 }, "{name}");
        }
        assert_eq!(self.patch.is_empty(), cell.rule.remedy() == Remedy::Refuse, "{name}");
    }
}
