//! The webhook's copy of a cluster: small rows behind a lock, which watches keep up to date. It reports no changes: a server that
//! acts on them has a [`Live`] of its own.

use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard, atomic::AtomicUsize};

use roster_admission::Unknown;
use roster_engine::model::{EndpointSlice, Labels, Node, Pod, Service};

use super::{
    cluster_index::{ClusterIndex, IndexReader},
    live::{Live, LiveTable},
    lookups::{NodePlaces, PodAddresses, SliceEndpoints},
    rows::{NamespaceRow, NodeRow, PodRow, ServiceRow, SliceRow, SmallRows},
    sink::{Loss, Sink},
    table::{Lookup, Row, Table},
};

pub(super) const NOT_SYNCED: Unknown = Unknown("the copy of the cluster is not complete yet");
pub(super) const STALE: Unknown = Unknown("the copy of the cluster is old: its API server does not answer");

/// The copy. Watches write it; any number of requests read it at the same time.
#[derive(Debug)]
pub struct Store {
    index: RwLock<ClusterIndex<SmallRows>>,
}

/// An object that the store holds a row of.
pub trait Stored: Send + Sized {
    /// The row.
    type Row: Row + Send;
    /// The look-up of its table.
    type Lookup: Lookup<Self::Row> + Send;

    /// What is held of the object.
    fn row(self) -> Self::Row;

    /// Its table.
    fn table(live: &mut Live<SmallRows>) -> &mut LiveTable<Self::Row, Self::Lookup>;
}

macro_rules! stored {
    ($($object:ty: $row:ty, $lookup:ty, $table:ident, $make:expr;)*) => {$(
        impl Stored for $object {
            type Row = $row;
            type Lookup = $lookup;

            fn row(self) -> $row {
                $make(self)
            }

            fn table(live: &mut Live<SmallRows>) -> &mut LiveTable<$row, $lookup> {
                &mut live.$table
            }
        }
    )*};
}

stored! {
    Pod: Box<PodRow>, PodAddresses, pods, |pod| Box::new(PodRow::from(pod));
    Service: Box<ServiceRow>, (), services, |service| Box::new(ServiceRow::from(service));
    Node: NodeRow, NodePlaces, nodes, NodeRow::from;
    EndpointSlice: Arc<SliceRow>, SliceEndpoints<Arc<SliceRow>>, slices, |slice| Arc::new(SliceRow::from(slice));
    NamespaceRow: NamespaceRow, (), namespaces, |namespace| namespace;
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// An empty copy: no resource is listed.
    pub fn new() -> Self {
        Self {
            index: RwLock::new(ClusterIndex {
                live: Live::empty(NOT_SYNCED),
                candidates: (),
                no_addresses: None,
                left: AtomicUsize::default(),
                is_part: false,
            }),
        }
    }

    /// Whether every resource has been listed once.
    pub fn synced(&self) -> bool {
        self.read(|ClusterIndex { live, .. }| {
            live.pods.is_listed()
                && live.services.is_listed()
                && live.nodes.is_listed()
                && live.slices.is_listed()
                && live.namespaces.is_listed()
        })
    }

    /// Labels of a namespace as they were last known: without any, a policy that asks for labels of namespaces would
    /// hold for none.
    pub fn namespace_labels(&self, name: &str) -> Option<Labels> {
        self.read(|index| index.namespace_labels(name).cloned())
    }

    /// What the watch of a resource feeds. `read` reads an object from its JSON text.
    pub fn sink<T: Stored>(self: &Arc<Self>, read: fn(&str) -> serde_json::Result<T>) -> StoreSink<T> {
        StoreSink { store: self.clone(), read, new: Vec::new() }
    }

    /// Sets all objects of a resource.
    pub fn fill<T: Stored>(&self, objects: Vec<T>) {
        self.replace::<T>(objects.into_iter().map(T::row).collect());
    }

    /// Adds an object, in place of one of its name.
    pub fn apply<T: Stored>(&self, object: T) {
        self.insert::<T>(object.row());
    }

    /// Removes an object.
    pub fn delete<T: Stored>(&self, object: T) {
        let row = object.row();
        self.remove::<T>(row.namespace(), row.name());
    }

    /// From now on the objects of a resource count as old, until it is listed again.
    pub fn lose<T: Stored>(&self) {
        T::table(&mut self.write().live).forbid(STALE);
    }

    fn insert<T: Stored>(&self, row: T::Row) {
        let before = T::table(&mut self.write().live).insert(row).and_then(|change| change.before);
        drop(before);
    }

    fn remove<T: Stored>(&self, namespace: &str, name: &str) {
        let before = T::table(&mut self.write().live).remove(namespace, name).and_then(|change| change.before);
        drop(before);
    }

    fn replace<T: Stored>(&self, rows: Vec<T::Row>) {
        // Built before the lock is taken and dropped after: readers do not wait meanwhile.
        let table = Table::new(rows, |_| {});
        let before = T::table(&mut self.write().live).set(table);
        drop(before);
    }

    // A panic elsewhere leaves the copy whole: every event is one insertion or removal.
    fn write(&self) -> RwLockWriteGuard<'_, ClusterIndex<SmallRows>> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexReader for Store {
    type Storage = SmallRows;

    /// Comparing so many pods with a selector takes some ten microseconds.
    const ROWS_AT_ONCE: usize = 2048;

    fn read<T>(&self, ask: impl FnOnce(&ClusterIndex<SmallRows>) -> T) -> T {
        ask(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Feeds the objects of one resource into a [`Store`].
#[derive(Debug)]
pub struct StoreSink<T: Stored> {
    store: Arc<Store>,
    read: fn(&str) -> serde_json::Result<T>,
    /// What is new in the list that is being read: at first, all of it. It is sorted once. The others change the table in place,
    /// because two tables at once would double the memory.
    new: Vec<T::Row>,
}

impl<T: Stored> Sink for StoreSink<T> {
    type Row = T::Row;

    fn row(&self, object: &str) -> serde_json::Result<T::Row> {
        (self.read)(object).map(T::row)
    }

    fn apply(&mut self, row: T::Row) {
        self.store.insert::<T>(row);
    }

    fn delete(&mut self, namespace: &str, name: &str) {
        self.store.remove::<T>(namespace, name);
    }

    fn begin_list(&mut self) {
        self.new.clear();
        T::table(&mut self.store.write().live).begin_list();
    }

    fn list(&mut self, row: T::Row) {
        let listed = T::table(&mut self.store.write().live).list(row).map(|change| change.and_then(|c| c.before));
        if let Err(mut row) = listed {
            if let Some(before) = self.new.last() {
                row.share(before);
            }
            self.new.push(row);
        }
    }

    fn end_list(&mut self) {
        // Built before the lock is taken, and what is gone is dropped after: readers do not wait meanwhile.
        let new = Table::new(std::mem::take(&mut self.new), |_| {});
        let mut gone = Vec::new();
        T::table(&mut self.store.write().live).end_list(new, |change| gone.extend(change.before));
        drop(gone);
    }

    fn lost(&mut self, _: Loss) {
        self.store.lose::<T>();
    }
}
