//! What is wrong with manifests, and where.
//!
//! ```text
//! Manifests ─┬─ each object: decoder, validation, rules of the webhook ─┬─► Report: objects, each with its findings
//!            └─ each unit, and all objects: what does not fit together ─┘
//! ```
//!
//! [`check`] is for manifests that somebody is about to write. [`review()`] answers for objects as the webhook would.

mod baseline;
mod cluster_findings;
mod file_fault;
mod file_finding;
mod finding_key;
mod finding_room;
mod input_file;
mod input_room;
mod lint_document;
mod lint_run;
mod manifest_checks;
mod manifest_texts;
mod options;
mod referring;
mod repeated_claims;
mod report;
mod review;
mod reviewed_object;
mod rule;
mod rules;
mod service_routes;
mod severities;
mod sorted_manifests;
mod stale_findings;
mod suppression;
mod suppressions;
mod unread_of_unit;
mod unreadable_file;
mod waiver;

pub use baseline::{Baseline, BaselineEntry};
pub use file_fault::LintFileFault;
pub use file_finding::{FileFinding, FileObject, FindingCode, FindingEffect, split_place};
pub use input_file::{InputFile, Manifests};
pub use lint_document::{LintDocument, LintSummary};
pub use lint_run::LintRun;
pub use manifest_texts::{FileOrigin, ManifestTexts};
pub use options::LintOptions;
pub use referring::{RequiredService, required_services};
pub use report::{Note, Report};
pub use review::{is_policy, review};
pub use reviewed_object::ReviewedObject;
use roster_manifests::decode::DecodeError;
pub use rule::LintRule;
pub use service_routes::RoutesByService;
pub use severities::{Severities, SeverityOfCode};
pub use sorted_manifests::SortedManifests;
pub use suppression::Suppression;
pub use suppressions::{SuppressedFinding, Suppressions, all_codes, baseline_of, is_code};
pub use unreadable_file::{SkippedFile, UnreadableFile, UnreadablePlace};
pub use waiver::Waivers;

/// What is wrong with manifests.
///
/// # Errors
///
/// A limit of `options.source`, or its interrupt.
pub fn check<'a>(sorted: SortedManifests<'a>, options: &LintOptions<'_>) -> Result<LintRun<'a>, DecodeError> {
    let SortedManifests { manifests, skipped, unreadable } = sorted;
    let mut report = review::read(manifests, options, review::Purpose::Manifests)?;
    manifest_checks::add(&mut report, &options.source)?;
    Ok(LintRun::new(report, unreadable, skipped))
}
