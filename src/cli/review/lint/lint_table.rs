//! The table of `roster lint`.

use std::io::{self, Write};

use roster_engine::phrase::counted;
use roster_lint::{FileFinding, LintSummary, SkippedFile, SuppressedFinding};

use crate::cli::{
    output::Output,
    printable::printable,
    review::review_table::print_fixes,
    style::{BOLD, GREEN},
    table::{Cell, Table},
};

/// Prints the findings, what to do about them, and the counts. `hidden` findings are not among them.
pub(super) fn print<'a>(
    findings: impl Iterator<Item = &'a FileFinding<'a>>,
    summary: &LintSummary,
    hidden: usize,
    out: &mut Output,
) -> io::Result<()> {
    let mut table = Table::new(["PLACE", "SEVERITY", "OBJECT", "CODE", "MESSAGE"]);
    let mut codes = Vec::new();
    for finding in findings {
        codes.push(finding.code);
        let (object, code) = (finding.object_text(), finding.code.as_str());
        let severity = Cell::severity(finding.severity);
        table.push([finding.place().into(), severity, object.into(), code.into(), finding.text().into()]);
    }
    if !table.is_empty() {
        table.print(out, 0)?;
        writeln!(out)?;
    }
    print_fixes(codes, out)?;
    let style = if summary.errors > 0 { BOLD } else { GREEN };
    let hidden = match hidden {
        0 => String::new(),
        n => format!(" ({}: -o wide)", counted(n, "info")),
    };
    writeln!(out, "{style}{}{style:#}{hidden}", printable(&summary.text()))?;
    match summary.render_hint() {
        Some(hint) => writeln!(out, "{hint}"),
        None => Ok(()),
    }
}

/// Prints what was not reported and not checked, and why.
pub(super) fn print_omitted(
    suppressed: &[SuppressedFinding<'_>],
    skipped: &[SkippedFile],
    out: &mut Output,
) -> io::Result<()> {
    let mut table = Table::new(["PLACE", "OBJECT", "SUPPRESSED", "REASON"]);
    for SuppressedFinding { finding, suppression } in suppressed {
        let (object, code) = (finding.object.to_string(), finding.code.as_str());
        table.push([finding.place().into(), object.into(), code.into(), suppression.reason().into()]);
    }
    if !table.is_empty() {
        table.print(out, 0)?;
        writeln!(out)?;
    }
    let mut table = Table::new(["NOT CHECKED", "WHAT IT IS"]);
    for file in skipped {
        table.push([file.place().into(), file.why.word().into()]);
    }
    if !table.is_empty() {
        table.print(out, 0)?;
        writeln!(out)?;
    }
    Ok(())
}
