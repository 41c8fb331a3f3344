//! The tables of `roster review` and `roster validate`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use super::{
    super::{
        Output, output,
        table::{BOLD, Cell, DIM, GREEN, RED, Table, YELLOW},
    },
    Counts, Summary,
    judge::Judged,
    remark::{Code, Effect, Remark},
};
use crate::engine::reason::{Severity, counted};

/// What comes of each object, what to do, and a sentence.
pub(super) fn reviews(judged: &Judged<'_>, wide: bool, out: &mut Output) -> io::Result<()> {
    let mut table = Table::new(["OBJECT", "ANSWER", "RULE", "MESSAGE"]);
    let mut full = Table::new(["PLACE", "OBJECT", "OPERATION", "ANSWER", "RULE", "POLICY", "FIELD", "MESSAGE"]);
    let mut codes = BTreeSet::new();
    for (item, answer) in judged.items.iter().filter_map(|i| Some((i, i.answer.as_ref()?))) {
        let operation = answer.operation.map(|o| format!("{o:?}").to_lowercase()).unwrap_or_default();
        let told = item.remarks.iter().filter(|r| wide || r.severity > Severity::Info);
        let object = item.key.to_string();
        let mut silent = true;
        for remark in told {
            silent = false;
            codes.insert(remark.code);
            let (word, code) = (styled(remark.effect), remark.code.as_str());
            table.push([object.as_str().into(), word.clone(), code.into(), remark.said().into()]);
            let (field, message) = (remark.field.as_str().into(), remark.message.as_str().into());
            let place = remark.place().into();
            let policy = remark.policy.as_deref().unwrap_or_default().into();
            let (object, operation) = (object.as_str().into(), operation.as_str().into());
            full.push([place, object, operation, word, code.into(), policy, field, message]);
        }
        if silent {
            let word = Cell::styled("allowed", GREEN);
            table.push([object.as_str().into(), word.clone(), "".into(), "".into()]);
            let place = format!("{}:{}", item.file, item.document.line).into();
            full.push([place, object.into(), operation.into(), word, "".into(), "".into(), "".into(), "".into()]);
        }
    }
    let summary = Summary::of(judged);
    if !table.is_empty() {
        if wide {
            full.print(out, 0)?;
        } else {
            table.print(out, 0)?;
        }
        writeln!(out)?;
    }
    what_to_do(codes, out)?;
    summary.warn_of_nothing();
    warn_of_unchecked(judged);
    if summary.objects > 0 {
        let style = if summary.denied > 0 { BOLD } else { GREEN };
        writeln!(out, "{style}{}{style:#}", summary.in_words())?;
    }
    Ok(())
}

/// Says on standard error which rules could not be asked, and why: `allowed` means less without them.
fn warn_of_unchecked(judged: &Judged<'_>) {
    let mut unchecked: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (rule, why) in judged.items.iter().filter_map(|i| i.answer.as_ref()).flat_map(|a| &a.decision.unchecked) {
        unchecked.entry(why).or_default().insert(rule.code());
    }
    for (why, rules) in unchecked {
        let rules: Vec<&str> = rules.into_iter().collect();
        output::warning(&format!("not checked: {}: {why}", rules.join(", ")));
    }
}

/// What is wrong, what to do, and a sentence.
pub(super) fn remarks<'a>(
    all: impl Iterator<Item = &'a Remark<'a>>,
    counts: &Counts,
    out: &mut Output,
) -> io::Result<()> {
    let mut table = Table::new(["PLACE", "SEVERITY", "OBJECT", "CODE", "MESSAGE"]);
    let mut codes = BTreeSet::new();
    for remark in all {
        let severity = match remark.severity {
            Severity::Error => Cell::styled("error", RED),
            Severity::Warning => Cell::styled("warning", YELLOW),
            Severity::Info => Cell::styled("info", DIM),
        };
        codes.insert(remark.code);
        let (object, code) = (remark.object.to_string(), remark.code.as_str());
        table.push([remark.place().into(), severity, object.into(), code.into(), remark.said().into()]);
    }
    if !table.is_empty() {
        table.print(out, 0)?;
        writeln!(out)?;
    }
    what_to_do(codes, out)?;
    let Counts { documents, errors, warnings } = *counts;
    let style = if errors > 0 { BOLD } else { GREEN };
    let (documents, errors) = (counted(documents, "document"), counted(errors, "error"));
    writeln!(out, "{style}{documents}: {errors}, {}{style:#}", counted(warnings, "warning"))
}

/// The remedy of each code, once.
fn what_to_do(codes: BTreeSet<Code>, out: &mut Output) -> io::Result<()> {
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

fn styled(effect: Effect) -> Cell {
    let style = match effect {
        Effect::Invalid | Effect::Denied => RED,
        Effect::Mended | Effect::Warned => YELLOW,
        Effect::Noted => DIM,
    };
    Cell::styled(effect.word(), style)
}
