//! Errors and warnings on standard error.

use std::io::{self, Write};

use roster_engine::reason::{Reason, Severity};
use roster_manifests::inventory::Findings;

use super::{
    printable::printable_lines,
    style::{DIM, RED, YELLOW},
};
use crate::kube_api::failure_text;

/// Prints why the program gives up.
pub(super) fn error(error: &anyhow::Error) {
    print("error", RED, &error_text(error));
}

/// Prints what a user should know about the run.
pub(super) fn warning(text: &str) {
    print("warning", YELLOW, text);
}

/// Prints what the program did.
pub(super) fn note(text: &str) {
    print("note", DIM, text);
}

/// Prints what could not be read, for output that has no place for it.
pub(super) fn unread(findings: &Findings) {
    for finding in findings.iter().filter(|f| f.code == Reason::InvalidObject && f.severity == Severity::Error) {
        warning(&format!("{}: {}", finding.object, finding.message));
    }
}

/// The text of an error with its causes.
pub(super) fn error_text(error: &anyhow::Error) -> String {
    // Some errors repeat their cause: it is printed once.
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let failure = request_failure(cause);
        let is_request = failure.is_some();
        let reason = failure.unwrap_or_else(|| cause.to_string());
        if !reason.is_empty() && !text.ends_with(&reason) {
            text = format!("{text}: {reason}");
        }
        // Further causes repeat it.
        if is_request {
            break;
        }
    }
    text
}

/// Whether the only error is that the reader of standard output has closed the pipe.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
            || cause
                .downcast_ref::<serde_json::Error>()
                .is_some_and(|e| e.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}

/// The message of an API server that refused a request, or why there is none. The error itself would show every field of the
/// answer as well.
fn request_failure(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    let boxed = || cause.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
    match cause.downcast_ref::<kube::Error>().or_else(boxed)? {
        kube::Error::Api(status) if !status.message.is_empty() => Some(status.message.clone()),
        error => Some(failure_text(error)),
    }
}

fn print(kind: &str, style: anstyle::Style, text: &str) {
    // Line ends of the text stay: messages of the argument parser have several lines.
    let text = printable_lines(text.trim_end());
    // If standard error is closed, there is nowhere left to report to.
    let _ = writeln!(anstream::stderr(), "{style}{kind}:{style:#} {text}");
}
