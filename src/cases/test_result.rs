//! The result of a case.

use serde::Serialize;

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
    pub(super) fn of_lists(field: &'static str, expected: Vec<String>, found: Vec<String>) -> Option<Self> {
        (expected != found).then(|| Self { field, expected, found, why: Vec::new() })
    }

    /// The difference between two values; `None` if they are equal.
    pub(super) fn of_values<T: PartialEq + ToString>(field: &'static str, expected: &T, found: &T) -> Option<Self> {
        Self::of_lists(field, vec![expected.to_string()], vec![found.to_string()])
    }

    /// The difference with its explanation.
    pub(super) fn because(self, why: Vec<String>) -> Self {
        Self { why, ..self }
    }
}
