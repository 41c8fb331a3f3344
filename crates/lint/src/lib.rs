//! What is wrong with manifests, and where.
//!
//! ```text
//! Manifests ─┬─ each object: decoder, validation, rules of the webhook ─┬─► Report: objects, each with its findings
//!            └─ each unit, and all objects: what does not fit together ─┘
//! ```
//!
//! [`check`] is for manifests that somebody is about to write. [`review`] answers for objects as the webhook would.

mod cluster_findings;
mod file_finding;
mod finding_room;
mod input_file;
mod manifest_checks;
mod options;
mod repeated_claims;
mod report;
mod review;
mod reviewed_object;
mod stale_findings;

pub use file_finding::{FileFinding, FileObject, FindingCode, FindingEffect};
pub use input_file::{InputFile, Manifests, unit_files};
pub use options::LintOptions;
pub use report::{Note, Report};
pub use review::{is_policy, review};
pub use reviewed_object::ReviewedObject;
use roster_manifests::decode::DecodeError;

/// What is wrong with manifests.
///
/// # Errors
///
/// A limit of `options.source`, or its interrupt.
pub fn check<'a>(manifests: Manifests<'a>, options: &LintOptions<'_>) -> Result<Report<'a>, DecodeError> {
    let mut report = review::read(manifests, options, review::Purpose::Manifests)?;
    manifest_checks::add(&mut report);
    Ok(report)
}
