//! A bounded list of findings.

use roster_engine::reason::{Finding, Severity};

/// A list of findings with a limit, against hostile input: those over the limit are only counted. Errors have a limit of
/// their own, so that no number of warnings hides one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    list: Vec<Finding>,
    /// How many of them are errors.
    errors: usize,
    more: u64,
}

/// How many findings may still be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingsRoom {
    errors: usize,
    others: usize,
}

impl FindingsRoom {
    /// That of an empty list.
    pub const EMPTY: Self = Self { errors: Findings::LIMIT, others: Findings::LIMIT };

    /// Takes the room for a finding. Returns whether there was any.
    fn take(&mut self, severity: Severity) -> bool {
        let left = if severity == Severity::Error { &mut self.errors } else { &mut self.others };
        let is_left = *left > 0;
        *left -= usize::from(is_left);
        is_left
    }
}

impl Findings {
    /// Most errors that are recorded, and most other findings.
    pub const LIMIT: usize = 1000;

    /// Adds a finding, or counts it.
    pub fn push(&mut self, problem: Finding) {
        self.add(problem.severity, || problem);
    }

    /// Adds a finding of this severity, or counts it without making it: a fault of millions of objects must not cost more
    /// than finding it.
    pub fn add(&mut self, severity: Severity, problem: impl FnOnce() -> Finding) {
        if self.room().take(severity) {
            self.errors += usize::from(severity == Severity::Error);
            self.list.push(problem());
        } else {
            self.more += 1;
        }
    }

    fn room(&self) -> FindingsRoom {
        let others = self.list.len() - self.errors;
        FindingsRoom { errors: Self::LIMIT.saturating_sub(self.errors), others: Self::LIMIT.saturating_sub(others) }
    }

    /// Records only those for which there is `room`, and counts the others.
    pub fn keep_first(&mut self, room: &mut FindingsRoom) {
        let before = self.list.len();
        self.retain(|finding| room.take(finding.severity));
        self.more += (before - self.list.len()) as u64;
    }

    /// Removes the recorded findings for which `keep` returns `false`.
    pub fn retain(&mut self, keep: impl FnMut(&Finding) -> bool) {
        self.list.retain(keep);
        self.errors = self.list.iter().filter(|f| f.severity == Severity::Error).count();
    }

    /// Makes errors of the recorded findings for which `is_error` returns `true`.
    pub fn set_errors(&mut self, is_error: impl Fn(&Finding) -> bool) {
        self.list.iter_mut().filter(|f| is_error(f)).for_each(|f| f.severity = Severity::Error);
        self.errors = self.list.iter().filter(|f| f.severity == Severity::Error).count();
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

#[cfg(test)]
mod tests {
    use roster_engine::{model::ObjectKey, reason::Reason};

    use super::*;

    fn finding(code: Reason) -> Finding {
        Finding::new(code, ObjectKey::default(), String::new())
    }

    /// Errors, other findings, and those that were only counted.
    fn counts(findings: &Findings) -> (usize, usize, u64) {
        let errors = findings.iter().filter(|f| f.severity == Severity::Error).count();
        (errors, findings.as_slice().len() - errors, findings.more())
    }

    #[test]
    fn warnings_do_not_hide_errors() {
        let mut findings = Findings::default();
        for _ in 0..Findings::LIMIT + 5 {
            findings.push(finding(Reason::DuplicateKey));
        }
        findings.push(finding(Reason::InvalidObject));
        assert_eq!(counts(&findings), (1, 1000, 5));
        let mut all = Findings::default();
        all.merge(findings.clone());
        all.merge(findings.clone());
        assert_eq!(counts(&all), (2, 1000, 1010));
        // What threads read is joined: each records what may be among the first.
        let mut room = FindingsRoom::EMPTY;
        findings.keep_first(&mut room);
        assert_eq!(counts(&findings), (1, 1000, 5));
        findings.keep_first(&mut room);
        assert_eq!(counts(&findings), (1, 0, 1005));
        findings.push(finding(Reason::DuplicateKey));
        assert_eq!(counts(&findings), (1, 1, 1005));
    }
}
