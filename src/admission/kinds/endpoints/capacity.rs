//! More than 1000 addresses.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{LISTS, Listed};
use crate::{
    admission::{
        Capacity, PatchOp, Rule,
        findings::{About, Findings},
        kinds::Subject,
        patch::{pointer, set},
    },
    endpoints::{TRUNCATED, truncate},
    model::names,
};

/// Most addresses of one list that are removed one by one. An API server copies the rest of the list for each of
/// them: where there are more, what stays is written instead.
const MAX_REMOVED: usize = 1000;
/// What 1.21 wrote, which did not cut.
const WARNING: &str = "warning";

pub(super) fn check(subject: &Subject<'_, Listed>, findings: &mut Findings<'_>) {
    let counts = subject.object.counts();
    if let Some(kept) = truncate::kept(&counts) {
        let total: usize = counts.iter().flatten().sum();
        let field = format_args!("subsets");
        if findings.settings().capacity == Capacity::Deny {
            let message = format_args!("{total} addresses; at most {} are allowed", truncate::CAPACITY);
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

/// Cuts each list to what it keeps, and says so in the annotation. From the end, so that indexes stay right.
fn cut(object: &RawValue, counts: &[[usize; 2]], kept: &[[usize; 2]]) -> Vec<PatchOp> {
    let mut patch = Vec::new();
    for (i, (count, kept)) in counts.iter().zip(kept).enumerate().rev() {
        if kept.iter().all(|n| *n == 0) {
            patch.push(PatchOp::remove(format!("/subsets/{i}")));
            continue;
        }
        for ((list, count), kept) in LISTS.iter().zip(count).zip(kept) {
            let at = format!("/subsets/{i}/{list}");
            match count - kept {
                0 => {}
                _ if *kept == 0 => patch.push(PatchOp::remove(at)),
                1..=MAX_REMOVED => {
                    patch.extend((*kept..*count).rev().map(|n| PatchOp::remove(format!("{at}/{n}"))));
                }
                _ => patch.extend(first_of(object, i, list, *kept).map(|first| PatchOp::replace(at, first))),
            }
        }
    }
    patch.extend(set(object, &["metadata", "annotations", names::OVER_CAPACITY], TRUNCATED));
    patch
}

/// The first addresses of a list, with all that is in them.
fn first_of(object: &RawValue, subset: usize, list: &str, kept: usize) -> Option<Vec<Value>> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow)]
        subsets: Vec<Subset<'a>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Subset<'a> {
        #[serde(borrow, default)]
        addresses: Option<Vec<&'a RawValue>>,
        #[serde(borrow, default)]
        not_ready_addresses: Option<Vec<&'a RawValue>>,
    }
    let mut subsets = serde_json::from_str::<Object<'_>>(object.get()).ok()?.subsets;
    let subset = subsets.get_mut(subset)?;
    let all = if list == LISTS[0] { subset.addresses.take() } else { subset.not_ready_addresses.take() }?;
    all.into_iter().take(kept).map(|a| serde_json::from_str(a.get()).ok()).collect()
}
