//! A code that opens its explanation.

use roster_engine::reason::{Reason, Severity};
use roster_lint::FindingCode;

use crate::html::Html;

/// The class and the word of a severity.
pub(crate) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Writes a code that opens its meaning and what to do.
pub(crate) fn code_note(html: &mut Html, code: FindingCode, severity: Severity) {
    html.element("details", &[("class", "code")], |html| {
        html.element("summary", &[], |html| {
            html.leaf("span", &[("class", severity_word(severity))], severity_word(severity));
            html.text(" ");
            html.leaf("code", &[], code.as_str());
        });
        html.element("div", &[("class", "meaning")], |html| {
            html.element("p", &[], |html| {
                html.leaf("strong", &[], "What it means. ");
                html.prose(code.meaning());
            });
            if !code.fix().is_empty() {
                html.element("p", &[], |html| {
                    html.leaf("strong", &[], "What to do. ");
                    html.prose(code.fix());
                });
            }
        });
    });
}

/// The same for a reason.
pub(crate) fn reason_note(html: &mut Html, reason: Reason, severity: Severity) {
    code_note(html, FindingCode::Reason(reason), severity);
}
