//! The table of `roster review`.

use std::io::{self, Write};

use roster_engine::reason::Severity;
use roster_lint::{FindingCode, FindingEffect, Report};

use super::review_documents::ReviewSummary;
use crate::cli::{
    messages,
    output::Output,
    style::{BOLD, DIM, GREEN, RED, YELLOW},
    table::{Cell, Table},
};

/// Prints the answer for each object, the fixes, and a summary.
pub(super) fn print_reviews(input: &Report<'_>, wide: bool, out: &mut Output) -> io::Result<()> {
    let mut table = Table::new(["OBJECT", "ANSWER", "RULE", "MESSAGE"]);
    let mut full = Table::new(["PLACE", "OBJECT", "OPERATION", "ANSWER", "RULE", "POLICY", "FIELD", "MESSAGE"]);
    let mut codes = Vec::new();
    for (object, answer) in input.answers() {
        let operation = answer.operation.map(|o| format!("{o:?}").to_lowercase()).unwrap_or_default();
        let key = object.key.to_string();
        let mut findings = object.answer_findings().filter(|f| wide || f.severity > Severity::Info).peekable();
        if findings.peek().is_none() {
            let word = Cell::styled("allowed", GREEN);
            table.push([key.as_str().into(), word.clone(), "".into(), "".into()]);
            let place = format!("{}:{}", object.file, object.document.line).into();
            let [key, operation] = [key.as_str().into(), operation.as_str().into()];
            full.push([place, key, operation, word, "".into(), "".into(), "".into(), "".into()]);
        }
        for finding in findings {
            codes.push(finding.code);
            let (word, code) = (answer_cell(finding.effect), finding.code.as_str());
            table.push([key.as_str().into(), word.clone(), code.into(), finding.text().into()]);
            let (field, message) = (finding.field.as_str().into(), finding.message.as_str().into());
            let place = finding.place().into();
            let policy = finding.policy.as_deref().unwrap_or_default().into();
            let [key, operation] = [key.as_str().into(), operation.as_str().into()];
            full.push([place, key, operation, word, code.into(), policy, field, message]);
        }
    }
    let summary = ReviewSummary::of(input);
    if !table.is_empty() {
        if wide {
            full.print(out, 0)?;
        } else {
            table.print(out, 0)?;
        }
        writeln!(out)?;
    }
    print_fixes(codes, out)?;
    if summary.objects == 0 {
        messages::warning("no Service, Endpoints or EndpointSlice to review");
    }
    input.not_checked().iter().for_each(|warning| messages::warning(warning));
    if summary.objects > 0 {
        let style = if summary.is_well() { GREEN } else { BOLD };
        writeln!(out, "{style}{}{style:#}", summary.text())?;
    }
    Ok(())
}

/// Prints the fix for each code.
pub(super) fn print_fixes(mut codes: Vec<FindingCode>, out: &mut Output) -> io::Result<()> {
    codes.sort_unstable();
    codes.dedup();
    let mut table = Table::new(["CODE", "FIX"]);
    for code in codes.into_iter().filter(|c| !c.fix().is_empty()) {
        table.push([code.as_str().into(), code.fix().into()]);
    }
    if table.is_empty() {
        return Ok(());
    }
    writeln!(out, "{BOLD}What to do{BOLD:#}")?;
    table.print(out, 0)?;
    writeln!(out)
}

/// What is not decided is not allowed.
fn answer_cell(effect: FindingEffect) -> Cell {
    match effect {
        FindingEffect::Invalid | FindingEffect::Denied => Cell::styled(FindingEffect::Denied.word(), RED),
        FindingEffect::Changed | FindingEffect::Stale | FindingEffect::Unfit | FindingEffect::Warned => {
            Cell::styled(effect.word(), YELLOW)
        }
        FindingEffect::Audited => Cell::styled(effect.word(), DIM),
    }
}
