//! Which Services depend on which labels of nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::raw_object::ObjectName;
use crate::model::{Labels, Text};

/// The Services that a label of a node may affect, by its key.
#[derive(Debug, Default)]
pub(super) struct LabelReaders {
    by_label: BTreeMap<Text, BTreeSet<ObjectName>>,
    by_service: BTreeMap<ObjectName, Vec<Text>>,
}

impl LabelReaders {
    /// Sets the labels that a Service depends on.
    pub(super) fn set(&mut self, service: &ObjectName, labels: Vec<Text>) {
        if self.by_service.get(service).map_or(labels.is_empty(), |before| *before == labels) {
            return;
        }
        for label in self.by_service.remove(service).unwrap_or_default() {
            if let Some(readers) = self.by_label.get_mut(&label) {
                readers.remove(service);
                if readers.is_empty() {
                    self.by_label.remove(&label);
                }
            }
        }
        for label in &labels {
            self.by_label.entry(label.clone()).or_default().insert(service.clone());
        }
        if !labels.is_empty() {
            self.by_service.insert(service.clone(), labels);
        }
    }

    /// The Services that depend on any label.
    pub(super) fn all(&self) -> BTreeSet<&ObjectName> {
        self.by_service.keys().collect()
    }

    /// The Services that depend on this label.
    pub(super) fn of(&self, label: &str) -> impl Iterator<Item = &ObjectName> {
        self.by_label.get(label).into_iter().flatten()
    }

    /// The Services that depend on a label in which two states of a node differ.
    pub(super) fn of_difference(&self, before: &Labels, after: &Labels) -> BTreeSet<&ObjectName> {
        let differing = |label: &Text| before.get(label) != after.get(label);
        let keys: BTreeSet<&Text> = before.iter().chain(after.iter()).map(|(key, _)| key).collect();
        let readers = keys.into_iter().filter(|key| differing(key)).filter_map(|key| self.by_label.get(key));
        readers.flatten().collect()
    }
}
