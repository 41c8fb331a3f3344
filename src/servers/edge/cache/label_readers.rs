//! Which Services depend on which labels of nodes.

use std::collections::{BTreeMap, BTreeSet};

use roster_engine::model::{Labels, Text};

use super::raw_object::ObjectName;

/// The Services that a label of a node may affect, by its key.
#[derive(Debug, Default)]
pub(super) struct LabelReaders {
    by_label: BTreeMap<Text, BTreeSet<ObjectName>>,
    by_service: BTreeMap<ObjectName, Vec<Text>>,
}

impl LabelReaders {
    /// Sets the labels that a Service depends on.
    pub(crate) fn set(&mut self, service: &ObjectName, labels: Vec<Text>) {
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
    pub(crate) fn all(&self) -> BTreeSet<&ObjectName> {
        self.by_service.keys().collect()
    }

    /// The Services that depend on this label.
    pub(crate) fn of(&self, label: &str) -> impl Iterator<Item = &ObjectName> {
        self.by_label.get(label).into_iter().flatten()
    }

    /// The Services that depend on one of these labels.
    pub(super) fn of_any<'a>(&self, labels: impl IntoIterator<Item = &'a Text>) -> BTreeSet<&ObjectName> {
        labels.into_iter().flat_map(|label| self.of(label)).collect()
    }

    /// The labels in which two states of a node differ and on which a Service depends.
    pub(crate) fn difference<'a>(&self, before: &'a Labels, after: &'a Labels) -> BTreeSet<&'a Text> {
        let keys: BTreeSet<&Text> = before.iter().chain(after.iter()).map(|(key, _)| key).collect();
        let is_read = |key: &&Text| before.get(key) != after.get(key) && self.by_label.contains_key(*key);
        keys.into_iter().filter(is_read).collect()
    }
}
