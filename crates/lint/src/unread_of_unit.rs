//! The Services of a unit whose pods may be among what cannot be read.

use std::collections::BTreeMap;

use roster_engine::{
    model::{Resource, Service, Text},
    plan::selected_pods,
};
use roster_manifests::inventory::{Entry, Index, workloads::UnreadIndex};

use crate::reviewed_object::ReviewedObject;

/// What cannot be read, beside the Services of a unit.
pub(crate) struct UnreadOfUnit<'u> {
    unread: &'u UnreadIndex<'u>,
    /// The documents of the Services, by namespace and name.
    documents: BTreeMap<(Text, Text), usize>,
}

impl<'u> UnreadOfUnit<'u> {
    /// `items` are the objects of the unit, which begins with the document `start`. `namespace` is that of objects without one.
    pub(crate) fn new(
        items: &[ReviewedObject<'_>],
        start: usize,
        namespace: &str,
        unread: &'u UnreadIndex<'u>,
    ) -> Self {
        let is_service = |item: &&ReviewedObject<'_>| item.key.kind == Resource::Service.kind();
        let numbered = items.iter().zip(start..).filter(|(item, _)| is_service(item));
        let named = numbered.map(|(item, document)| {
            let key = item.key.clone().placed(namespace);
            ((key.namespace, key.name), document)
        });
        let documents = if unread.is_empty() { BTreeMap::new() } else { named.collect() };
        Self { unread, documents }
    }

    /// Whether a Service may select pods that cannot be read.
    pub(crate) fn may_be_of(&self, service: &Service) -> bool {
        let (meta, Some(selector)) = (&service.meta, &service.selector) else { return false };
        let Some(document) = self.documents.get(&(meta.namespace.clone(), meta.name.clone())) else { return false };
        self.unread.of(&meta.namespace).selected_by(selector, Some(*document)).is_some()
    }

    /// Removes the Services of which no pod is known, and others may be among what cannot be read.
    pub(crate) fn drop_unknown(&self, index: &mut Index<'_>) {
        if self.documents.is_empty() {
            return;
        }
        let is_unknown = |entry: &&Entry<'_>| {
            entry.service.is_some_and(|service| self.may_be_of(service))
                && selected_pods(&index.state(entry)).is_empty()
        };
        let unknown = index.entries().iter().filter(is_unknown);
        let unknown: Vec<(Text, Text)> = unknown.map(|entry| (entry.namespace.clone(), entry.name.clone())).collect();
        // The entries are in order.
        index.retain(|entry| unknown.binary_search_by_key(&(entry.namespace, entry.name), |(n, s)| (n, s)).is_err());
    }
}
