//! The workloads whose pods are not assumed because there are too many.

use std::collections::HashMap;

use roster_engine::model::{HashSeed, Labels, Text};

use super::{candidate_index::CandidateIndex, matching::Candidate};
use crate::inventory::workloads::workload::Workload;

/// The workloads whose pods are not assumed because there are too many, by namespace.
#[derive(Debug, Default)]
pub struct UnassumedWorkloads<'a>(HashMap<&'a str, CandidateIndex<'a>, HashSeed>);

impl<'a> FromIterator<&'a Workload> for UnassumedWorkloads<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Workload>>(workloads: I) -> Self {
        let mut this = Self::default();
        for workload in workloads {
            this.0.entry(&workload.namespace).or_default().push(Candidate::Workload(workload));
        }
        this
    }
}

/// Most workloads with a label of a selector that are compared with it.
const MAX_COMPARED: usize = 256;

impl UnassumedWorkloads<'_> {
    /// Says of the first workload whose pods `selector` may select that they are not assumed.
    pub fn selected_by(&self, namespace: &Text, selector: &Labels) -> Option<String> {
        let index = self.0.get(namespace.as_str())?;
        let places = index.places(selector, 0..index.len()).first(MAX_COMPARED).into_iter();
        let selected = places.map(|place| index.at(place)).find(|candidate| candidate.is_selected_by(selector))?;
        Some(format!("the pods of {} are not assumed: they are too many", selected.name()))
    }
}
