//! A rule of the linter: its code, what it means, an example, and its check, in one place.

use std::{cmp::Ordering, fmt};

use roster_engine::reason::Severity;

use crate::referring::ReferringObjects;

/// A rule about what objects refer to.
pub struct LintRule {
    /// The code, such as `backend-service-missing`.
    pub code: &'static str,
    /// How much its findings matter; some matter less.
    pub severity: Severity,
    /// What it finds.
    pub meaning: &'static str,
    /// What a user can do about it.
    pub fix: &'static str,
    /// Manifests in which it finds something.
    pub example: &'static str,
    /// Finds it in everything that was read.
    pub(crate) check: fn(&ReferringObjects<'_>, &mut Vec<RuleFault>),
}

/// What a rule found in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleFault {
    /// The number of its document.
    pub(crate) document: usize,
    /// JSON pointer to the field.
    pub(crate) pointer: String,
    /// How much it matters, if not as much as the rule says.
    pub(crate) severity: Option<Severity>,
    /// What is wrong, in a sentence.
    pub(crate) message: String,
}

impl LintRule {
    /// What it finds.
    pub(crate) fn faults(&self, objects: &ReferringObjects<'_>) -> Vec<RuleFault> {
        let mut faults = Vec::new();
        (self.check)(objects, &mut faults);
        faults
    }
}

/// A rule is known by its code.
impl PartialEq for LintRule {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl Eq for LintRule {}

impl PartialOrd for LintRule {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LintRule {
    fn cmp(&self, other: &Self) -> Ordering {
        self.code.cmp(other.code)
    }
}

impl fmt::Debug for LintRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code)
    }
}
