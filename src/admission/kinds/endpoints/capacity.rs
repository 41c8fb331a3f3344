//! More than 1000 addresses.

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{LISTS, Listed};
use crate::{
    admission::{
        Capacity, PatchOp, Rule,
        findings::{About, Findings},
        kinds::Subject,
        patch::{pointer, set},
        policy::version::KIND,
    },
    engine::endpoints::{TRUNCATED, truncate},
    model::names,
};

/// So much is removed one by one. An API server copies the rest of the list each time: where there is more to remove,
/// what stays is written instead.
const MAX_REMOVED: usize = 1000;
/// What 1.21 wrote, which did not cut.
const WARNING: &str = "warning";

pub(super) fn check(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    let counts = subject.object.counts();
    if let Some(kept) = truncate::kept(&counts) {
        let total: usize = counts.iter().flatten().sum();
        let field = format_args!("subsets");
        if findings.settings().capacity == Capacity::Deny {
            let by = findings.settings().capacity_policy.as_ref();
            let by = by.map(|policy| format!(" by {KIND} {policy}")).unwrap_or_default();
            let message = format_args!("{total} addresses; at most {} are allowed{by}", truncate::CAPACITY);
            findings.add(Rule::OverCapacity, About::Count(total), field, message);
        } else {
            let message = format_args!("{total} addresses; at most {} fit", truncate::CAPACITY);
            findings.add_mended(Rule::OverCapacity, field, message, || cut(subject.raw, &counts, &kept));
            if findings.mends(Rule::OverCapacity) {
                // Which sets the annotation, whatever is in it.
                return;
            }
        }
    }
    if subject.object.metadata.annotations.get(names::OVER_CAPACITY).is_some_and(|v| v == WARNING) {
        findings.add_mended(
            Rule::OverCapacityWarning,
            format_args!("metadata.annotations[{}]", names::OVER_CAPACITY),
            format_args!("{WARNING:?} is left over from 1.21"),
            || vec![PatchOp::remove(pointer(&["metadata", "annotations", names::OVER_CAPACITY]))],
        );
    }
}

/// Cuts each list to what it keeps, and says so in the annotation.
fn cut(object: &RawValue, counts: &[[usize; 2]], kept: &[[usize; 2]]) -> Vec<PatchOp> {
    let mut patch = removals(counts, kept, MAX_REMOVED)
        .or_else(|| Some(vec![PatchOp::replace("/subsets", kept_subsets(object, kept)?)]))
        // What cannot be written anew, such as a number that no machine holds, stays as it is.
        .or_else(|| removals(counts, kept, usize::MAX))
        .unwrap_or_default();
    patch.extend(set(object, &["metadata", "annotations", names::OVER_CAPACITY], TRUNCATED));
    patch
}

/// Removes what is not kept, one by one: from the end, so that indexes stay right. `None` if that is more than `most`.
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

/// The subsets with what they keep, and with all that is in it.
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
