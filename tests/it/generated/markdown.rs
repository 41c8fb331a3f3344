//! The documents that are made from the code: `docs/reasons.md`, and the table in `docs/versions.md`.

use std::fmt::Write;

use serde_json::Value;

use roster::engine::{
    compat::{MEANINGS, Minor},
    reason::{Reason, Severity},
};

/// Which reason begins a section of `docs/reasons.md`.
const SECTIONS: &[(Reason, &str)] = &[
    (Reason::Ready, "A pod and a port are published"),
    (Reason::PodEnded, "A pod or a port is left out"),
    (Reason::HintGiven, "Hints"),
    (Reason::ServiceMissing, "A Service and its selector"),
    (Reason::PlanTooLarge, "Limits"),
    (Reason::ForeignSlice, "Stored slices"),
    (Reason::Mirrored, "Mirroring"),
    (Reason::ServiceCarriesManagedByLabel, "Unexpected behaviour of releases"),
    (Reason::InvalidObject, "Input"),
];

/// The text of `docs/reasons.md`.
pub(crate) fn reasons() -> String {
    let mut out = String::from(
        "# Reasons\n\n\
         <!-- Made by `cargo xtask docs` from src/engine/reason.rs: do not edit. -->\n\n\
         Everything that Roster reports has a code, and codes never change. `roster explain` gives at least one for \
         every pod and Service port; the `problems` of a plan report what a user should know. The detail next to a \
         code says what the reason means in your case.\n\n\
         Severities: `info` is for information, `warning` is probably not what the author intended, `error` does not \
         work.\n",
    );
    for &reason in Reason::ALL {
        if let Some((_, title)) = SECTIONS.iter().find(|(first, _)| *first == reason) {
            let _ = write!(out, "\n## {title}\n\n| code | severity | meaning | what to do |\n|---|---|---|---|\n");
        }
        let severity = match reason.severity() {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let fix = if reason.fix().is_empty() { "–" } else { reason.fix() };
        let _ = writeln!(out, "| `{reason}` | {severity} | {} | {} |", cell(reason.meaning()), cell(fix));
    }
    out
}

/// Text in a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

const BEGIN: &str = "<!-- profiles: made by `cargo xtask docs` from src/engine/compat.rs -->\n";
const END: &str = "<!-- profiles end -->\n";

/// The text of `docs/versions.md`: `current`, with its tables of profiles made anew.
pub(crate) fn versions(current: &str) -> String {
    let (before, rest) = current.split_once(BEGIN).unwrap_or((current, ""));
    let after = rest.split_once(END).map_or(rest, |(_, after)| after);
    format!("{before}{BEGIN}{}{END}{after}", profiles_markdown())
}

/// Every switch, and in which releases it has which value.
fn profiles_markdown() -> String {
    let profiles: Vec<(Minor, Value)> =
        Minor::all().map(|m| (m, serde_json::to_value(m.profile()).unwrap_or_default())).collect();
    let mut out = String::from("| switch | what it means | releases |\n|---|---|---|\n");
    for (switch, meaning) in MEANINGS {
        let runs: Vec<String> = profiles
            .chunk_by(|(_, a), (_, b)| a.get(switch) == b.get(switch))
            .map(|run| format!("{} {}", releases(run), said(run[0].1.get(switch))))
            .collect();
        let _ = writeln!(out, "| `{switch}` | {} | {} |", cell(meaning), runs.join("; "));
    }
    out
}

fn releases(run: &[(Minor, Value)]) -> String {
    match run {
        [(only, _)] => format!("{only}:"),
        [(first, _), .., (last, _)] => format!("{first} to {last}:"),
        [] => String::new(),
    }
}

/// A value of a switch as a person would say it.
fn said(value: Option<&Value>) -> String {
    match value {
        Some(Value::Bool(true)) => "**yes**".to_owned(),
        Some(Value::Bool(false)) | None => "no".to_owned(),
        Some(Value::String(text)) => format!("`{text}`"),
        Some(other) => other.to_string(),
    }
}

#[test]
fn every_section_begins_with_a_reason_in_order() {
    let at = |reason: &Reason| Reason::ALL.iter().position(|r| r == reason);
    assert!(SECTIONS.is_sorted_by_key(|(first, _)| at(first)));
    assert_eq!(at(&SECTIONS[0].0), Some(0));
}

/// The reasons for unexpected behaviour are between two sections.
#[test]
fn versions_md_lists_unexpected_behaviour() {
    let current = include_str!("../../../docs/versions.md");
    let place = |reason| Reason::ALL.iter().position(|r| *r == reason).unwrap();
    let unexpected = place(Reason::ServiceCarriesManagedByLabel)..place(Reason::InvalidObject);
    for reason in &Reason::ALL[unexpected] {
        assert!(current.contains(&format!("| `{reason}` |")), "{reason} is missing");
    }
}

#[test]
fn every_switch_is_in_the_table() {
    let Value::Object(profile) = serde_json::to_value(Minor::NEWEST.profile()).unwrap() else { unreachable!() };
    let mut switches: Vec<&str> = profile.keys().map(String::as_str).collect();
    let mut told: Vec<&str> = MEANINGS.iter().map(|(switch, _)| *switch).collect();
    switches.sort_unstable();
    told.sort_unstable();
    assert_eq!(switches, told);
}
