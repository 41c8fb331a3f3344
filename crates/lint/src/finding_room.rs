//! How many findings a run lists.

use roster_engine::reason::Severity;

use crate::file_finding::FileFinding;

/// Most findings of a run that are listed. Half a million objects could have a hundred million, which would take gigabytes.
pub(crate) const MAX_FINDINGS: usize = 100_000;

/// How many findings may still be listed. Each step of a review has a room of its own.
#[derive(Debug)]
pub(crate) struct FindingRoom {
    left: usize,
}

impl Default for FindingRoom {
    fn default() -> Self {
        Self { left: MAX_FINDINGS }
    }
}

impl FindingRoom {
    /// Keeps the findings of an object, beside `before` that it had. If there is no room for them, they are dropped, and the worst
    /// severity is returned.
    pub(crate) fn keep(&mut self, findings: &mut Vec<FileFinding<'_>>, before: usize) -> Option<Severity> {
        match (self.left + before).checked_sub(findings.len()) {
            Some(left) => {
                self.left = left;
                None
            }
            None => std::mem::take(findings).iter().map(|finding| finding.severity).max(),
        }
    }
}
