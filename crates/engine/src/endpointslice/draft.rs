//! The draft of the slices of one address type, between packing and the final changes.

use super::new_slice;
use crate::{model::EndpointSlice, profile::HashKind};

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
