//! How many Services choose from the pods of a workload.

use std::collections::HashMap;

use roster_engine::model::{HashSeed, Service};

use super::{
    identity::{is_opaque, job_labels},
    workload::Workload,
};

/// A namespace, and key and value of a label.
type NamespaceLabel<'a> = (&'a str, &'a str, &'a str);

/// How many Services choose from the pods of each workload. Of the labels of a selector, the one that the fewest workloads
/// have counts, as for the [`Index`](crate::inventory::Index): no workload is compared with each Service.
#[derive(Debug, Default)]
pub(super) struct SelectingServices<'a> {
    /// By label.
    by_label: HashMap<NamespaceLabel<'a>, usize, HashSeed>,
    /// By namespace: Services that may choose from all pods.
    of_all: HashMap<&'a str, usize, HashSeed>,
}

impl<'a> SelectingServices<'a> {
    pub(super) fn new(services: &'a [Service], workloads: &'a [Workload]) -> Self {
        let mut this = Self::default();
        if services.is_empty() || workloads.is_empty() {
            return this;
        }
        let mut workloads_with: HashMap<NamespaceLabel<'a>, usize, HashSeed> = HashMap::default();
        for label in workloads.iter().flat_map(labels_of) {
            *workloads_with.entry(label).or_default() += 1;
        }
        for service in services {
            let Some(selector) = &service.selector else { continue };
            let namespace = service.meta.namespace.as_str();
            let labels = selector.iter().filter(|(key, _)| !is_opaque(key));
            let labels = labels.map(|(key, value)| (namespace, key.as_str(), value.as_str()));
            match labels.min_by_key(|label| workloads_with.get(label)) {
                Some(label) => *this.by_label.entry(label).or_default() += 1,
                None => *this.of_all.entry(namespace).or_default() += 1,
            }
        }
        this
    }

    /// How many Services choose from the pods of `workload`.
    pub(super) fn of(&self, workload: &'a Workload) -> usize {
        let of_all = self.of_all.get(workload.namespace.as_str()).copied().unwrap_or_default();
        of_all + labels_of(workload).filter_map(|label| self.by_label.get(&label)).sum::<usize>()
    }
}

/// The labels that all pods of a workload have, with its namespace.
fn labels_of(workload: &Workload) -> impl Iterator<Item = NamespaceLabel<'_>> {
    let of_template = workload.template.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    of_template.chain(job_labels(workload)).map(move |(key, value)| (workload.namespace.as_str(), key, value))
}
