//! How many findings a run lists.

use roster_engine::reason::Severity;

use crate::file_finding::FileFinding;

/// How many findings may still be listed. Each step of a review has a room of its own.
#[derive(Debug, Default)]
pub(crate) struct FindingRoom {
    left: usize,
}

impl FindingRoom {
    /// Room for so many findings.
    pub(crate) fn new(left: usize) -> Self {
        Self { left }
    }

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
