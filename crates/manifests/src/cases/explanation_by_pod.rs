//! What `explain` says of a Service, by its pods.

use std::collections::HashMap;

use roster_engine::{
    explain::{Explanation, PodVerdict},
    model::{HashSeed, Text},
};

/// An explanation of which thousands of cases may each ask for one pod.
#[derive(Debug)]
pub(super) struct ExplanationByPod {
    pub(super) explanation: Explanation,
    /// The places of the rows of a pod.
    of_pods: HashMap<Text, Vec<usize>, HashSeed>,
}

impl ExplanationByPod {
    pub(super) fn new(explanation: Explanation) -> Self {
        let mut of_pods: HashMap<Text, Vec<usize>, HashSeed> = HashMap::default();
        for (place, row) in explanation.rows.iter().enumerate() {
            of_pods.entry(row.pod.clone()).or_default().push(place);
        }
        Self { explanation, of_pods }
    }

    /// The rows of a pod.
    pub(super) fn of_pod(&self, name: &Text) -> impl Iterator<Item = &PodVerdict> {
        let places = self.of_pods.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| self.explanation.rows.get(*place))
    }

    /// The names of the first pods, in the order of the rows, and how many there are in all.
    pub(super) fn pods(&self, most: usize) -> (Vec<&str>, usize) {
        let first = self
            .explanation
            .rows
            .iter()
            .enumerate()
            .filter(|(place, row)| self.of_pods.get(&row.pod).and_then(|places| places.first()) == Some(place));
        (first.map(|(_, row)| row.pod.as_str()).take(most).collect(), self.of_pods.len())
    }
}
