//! The objects of a cluster, for the questions of rules.

use std::{ops::Deref, sync::atomic::AtomicUsize};

use roster_admission::Unknown;
use roster_engine::model::Labels;

use super::{
    fields::Storage,
    live::Live,
    rows::NamespaceRow,
    table::{Lookup, Row, Table},
};

/// Why nothing is known of pods.
pub(super) const NO_PODS: &str = "no pods of the namespace were given";

/// What rules ask of: the objects, and how far the answers go. How objects are held is up to the [`Storage`].
#[derive(Debug)]
pub struct ClusterIndex<S: Storage> {
    /// The objects.
    pub(super) live: Live<S>,
    /// Pods, by the selectors that may select them.
    pub(super) candidates: S::Candidates,
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
        self.live.namespaces.last_known().get("", name).map(NamespaceRow::labels)
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
