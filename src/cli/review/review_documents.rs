//! The JSON and YAML of `roster review`, and the counts in them.

use roster_admission::offline_review::OfflineReview;
use roster_engine::{model::ObjectKey, phrase::counted, reason::Severity};
use serde::Serialize;

use roster_lint::{FileFinding, FindingEffect, Report, ReviewedObject};

/// Reviews, as a document.
#[derive(Serialize)]
pub(super) struct ReviewDocument<'a> {
    items: Vec<ReviewItem<'a>>,
    summary: ReviewSummary,
}

/// The review of one object.
#[derive(Serialize)]
struct ReviewItem<'a> {
    file: &'a str,
    line: usize,
    #[serde(flatten)]
    key: &'a ObjectKey,
    #[serde(flatten)]
    answer: &'a OfflineReview,
    /// Why an API server would not store the object, or why it could not be reviewed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    invalid: Vec<&'a FileFinding<'a>>,
    /// What of the object does not hold any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stale: Vec<&'a FileFinding<'a>>,
}

impl<'a> ReviewDocument<'a> {
    pub(super) fn of(input: &'a Report<'a>) -> Self {
        let item = |object: &'a ReviewedObject<'a>| {
            let answer = object.answer.as_ref()?;
            Some(ReviewItem {
                file: object.file,
                line: object.document.line,
                key: &object.key,
                answer,
                invalid: object.invalid_findings().collect(),
                stale: object.stale_findings().collect(),
            })
        };
        Self { items: input.objects.iter().filter_map(item).collect(), summary: ReviewSummary::of(input) }
    }
}

/// How many objects were reviewed, and how many of them are denied, changed or have warnings.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct ReviewSummary {
    pub(super) objects: usize,
    denied: usize,
    changed: usize,
    warned: usize,
    /// The errors beside the answers: what does not fit together.
    #[serde(skip)]
    unfit: usize,
}

impl ReviewSummary {
    pub(super) fn of(input: &Report<'_>) -> Self {
        let of_input = input.objects.iter().flat_map(|object| &object.input_findings);
        let is_unfit = |f: &&FileFinding<'_>| f.effect == FindingEffect::Unfit && f.severity == Severity::Error;
        let mut summary = Self { unfit: of_input.filter(is_unfit).count(), ..Self::default() };
        for (object, answer) in input.answers() {
            summary.objects += 1;
            summary.denied += usize::from(!answer.allowed);
            summary.changed += usize::from(answer.object.is_some());
            summary.warned += usize::from(object.rule_findings.iter().any(|f| f.severity == Severity::Warning));
        }
        summary
    }

    /// Whether nothing is denied, and everything fits together.
    pub(super) fn is_well(self) -> bool {
        self.denied == 0 && self.unfit == 0
    }

    /// The summary as a sentence.
    pub(super) fn text(self) -> String {
        let Self { objects, denied, changed, warned, unfit } = self;
        let more = if unfit > 0 { format!("; {} beside the answers", counted(unfit, "error")) } else { String::new() };
        format!("{}: {denied} denied, {changed} changed, {warned} with warnings{more}", counted(objects, "object"))
    }
}
