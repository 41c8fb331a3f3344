//! Feeds the controller's copy with the objects of one resource.

use std::{mem::take, sync::Arc};

use roster_manifests::inventory::{Loss, Sink, Table};

use super::{cluster_copy::ClusterCopy, watched_value::Watched};

/// The sink of a watch.
pub(super) struct CopySink<T> {
    copy: Arc<ClusterCopy>,
    /// What is new in the list that is being read: it is sorted once.
    new: Vec<Arc<T>>,
}

impl<T> CopySink<T> {
    pub(super) fn new(copy: Arc<ClusterCopy>) -> Self {
        Self { copy, new: Vec::new() }
    }
}

impl<T: Watched> Sink for CopySink<T> {
    type Row = Arc<T>;

    fn row(&self, object: &str) -> serde_json::Result<Arc<T>> {
        let object: T = serde_json::from_str(object)?;
        Ok(Arc::new(self.copy.held(object)))
    }

    fn apply(&mut self, row: Arc<T>) {
        self.copy.apply(row);
    }

    fn delete(&mut self, namespace: &str, name: &str) {
        self.copy.delete::<T>(namespace, name);
    }

    fn begin_list(&mut self) {
        self.new.clear();
        self.copy.begin_list::<T>();
    }

    fn list(&mut self, mut row: Arc<T>) {
        if let (Some(before), Some(own)) = (self.new.last(), Arc::get_mut(&mut row)) {
            own.share(before);
        }
        self.new.extend(self.copy.list(row));
    }

    fn end_list(&mut self) {
        self.copy.end_list::<T>(Table::new(take(&mut self.new), |_| {}));
    }

    /// What was last known still counts: the reference goes on with it, too.
    fn lost(&mut self, _: Loss) {}
}
