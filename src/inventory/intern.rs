//! One copy of what many pods have in common.

use std::{collections::HashSet, hash::Hash, sync::Arc};

use crate::model::{ContainerPort, Labels, Pod, Text};

/// Pods of one workload have the same labels and ports, and a node runs many of them. Sharing these
/// makes a pod about a third as large. The sets are looked up, never iterated.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    labels: Pool<Labels>,
    ports: Pool<[ContainerPort]>,
    texts: HashSet<Text, foldhash::fast::FixedState>,
}

/// Input without any likeness must not fill the pools: they start anew at this size. Objects come
/// sorted by name, so that neighbours are alike, and the price is a few copies.
const LIMIT: usize = 1 << 15;

impl Interner {
    /// Replaces the parts of `pod` that were seen before by the copies seen first.
    pub(crate) fn share(&mut self, pod: &mut Pod) {
        self.labels.share(&mut pod.labels);
        self.ports.share(&mut pod.ports);
        self.share_text(&mut pod.node_name);
        self.share_text(&mut pod.subdomain);
    }

    fn share_text(&mut self, text: &mut Text) {
        if !text.is_heap_allocated() {
            return;
        }
        if let Some(seen) = self.texts.get(text.as_str()) {
            *text = seen.clone();
        } else {
            if self.texts.len() >= LIMIT {
                self.texts.clear();
            }
            self.texts.insert(text.clone());
        }
    }
}

#[derive(Debug)]
struct Pool<T: ?Sized>(HashSet<Arc<T>, foldhash::fast::FixedState>);

impl<T: ?Sized> Default for Pool<T> {
    fn default() -> Self {
        Self(HashSet::default())
    }
}

impl<T: ?Sized + Eq + Hash> Pool<T> {
    fn share(&mut self, value: &mut Arc<T>) {
        if let Some(seen) = self.0.get(&**value) {
            *value = Arc::clone(seen);
            return;
        }
        if self.0.len() >= LIMIT {
            self.0.clear();
        }
        self.0.insert(Arc::clone(value));
    }
}
