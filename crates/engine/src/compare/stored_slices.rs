//! The stored slices of a Service by their names.

use crate::model::{EndpointSlice, by_name};

/// Slices that are looked up by name; of several with one name the last one counts.
pub(super) struct StoredSlices<'s>(Vec<&'s EndpointSlice>);

impl<'s> StoredSlices<'s> {
    pub(super) fn of(slices: &[&'s EndpointSlice]) -> Self {
        Self(by_name(slices.to_vec()))
    }

    pub(super) fn get(&self, name: &str) -> Option<&'s EndpointSlice> {
        let place = self.0.binary_search_by(|slice| slice.meta.name.as_str().cmp(name)).ok()?;
        Some(self.0[place])
    }
}
