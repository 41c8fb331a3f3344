//! A bounded list of findings.

use crate::engine::reason::Finding;

/// A list of findings with a limit, against hostile input: those over the limit are only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    list: Vec<Finding>,
    more: u64,
}

impl Findings {
    /// Most findings that are recorded.
    pub const LIMIT: usize = 1000;

    /// Adds a finding, or counts it.
    pub fn push(&mut self, problem: Finding) {
        self.add(|| problem);
    }

    /// Adds a finding, or counts it without making it: a fault of millions of objects must not cost more than finding it.
    pub fn add(&mut self, problem: impl FnOnce() -> Finding) {
        if self.list.len() < Self::LIMIT {
            self.list.push(problem());
        } else {
            self.more += 1;
        }
    }

    /// Records only this many, and counts the others. Returns how many it records.
    pub fn keep_first(&mut self, count: usize) -> usize {
        self.more += self.list.len().saturating_sub(count) as u64;
        self.list.truncate(count);
        self.list.len()
    }

    /// Removes the recorded findings for which `keep` returns `false`.
    pub fn retain(&mut self, keep: impl FnMut(&Finding) -> bool) {
        self.list.retain(keep);
    }

    /// Appends `other`.
    pub fn merge(&mut self, other: Self) {
        self.more += other.more;
        for problem in other.list {
            self.push(problem);
        }
    }

    /// The recorded findings.
    pub fn as_slice(&self) -> &[Finding] {
        &self.list
    }

    /// Those that are kept, one by one.
    pub fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.list.iter()
    }

    /// The recorded findings, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Finding> {
        self.list.iter_mut()
    }

    /// The number of findings that were only counted.
    pub fn more(&self) -> u64 {
        self.more
    }

    /// Whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl<'a> IntoIterator for &'a mut Findings {
    type Item = &'a mut Finding;
    type IntoIter = std::slice::IterMut<'a, Finding>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<'a> IntoIterator for &'a Findings {
    type Item = &'a Finding;
    type IntoIter = std::slice::Iter<'a, Finding>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Extend<Finding> for Findings {
    fn extend<I: IntoIterator<Item = Finding>>(&mut self, problems: I) {
        problems.into_iter().for_each(|p| self.push(p));
    }
}
