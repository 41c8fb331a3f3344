//! The result of a case.

use serde::Serialize;

use super::test_answer::Explained;

/// Whether a case holds, and what differs if it does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestResult {
    /// The name of the case.
    pub name: String,
    /// Whether everything is as expected.
    pub passed: bool,
    /// What differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Why the case cannot be checked: an object that it names does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A field of an expectation that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The field.
    pub field: &'static str,
    /// What the case expects.
    pub expected: Vec<String>,
    /// What is there.
    pub found: Vec<String>,
    /// What explains it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

/// The differences, or why the case cannot be checked.
pub(super) type Differences = Result<Vec<Difference>, String>;

impl TestResult {
    pub(super) fn new(name: &str, differences: Differences) -> Self {
        let (differences, error) = match differences {
            Ok(differences) => (differences, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let passed = differences.is_empty() && error.is_none();
        Self { name: name.to_owned(), passed, differences, error }
    }
}

impl Difference {
    /// The difference between two sorted lists of texts; `None` if they are equal.
    pub(super) fn of_lists(field: &'static str, expected: Vec<String>, found: &[String]) -> Option<Self> {
        if expected == found {
            return None;
        }
        if expected.len().max(found.len()) <= Self::LISTED {
            return Some(Self { field, expected, found: found.to_vec(), why: Vec::new() });
        }
        let (missing, added) = Self::apart(&expected, found);
        Some(Self { field, expected: Self::first(&missing), found: Self::first(&added), why: Vec::new() })
    }

    /// Up to this length, lists are shown as they are; of longer ones, what is in one of them only.
    const LISTED: usize = 1000;

    fn first(texts: &[&String]) -> Vec<String> {
        let more = texts.len().saturating_sub(Self::LISTED);
        let more = (more > 0).then(|| format!("and {more} more"));
        texts.iter().take(Self::LISTED).map(|text| (*text).clone()).chain(more).collect()
    }

    /// What is in the first of two sorted lists only, and what is in the second only.
    pub fn apart<'t>(expected: &'t [String], found: &'t [String]) -> (Vec<&'t String>, Vec<&'t String>) {
        let (mut missing, mut added) = (Vec::new(), Vec::new());
        let (mut expected, mut found) = (expected.iter().peekable(), found.iter().peekable());
        loop {
            match (expected.peek(), found.peek()) {
                (None, None) => return (missing, added),
                (Some(a), Some(b)) if a == b => {
                    expected.next();
                    found.next();
                }
                (Some(a), b) if b.is_none_or(|b| a < b) => missing.extend(expected.next()),
                _ => added.extend(found.next()),
            }
        }
    }

    /// The difference between two values; `None` if they are equal.
    pub(super) fn of_values<T: PartialEq + ToString>(field: &'static str, expected: &T, found: &T) -> Option<Self> {
        Self::of_lists(field, vec![expected.to_string()], &[found.to_string()])
    }

    /// The difference with its explanation.
    pub(super) fn because(self, why: &Explained) -> Self {
        Self { why: why.lines(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::{Difference, Explained};

    #[test]
    fn long_lists_are_shown_by_what_differs_in_them() {
        let texts = |from: usize, to: usize| (from..to).map(|n| format!("{n:05}")).collect::<Vec<_>>();
        for (expected, found, want) in [
            ((0, 3), (0, 3), None),
            ((0, 3), (1, 3), Some((3, 2, "00002"))),
            ((0, 1000), (1, 1000), Some((1000, 999, "00999"))),
            ((0, 1001), (1, 1001), Some((1, 0, "00000"))),
            ((0, 3000), (3000, 3001), Some((1001, 1, "and 2000 more"))),
        ] {
            let got = Difference::of_lists("changes", texts(expected.0, expected.1), &texts(found.0, found.1));
            let got = got.map(|d| (d.expected.len(), d.found.len(), d.expected.last().cloned().unwrap()));
            assert_eq!(got, want.map(|(e, f, last)| (e, f, last.to_owned())), "{expected:?} {found:?}");
        }
        let lists = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (expected, found, missing, added) in
            [("", "", "", ""), ("a b d", "b c", "a d", "c"), ("a a", "a", "a", ""), ("", "a b", "", "a b")]
        {
            let (expected, found) = (lists(expected), lists(found));
            let got = Difference::apart(&expected, &found);
            assert_eq!(got, (lists(missing).iter().collect(), lists(added).iter().collect()));
        }
    }

    #[test]
    fn an_explanation_has_ten_lines() {
        for (lines, shown, last) in [(0, 0, None), (10, 10, Some("9")), (12, 11, Some("and 2 more"))] {
            let explained: Explained = (0..lines).map(|n| n.to_string()).collect();
            let got = explained.lines();
            assert_eq!((got.len(), got.last().map(String::as_str)), (shown, last));
        }
    }
}
