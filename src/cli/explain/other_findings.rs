//! How many findings of an input are about other objects than its Services.

use roster_engine::{phrase::counted, reason::Severity};
use roster_manifests::inventory::Findings;

/// `; 1 warning about other objects`: what the totals of Services do not count.
pub(super) fn and_others(findings: &Findings) -> String {
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let counts = [(count(Severity::Error), "error"), (count(Severity::Warning), "warning")];
    let counts: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(*n, what)).collect();
    if counts.is_empty() { String::new() } else { format!("; {} about other objects", counts.join(", ")) }
}
