//! Which endpoint goes into which slice (`reconcileByPortMapping`).

use std::cmp::Reverse;

use crate::{
    engine::canonical_ips::Uncanonical,
    model::{EndpointSlice, Family, SlicePort},
};

use super::{
    Job, blank,
    desired::{Desired, Kept},
    labels,
};

/// What is to become of the slices of one address type.
#[derive(Default)]
pub(super) struct Draft<'a> {
    /// To be created, in the order in which they were filled.
    pub create: Vec<EndpointSlice>,
    /// To replace the stored slices of these names.
    pub update: Vec<EndpointSlice>,
    /// To be deleted, or to lend their names to new ones.
    pub delete: Vec<&'a EndpointSlice>,
    /// To stay.
    pub unchanged: Vec<&'a EndpointSlice>,
    /// Of `unchanged`: those that list outdated nodes or zones, which this release does not see, and how many.
    pub stale: Vec<(&'a EndpointSlice, usize)>,
}

impl Draft<'_> {
    /// The slices that are written.
    pub(super) fn written(&mut self) -> impl Iterator<Item = &mut EndpointSlice> {
        self.create.iter_mut().chain(&mut self.update)
    }

    /// All slices as they will be.
    pub(super) fn all(&self) -> impl Iterator<Item = &EndpointSlice> {
        self.create.iter().chain(&self.update).chain(self.unchanged.iter().copied())
    }
}

/// Distributes the endpoints of one port group: stored slices keep what is still wanted, changed ones are
/// filled first, then one unchanged one if the rest fits in, then new ones. `replaced` hears of addresses that
/// are not kept.
pub(super) fn pack<'a>(
    job: &Job<'a>,
    family: Family,
    ports: &[SlicePort],
    existing: &[&'a EndpointSlice],
    desired: &mut Desired<'a, '_>,
    draft: &mut Draft<'a>,
    replaced: &mut Uncanonical,
) {
    let (first_updated, first_unchanged) = (draft.update.len(), draft.unchanged.len());
    let mut kept = desired.kept();
    for &slice in existing {
        let of_slice = kept.split_off(..slice.endpoints.len()).unwrap_or_default();
        keep(job, ports, slice, of_slice, desired, draft, replaced);
    }
    // Step 2: the fullest first.
    let updated = &mut draft.update[first_updated..];
    updated.sort_by_key(|s| Reverse(s.endpoints.len()));
    for slice in updated {
        desired.fill(&mut slice.endpoints, job);
    }
    // Step 3.
    while desired.left() > 0 {
        let fitting = to_fill(&draft.unchanged[first_unchanged..], desired.left(), job.context.per_slice);
        let (mut slice, list) = if let Some(i) = fitting {
            let stored = draft.unchanged.remove(first_unchanged + i);
            (blank::copy(stored, job.profile.hash), &mut draft.update)
        } else {
            let mut new = blank::slice(job, family, ports);
            new.endpoints.reserve_exact(desired.left().min(job.context.per_slice));
            (new, &mut draft.create)
        };
        desired.fill(&mut slice.endpoints, job);
        list.push(slice);
    }
    // Hints look at changed slices one after the other too: by name, as upstream may list them.
    draft.update[first_updated..].sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
}

/// Step 1: a stored slice keeps the endpoints that are still wanted, in the form that is wanted now. `kept` says what is
/// wanted in the place of each of its endpoints.
fn keep<'a>(
    job: &Job<'a>,
    ports: &[SlicePort],
    slice: &'a EndpointSlice,
    kept: &[Option<Kept>],
    desired: &Desired<'a, '_>,
    draft: &mut Draft<'a>,
    replaced: &mut Uncanonical,
) {
    let gone = slice.endpoints.iter().zip(kept).filter(|(_, kept)| kept.is_none());
    gone.flat_map(|(stored, _)| &stored.addresses).for_each(|ip| replaced.of_object(|| slice.key(), ip));
    let mut wanted = kept.iter().flatten().peekable();
    if wanted.peek().is_none() && !slice.endpoints.is_empty() {
        draft.delete.push(slice);
    } else if kept.iter().any(|kept| kept.is_none_or(|kept| !kept.current)) {
        let mut meta = slice.meta.clone();
        meta.labels = job.labels.clone();
        let mut endpoints = Vec::with_capacity(slice.endpoints.len());
        endpoints.extend(wanted.map(|kept| desired.endpoint(*kept, job)));
        let (address_type, ports) = (slice.address_type.clone(), Some(ports.to_vec()));
        draft.update.push(EndpointSlice { meta, address_type, endpoints, ports });
    } else if labels::changed(slice, job.service) {
        let mut slice = blank::copy(slice, job.profile.hash);
        slice.meta.labels = job.labels.clone();
        draft.update.push(slice);
    } else {
        let stale = wanted.filter(|kept| !kept.current_topology).count();
        if stale > 0 {
            draft.stale.push((slice, stale));
        }
        draft.unchanged.push(slice);
    }
}

/// `getSliceToFill`: of the slices into which all of `left` fits, the one that it fills best.
fn to_fill(slices: &[&EndpointSlice], left: usize, max: usize) -> Option<usize> {
    if left >= max {
        return None;
    }
    let room = |s: &&EndpointSlice| max.checked_sub(left + s.endpoints.len());
    let fitting = slices.iter().enumerate().filter_map(|(i, s)| Some((room(s)?, i)));
    fitting.min().map(|(_, i)| i)
}
