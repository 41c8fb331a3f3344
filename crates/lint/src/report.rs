//! What was found in all objects.

use roster_admission::offline_review::OfflineReview;
use roster_engine::{phrase::counted, reason::Severity};

use crate::{
    file_finding::{FileFinding, FileObject},
    reviewed_object::ReviewedObject,
};

/// All objects of the input, with the answers and findings for each.
#[derive(Default)]
pub struct Report<'a> {
    /// The objects, in the order of their files.
    pub objects: Vec<ReviewedObject<'a>>,
    /// What is wrong with what is in force: policies, and stored objects.
    pub notes: Vec<Note>,
    /// Whether all of the input was read.
    pub complete: bool,
    /// Most findings that each step lists.
    pub(crate) max_findings: usize,
}

/// A message about the run, not about a reviewed object.
#[derive(Clone, Debug)]
pub struct Note {
    /// How much it matters.
    pub severity: Severity,
    /// The text, which may have any characters of the input.
    pub text: String,
}

impl Note {
    pub(crate) fn warning(text: String) -> Self {
        Self { severity: Severity::Warning, text }
    }
}

impl<'a> Report<'a> {
    /// The finding that some are not listed, at the first object that has some.
    pub fn unlisted(&self) -> Option<FileFinding<'a>> {
        let mut unlisted = self.objects.iter().filter_map(|object| Some((object, object.unlisted?)));
        let (first, mut severity) = unlisted.next()?;
        let mut others = 0;
        for (_, other) in unlisted {
            others += 1;
            severity = severity.max(other);
        }
        let of = if others == 0 { String::new() } else { format!(" and {}", counted(others, "more object")) };
        let message = format!("the findings of this{of} are not listed: a run lists {}", self.max_findings);
        let at = FileObject::of(first.file, &first.document, &first.key);
        Some(FileFinding { severity, ..FileFinding::not_checked(at, message) })
    }

    /// The findings behind the answers for all objects.
    pub fn answer_findings(&self) -> impl Iterator<Item = &FileFinding<'a>> {
        self.objects.iter().flat_map(ReviewedObject::answer_findings)
    }

    /// The rules that could not be checked, and why: `allowed` means less without them.
    pub fn not_checked(&self) -> Vec<String> {
        let mut skipped: Vec<(&str, &str)> = Vec::new();
        for (object, answer) in self.answers() {
            skipped.extend(object.unchecked_rules(answer).map(|(rule, why)| (why, rule.code())));
        }
        skipped.sort_unstable();
        skipped.dedup();
        let alike = skipped.chunk_by(|a, b| a.0 == b.0);
        let line = |alike: &[(&str, &str)]| {
            let why = alike.first().map_or("", |(why, _)| why);
            let rules: Vec<&str> = alike.iter().map(|(_, rule)| *rule).collect();
            format!("not checked: {}: {why}", rules.join(", "))
        };
        alike.map(line).collect()
    }

    /// The objects that have an answer, with it.
    pub fn answers(&self) -> impl Iterator<Item = (&ReviewedObject<'a>, &OfflineReview)> {
        self.objects.iter().filter_map(|o| Some((o, o.answer.as_ref()?)))
    }
}
