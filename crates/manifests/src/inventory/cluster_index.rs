//! The objects of a cluster, one table for each resource.

use std::{ops::Deref, sync::atomic::AtomicUsize};

use roster_admission::Unknown;
use roster_engine::model::Labels;

use super::{
    fields::Storage,
    lookups::{NodePlaces, PodAddresses, SliceEndpoints},
    rows::NamespaceRow,
    table::{Lookup, Row, Table},
};

/// Why nothing is known of pods.
pub(super) const NO_PODS: &str = "no pods of the namespace were given";

/// The table of a resource, once it is known.
#[derive(Clone, Debug)]
pub struct Slot<R, L = ()> {
    table: Option<Table<R, L>>,
    /// Why the table must not be asked.
    unknown: Option<Unknown>,
}

impl<R: Row, L: Lookup<R>> Slot<R, L> {
    /// No table yet, for this reason.
    pub fn empty(why: Unknown) -> Self {
        Self { table: None, unknown: Some(why) }
    }

    /// Sets the table.
    pub fn set(&mut self, table: Table<R, L>) -> Option<Table<R, L>> {
        self.unknown = None;
        self.table.replace(table)
    }

    /// A list has this row. Returns it if there is none of its name, or no table yet.
    pub fn list(&mut self, row: R) -> Option<R> {
        match &mut self.table {
            Some(table) => table.list(row),
            None => Some(row),
        }
    }

    /// The list of all objects is complete, with these `new` ones: removes the rows that it does not have, and returns them.
    pub fn end_list(&mut self, new: Table<R, L>) -> Vec<R> {
        self.unknown = None;
        match &mut self.table {
            Some(table) => table.end_list(new),
            None => self.set(new).map_or_else(Vec::new, Table::into_rows),
        }
    }

    /// From now on the table must not be asked, for this reason.
    pub fn forbid(&mut self, why: Unknown) {
        if self.table.is_some() {
            self.unknown = Some(why);
        }
    }

    /// The table, if it may be asked.
    pub fn known(&self) -> Result<&Table<R, L>, Unknown> {
        match (&self.table, self.unknown) {
            (Some(table), None) => Ok(table),
            (_, why) => Err(why.unwrap_or(Unknown(""))),
        }
    }

    /// The table as it was last known.
    pub fn last_known(&self) -> Option<&Table<R, L>> {
        self.table.as_ref()
    }

    /// The table, to be changed; `None` before the first list.
    pub fn table_mut(&mut self) -> Option<&mut Table<R, L>> {
        self.table.as_mut()
    }
}

/// The tables. How objects are held is up to the [`Storage`].
#[derive(Debug)]
pub struct ClusterIndex<S: Storage> {
    /// Pods, by address.
    pub(super) pods: Slot<S::Pod, PodAddresses>,
    /// Pods, by the selectors that may select them.
    pub(super) candidates: S::Candidates,
    /// Services.
    pub(super) services: Slot<S::Service>,
    /// Nodes, by zone and address.
    pub(super) nodes: Slot<S::Node, NodePlaces>,
    /// Slices, by Service and address.
    pub(super) slices: Slot<S::Slice, SliceEndpoints<S::Slice>>,
    /// Namespaces.
    pub(super) namespaces: Slot<NamespaceRow>,
    /// Why nothing is known of the addresses of pods, though the pods are: they were never in a cluster.
    pub(super) no_addresses: Option<Unknown>,
    /// How many more rows may be compared for all questions together.
    pub(super) left: AtomicUsize,
    /// Whether the objects may be a part of a cluster: a namespace without an object of a kind may have some.
    pub(super) is_part: bool,
}

impl<S: Storage> ClusterIndex<S> {
    /// Fails if nothing is known of the objects of a table in `namespace`.
    pub(super) fn knows<R: Row, L: Lookup<R>>(
        &self,
        table: &Table<R, L>,
        namespace: &str,
        why: &'static str,
    ) -> Result<(), Unknown> {
        if self.is_part && table.of_namespace(namespace).is_empty() { Err(Unknown(why)) } else { Ok(()) }
    }

    /// Labels of a namespace as they were last known.
    pub fn namespace_labels(&self, name: &str) -> Option<&Labels> {
        self.namespaces.last_known()?.get("", name).map(NamespaceRow::labels)
    }
}

/// An index that can be read: in place, or behind a lock.
pub trait IndexReader: Send + Sync {
    /// In what form it holds objects.
    type Storage: Storage;

    /// Most rows that are read at once. Between two such steps, others may write.
    const ROWS_AT_ONCE: usize;

    /// How many more rows may be compared for all questions together. A server that is asked for one object at a time has no
    /// such limit, and the objects of a file may be as many as those of its cluster.
    fn left(&self) -> usize {
        usize::MAX
    }

    /// Takes away so many.
    fn spend(&self, _rows: usize) {}

    /// Asks the index.
    fn read<T>(&self, ask: impl FnOnce(&ClusterIndex<Self::Storage>) -> T) -> T;
}

/// A reference to an index, and a shared one.
impl<P> IndexReader for P
where
    P: Deref<Target: IndexReader> + Send + Sync,
{
    type Storage = <P::Target as IndexReader>::Storage;

    const ROWS_AT_ONCE: usize = P::Target::ROWS_AT_ONCE;

    fn left(&self) -> usize {
        (**self).left()
    }

    fn spend(&self, rows: usize) {
        (**self).spend(rows);
    }

    fn read<T>(&self, ask: impl FnOnce(&ClusterIndex<Self::Storage>) -> T) -> T {
        (**self).read(ask)
    }
}
