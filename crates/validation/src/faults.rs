//! The findings about one object, while they are collected.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Display,
};

use roster_engine::{
    model::{HashSeed, ObjectKey, json::message::shortened},
    phrase::counted,
    reason::{Finding, Reason, Severity},
};

/// Most fields over the limit that are counted, of one severity and code: beyond that, a fault costs no more than to find it.
const MAX_COUNTED: usize = 100;

/// The findings about one object, one for each field. Of errors and of others, those over a limit are only counted: a text
/// of megabytes can have a fault in every byte, and many warnings must not hide an error.
pub(super) struct Faults<'k> {
    key: &'k ObjectKey,
    most: usize,
    errors: Vec<Finding>,
    others: Vec<Finding>,
    /// The severities of those, by pointer: a text of megabytes has more faults than can be compared with each of them.
    listed: HashMap<String, Severity, HashSeed>,
    /// The fields of findings over the limit.
    omitted: BTreeMap<(Severity, Reason), BTreeSet<String>>,
}

impl<'k> Faults<'k> {
    pub(super) fn new(key: &'k ObjectKey, most: usize) -> Self {
        Self { key, most, errors: Vec::new(), others: Vec::new(), listed: HashMap::default(), omitted: BTreeMap::new() }
    }

    /// Adds a finding about the field at the pointer `at`: an API server refuses the object.
    pub(super) fn add(&mut self, code: Reason, at: impl Display, message: impl Into<String>) {
        self.push(code, Severity::Error, at, || message.into());
    }

    /// The same with a message that takes time to find.
    pub(super) fn add_with(&mut self, code: Reason, at: impl Display, message: impl FnOnce() -> String) {
        self.push(code, Severity::Error, at, message);
    }

    /// Adds a finding that depends on the settings of the cluster.
    pub(super) fn warn(&mut self, code: Reason, at: impl Display, message: impl Into<String>) {
        self.push(code, Severity::Warning, at, || message.into());
    }

    /// Adds a finding about what is right for another program.
    pub(super) fn note(&mut self, code: Reason, at: impl Display, message: impl Into<String>) {
        self.push(code, Severity::Info, at, || message.into());
    }

    fn push(&mut self, code: Reason, severity: Severity, at: impl Display, message: impl FnOnce() -> String) {
        let list = if severity == Severity::Error { &mut self.errors } else { &mut self.others };
        let is_full = list.len() >= self.most;
        if is_full && self.omitted.get(&(severity, code)).is_some_and(|fields| fields.len() > MAX_COUNTED) {
            return;
        }
        let at = at.to_string();
        // One finding for one field.
        if self.listed.get(&at).is_some_and(|listed| *listed >= severity) {
            return;
        }
        if !is_full {
            self.listed.insert(at.clone(), severity);
            let pointer = Some(at).filter(|p| !p.is_empty());
            list.push(Finding { severity, pointer, ..Finding::new(code, self.key.clone(), message()) });
            return;
        }
        self.omitted.entry((severity, code)).or_default().insert(at);
    }

    /// The findings, errors first; and for each code with more of them, their number.
    pub(super) fn into_findings(self) -> (Vec<Finding>, Vec<Finding>) {
        let Self { key, errors, others, omitted, .. } = self;
        let more = omitted.into_iter().rev().map(|((severity, code), fields)| {
            let more = match fields.len() {
                count if count > MAX_COUNTED => format!("more than {MAX_COUNTED} more fields"),
                count => counted(count, "more field"),
            };
            Finding { severity, ..Finding::new(code, key.clone(), format!("and {more} of the object")) }
        });
        (errors.into_iter().chain(others).collect(), more.collect())
    }
}

/// A text of the input, in quotes, for a message.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_do_not_hide_errors_and_what_is_left_out_is_counted() {
        let key = ObjectKey::new("Service", &"shop".into(), &"web".into());
        let mut faults = Faults::new(&key, 2);
        for field in ["/a", "/b", "/c", "/d"] {
            faults.warn(Reason::InvalidValue, field, "");
        }
        for (code, field) in [
            (Reason::UnknownField, "/d"),
            // Another fault of the same field is not another finding.
            (Reason::WrongType, "/d"),
            (Reason::InvalidPort, "/e"),
            (Reason::InvalidPort, "/f"),
            (Reason::InvalidPort, "/f"),
            (Reason::InvalidPort, "/g"),
            (Reason::MissingField, "/h"),
        ] {
            faults.add(code, field, "");
        }
        let (findings, more) = faults.into_findings();
        let line = |f: &Finding| {
            format!("{:?} {} {}{}", f.severity, f.code, f.pointer.as_deref().unwrap_or_default(), f.message)
        };
        let want =
            ["Error unknown-field /d", "Error invalid-port /e", "Warning invalid-value /a", "Warning invalid-value /b"];
        assert_eq!(findings.iter().map(line).collect::<Vec<_>>(), want);
        let want = [
            "Error missing-field and 1 more field of the object",
            "Error invalid-port and 2 more fields of the object",
            "Warning invalid-value and 2 more fields of the object",
        ];
        assert_eq!(more.iter().map(line).collect::<Vec<_>>(), want);
    }

    #[test]
    fn counting_ends() {
        let key = ObjectKey::default();
        let mut faults = Faults::new(&key, 0);
        for i in 0..2 * MAX_COUNTED {
            faults.add(Reason::WrongType, i, "");
        }
        let (_, more) = faults.into_findings();
        assert_eq!(more[0].message, "and more than 100 more fields of the object");
    }
}
