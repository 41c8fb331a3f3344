//! The draft of the slices of one address type, between packing and the final changes, and these changes (`finalize`).

use super::{job::SliceJob, new_slice, owned_slices, records};
use crate::{
    model::{EndpointSlice, Family},
    profile::HashKind,
    record::Recorder,
    state::SliceChanges,
};

/// What happens to the slices of one address type.
#[derive(Default)]
pub(super) struct SliceDraft<'a> {
    /// New slices, in the order in which they were filled.
    pub create: Vec<EndpointSlice>,
    /// Slices that replace the stored ones of the same names.
    pub update: Vec<EndpointSlice>,
    /// Slices to delete, or to reuse the names of.
    pub delete: Vec<&'a EndpointSlice>,
    /// Slices that stay.
    pub unchanged: Vec<&'a EndpointSlice>,
    /// The unchanged slices with outdated nodes or zones that this release does not notice, and how many endpoints have them.
    pub stale: Vec<(&'a EndpointSlice, usize)>,
}

impl SliceDraft<'_> {
    /// The slices that are written.
    pub(super) fn written(&mut self) -> impl Iterator<Item = &mut EndpointSlice> {
        self.create.iter_mut().chain(&mut self.update)
    }

    /// All slices as they will be stored.
    pub(super) fn all(&self) -> impl Iterator<Item = &EndpointSlice> {
        self.create.iter().chain(&self.update).chain(self.unchanged.iter().copied())
    }

    /// Updates the unchanged slices that `needs` a write.
    pub(super) fn move_to_update(&mut self, hash: HashKind, mut needs: impl FnMut(&EndpointSlice) -> bool) {
        let Self { unchanged, update, .. } = self;
        unchanged.retain(|slice| {
            let needs = needs(slice);
            if needs {
                update.push(new_slice::copy(slice, hash));
            }
            !needs
        });
    }

    /// Removes all hints (`RemoveHintsFromSlices`).
    pub(super) fn remove_hints(&mut self, hash: HashKind) {
        self.move_to_update(hash, |slice| slice.endpoints.iter().any(|e| e.hints.is_some()));
        for slice in self.written() {
            for endpoint in &mut slice.endpoints {
                endpoint.hints = None;
            }
        }
    }
}

/// Turns deletions into updates where something is to be created, and sets the trigger time.
pub(super) fn finalize(
    job: &SliceJob<'_>,
    family: Family,
    draft: SliceDraft<'_>,
    changes: &mut SliceChanges,
    recorder: &mut impl Recorder,
) {
    let SliceDraft { mut create, mut update, delete, unchanged, .. } = draft;
    for stored in delete {
        // Slices of an earlier Service of this name will be garbage-collected: their names cannot be reused.
        match create.pop_if(|_| owned_slices::owned(stored, job.service)) {
            // Without resource version or uid: the update is unconditional.
            Some(mut slice) => {
                slice.meta.name = stored.meta.name.clone();
                update.push(slice);
            }
            None => changes.delete.push(stored.meta.name.clone()),
        }
    }
    if job.service.meta.deleting() {
        // Creating slices would race with the garbage collector.
        records::not_created(job, family, &create, recorder);
        create.clear();
    }
    update.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    for slice in create.iter_mut().chain(&mut update) {
        job.context.set_trigger_time(&mut slice.meta);
    }
    changes.create.append(&mut create);
    changes.update.append(&mut update);
    changes.unchanged.extend(unchanged.into_iter().map(|s| s.meta.name.clone()));
}
