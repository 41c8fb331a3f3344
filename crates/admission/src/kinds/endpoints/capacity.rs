//! Endpoints with more than 1000 addresses.

use roster_engine::{
    endpoints::truncate::{self, TRUNCATED},
    model::{installed::POLICY_KIND, json::pointer::pointer, names},
};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::checked_endpoints::{CheckedEndpoints, LISTS};
use crate::patch::{PatchOp, set};
use crate::{
    Capacity, Rule,
    fault::Fault,
    findings::{Correction, RuleFindings},
    kinds::object_check::Subject,
};

/// Most addresses that are removed one by one. An API server copies the rest of the list each time: a larger patch
/// writes the remaining addresses instead.
const MAX_REMOVED: usize = 1000;
/// The value that 1.21 wrote, which did not truncate.
const WARNING: &str = "warning";

pub(super) fn check<A>(subject: &Subject<'_, CheckedEndpoints<A>>, findings: &mut RuleFindings<'_>) {
    let counts = subject.object.counts();
    if let Some(kept) = truncate::kept(&counts) {
        let total: usize = counts.iter().flatten().sum();
        let field = format_args!("subsets");
        if findings.settings().capacity == Capacity::Deny {
            let by = findings.settings().capacity_policy.as_ref();
            let by = by.map(|policy| format!(" by {POLICY_KIND} {policy}")).unwrap_or_default();
            let message = format_args!("{total} addresses; at most {} are allowed{by}", truncate::CAPACITY);
            findings.add(Rule::OverCapacity, Fault::Count(total), field, message);
        } else {
            let message = format_args!("{total} addresses; at most {} fit", truncate::CAPACITY);
            let dropped = total - truncate::CAPACITY;
            let change = format_args!("truncated, {dropped} dropped");
            let patch = || cut(subject.raw, &counts, &kept);
            findings.correct(Rule::OverCapacity, Correction { field, message, change, patch });
            if findings.changes(Rule::OverCapacity) {
                // The patch sets the annotation, whatever its value is.
                return;
            }
        }
    }
    if subject.object.metadata.annotations.get(names::OVER_CAPACITY).is_some_and(|v| v == WARNING) {
        let correction = Correction {
            field: format_args!("metadata.annotations[{}]", names::OVER_CAPACITY),
            message: format_args!("{WARNING:?} is a leftover of 1.21"),
            change: format_args!("removed"),
            patch: || vec![PatchOp::remove(pointer(&["metadata", "annotations", names::OVER_CAPACITY]))],
        };
        findings.correct(Rule::OverCapacityWarning, correction);
    }
}

/// Truncates each list, and sets the annotation.
fn cut(object: &RawValue, counts: &[[usize; 2]], kept: &[[usize; 2]]) -> Vec<PatchOp> {
    let mut patch = removals(counts, kept, MAX_REMOVED)
        .or_else(|| Some(vec![PatchOp::replace("/subsets", kept_subsets(object, kept)?)]))
        // Removals keep the text of values that cannot be parsed, such as a number out of range.
        .or_else(|| removals(counts, kept, usize::MAX))
        .unwrap_or_default();
    patch.extend(set(object, &["metadata", "annotations", names::OVER_CAPACITY], TRUNCATED));
    patch
}

/// Removes addresses one by one, from the end, so that the indexes stay valid. `None` if there are more than `most`.
fn removals(counts: &[[usize; 2]], kept: &[[usize; 2]], most: usize) -> Option<Vec<PatchOp>> {
    let mut patch = Vec::new();
    for (i, (count, kept)) in counts.iter().zip(kept).enumerate().rev() {
        if patch.len() > most {
            return None;
        }
        if kept.iter().all(|n| *n == 0) {
            patch.push(PatchOp::remove(format!("/subsets/{i}")));
            continue;
        }
        for ((list, count), kept) in LISTS.iter().zip(count).zip(kept) {
            let at = format!("/subsets/{i}/{list}");
            match count - kept {
                0 => {}
                _ if *kept == 0 => patch.push(PatchOp::remove(at)),
                _ => patch.extend((*kept..*count).rev().map(|n| PatchOp::remove(format!("{at}/{n}")))),
            }
        }
    }
    (patch.len() <= most).then_some(patch)
}

/// The truncated subsets, with all fields of the remaining addresses.
fn kept_subsets(object: &RawValue, kept: &[[usize; 2]]) -> Option<Vec<Value>> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow)]
        subsets: Vec<&'a RawValue>,
    }
    let subsets = serde_json::from_str::<Object<'_>>(object.get()).ok()?.subsets;
    let left = subsets.into_iter().zip(kept).filter(|(_, kept)| kept.iter().any(|n| *n > 0));
    left.map(|(subset, kept)| {
        let mut subset: Map<String, Value> = serde_json::from_str(subset.get()).ok()?;
        for (list, kept) in LISTS.iter().zip(kept) {
            match subset.get_mut(*list) {
                Some(Value::Array(all)) if *kept > 0 => all.truncate(*kept),
                _ => drop(subset.remove(*list)),
            }
        }
        Some(subset.into())
    })
    .collect()
}
