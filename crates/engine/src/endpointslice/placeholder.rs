//! The empty slice: every Service with a selector has at least one slice of each of its address types.

use crate::{
    model::{EndpointSlice, Family, Labels},
    state::SyncReport,
};

use super::{draft::SliceDraft, findings, job::SliceJob, new_slice};

/// Adds a placeholder to the draft if no other slice remains.
pub(super) fn ensure<'a>(
    job: &SliceJob<'_>,
    family: Family,
    existing: &[&'a EndpointSlice],
    draft: &mut SliceDraft<'a>,
    report: &mut SyncReport,
) {
    if existing.len() != draft.delete.len() || !draft.create.is_empty() {
        return;
    }
    let placeholder = new_slice::new_slice(job, family, &[]);
    match draft.delete.as_slice() {
        // versions.md#s2: up to 1.23 it is deleted and created again at every sync.
        [stored] if is_placeholder(stored, &placeholder) => {
            if job.profile.keep_placeholder {
                draft.unchanged.append(&mut draft.delete);
                return;
            }
            findings::placeholder_churn(job, stored, report);
        }
        _ => {}
    }
    draft.create.push(placeholder);
}

/// Whether a stored slice is a placeholder; owner and annotations do not count (`placeholderSliceCompare`).
fn is_placeholder(stored: &EndpointSlice, placeholder: &EndpointSlice) -> bool {
    stored.endpoints.is_empty()
        && stored.ports.as_ref().is_none_or(Vec::is_empty)
        && stored.meta.namespace == placeholder.meta.namespace
        && same_labels(&stored.meta.labels, &placeholder.meta.labels)
}

/// Compares labels as upstream does: a missing label equals an empty one.
fn same_labels(a: &Labels, b: &Labels) -> bool {
    let filled = |l: &Labels| l.iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.clone(), v.clone())).collect();
    let (a, b): (Vec<_>, Vec<_>) = (filled(a), filled(b));
    a == b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_label_equals_an_empty_one() {
        let labels = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<Labels>();
        for (a, b, want) in [
            (&[("a", "1")][..], &[("a", "1")][..], true),
            (&[("a", "1"), ("b", "")], &[("a", "1")], true),
            (&[("a", "1")], &[("a", "1"), ("b", "")], true),
            (&[("a", "1")], &[("a", "2")], false),
            (&[], &[("a", "2")], false),
        ] {
            assert_eq!(same_labels(&labels(a), &labels(b)), want, "{a:?} {b:?}");
        }
    }
}
