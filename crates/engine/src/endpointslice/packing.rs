//! Which endpoint goes into which slice (`reconcileByPortMapping`).

use std::cmp::Reverse;

use crate::{
    canonical_ips::UncanonicalAddresses,
    model::{EndpointSlice, Family, SlicePort},
};

use super::{
    draft::SliceDraft,
    endpoint_set::{EndpointSet, StoredMatch},
    job::SliceJob,
    labels, new_slice,
};

/// Distributes the endpoints of one port group: stored slices keep the endpoints that still belong there; changed slices
/// are filled up first, then one unchanged slice if the rest fits into it, then new ones. `replaced` collects the
/// addresses that are removed.
pub(super) fn pack<'a>(
    job: &SliceJob<'a>,
    family: Family,
    ports: &[SlicePort],
    existing: &[&'a EndpointSlice],
    set: &mut EndpointSet<'a, '_>,
    draft: &mut SliceDraft<'a>,
    replaced: &mut UncanonicalAddresses,
) {
    let (first_updated, first_unchanged) = (draft.update.len(), draft.unchanged.len());
    let mut matches = set.matches();
    for &slice in existing {
        let of_slice = matches.split_off(..slice.endpoints.len()).unwrap_or_default();
        keep(job, ports, slice, of_slice, set, draft, replaced);
    }
    // Step 2: fill changed slices, the fullest first.
    let updated = &mut draft.update[first_updated..];
    updated.sort_by_key(|s| Reverse(s.endpoints.len()));
    for slice in updated {
        set.fill(&mut slice.endpoints, job);
    }
    // Step 3: fill an unchanged slice, or new ones.
    while set.left() > 0 {
        let fitting = to_fill(&draft.unchanged[first_unchanged..], set.left(), job.context.per_slice);
        let (mut slice, list) = if let Some(i) = fitting {
            let stored = draft.unchanged.remove(first_unchanged + i);
            (new_slice::copy(stored, job.profile.hash), &mut draft.update)
        } else {
            let mut new = new_slice::new_slice(job, family, ports);
            new.endpoints.reserve_exact(set.left().min(job.context.per_slice));
            (new, &mut draft.create)
        };
        set.fill(&mut slice.endpoints, job);
        list.push(slice);
    }
    // Hints read the changed slices in this order too: by name, as upstream may list them.
    draft.update[first_updated..].sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
}

/// Step 1: a stored slice keeps the endpoints that still belong there, in their present form. `matches` holds what
/// matches each of its endpoints.
fn keep<'a>(
    job: &SliceJob<'a>,
    ports: &[SlicePort],
    slice: &'a EndpointSlice,
    matches: &[Option<StoredMatch>],
    set: &EndpointSet<'a, '_>,
    draft: &mut SliceDraft<'a>,
    replaced: &mut UncanonicalAddresses,
) {
    let removed = slice.endpoints.iter().zip(matches).filter(|(_, matched)| matched.is_none());
    removed.flat_map(|(stored, _)| &stored.addresses).for_each(|ip| replaced.of_object(|| slice.key(), ip));
    let mut kept = matches.iter().flatten().peekable();
    if kept.peek().is_none() && !slice.endpoints.is_empty() {
        draft.delete.push(slice);
    } else if matches.iter().any(|matched| matched.is_none_or(|m| !m.current)) {
        let mut meta = slice.meta.clone();
        meta.labels = job.labels.clone();
        let mut endpoints = Vec::with_capacity(slice.endpoints.len());
        endpoints.extend(kept.map(|m| set.endpoint(*m, job)));
        let (address_type, ports) = (slice.address_type.clone(), Some(ports.to_vec()));
        draft.update.push(EndpointSlice { meta, address_type, endpoints, ports });
    } else if labels::changed(slice, job.service) {
        let mut slice = new_slice::copy(slice, job.profile.hash);
        slice.meta.labels = job.labels.clone();
        draft.update.push(slice);
    } else {
        let stale = kept.filter(|m| !m.current_topology).count();
        if stale > 0 {
            draft.stale.push((slice, stale));
        }
        draft.unchanged.push(slice);
    }
}

/// Of the slices into which all of `left` fits, the one that it fills best (`getSliceToFill`).
fn to_fill(slices: &[&EndpointSlice], left: usize, max: usize) -> Option<usize> {
    if left >= max {
        return None;
    }
    let room = |s: &&EndpointSlice| max.checked_sub(left + s.endpoints.len());
    let fitting = slices.iter().enumerate().filter_map(|(i, s)| Some((room(s)?, i)));
    fitting.min().map(|(_, i)| i)
}
