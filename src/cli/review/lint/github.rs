//! Annotations of GitHub Actions: the commands that a step prints, and GitHub shows beside the lines of a change.

use std::io::{self, Write};

use roster_engine::reason::Severity;
use roster_manifests::lint::SourcePlace;

use roster_lint::FileFinding;

use crate::cli::printable::printable;

/// Prints one command for each finding.
pub(super) fn print<'a>(findings: impl Iterator<Item = &'a FileFinding<'a>>, out: &mut impl Write) -> io::Result<()> {
    for finding in findings {
        let command = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let SourcePlace { file, line, .. } = finding.shown_place();
        let file = property(file.trim_start_matches("./"));
        let line = line.map(|line| format!(",line={line}")).unwrap_or_default();
        let message = data(&finding.described());
        let title = property(finding.code.as_str());
        writeln!(out, "::{command} file={file}{line},title={title}::{message}")?;
    }
    Ok(())
}

/// Text behind a command.
fn data(text: &str) -> String {
    printable(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a parameter.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_input_cannot_begin_a_command() {
        assert_eq!(data("100%\n::error::x"), "100%25\\n::error::x");
        assert_eq!(property("a,b:c%.yaml"), "a%2Cb%3Ac%25.yaml");
    }
}
