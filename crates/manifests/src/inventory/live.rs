//! The objects of a cluster that decide about endpoints, as a server keeps them: a table for each resource, which watches keep
//! up to date.
//!
//! Servers differ in what they hold of an object: a webhook a few fields, a node proxy its text, a controller what it plans
//! with. And they differ in what they look up. Both are up to [`LiveRows`]; what a change means is up to the server, which gets
//! each [`Change`].

use roster_admission::Unknown;

use super::table::{Change, Lookup, Row, Table};

/// The forms in which objects are held, and what is looked up among them. [`Infallible`](std::convert::Infallible) is the form of
/// what nobody holds.
pub trait LiveRows {
    /// A pod.
    type Pod: Row;
    /// Pods, looked up.
    type Pods: Lookup<Self::Pod>;
    /// A Service.
    type Service: Row;
    /// Services, looked up.
    type Services: Lookup<Self::Service>;
    /// A node.
    type Node: Row;
    /// Nodes, looked up.
    type Nodes: Lookup<Self::Node>;
    /// An Endpoints object.
    type Endpoints: Row;
    /// A slice.
    type Slice: Row;
    /// Slices, looked up.
    type Slices: Lookup<Self::Slice>;
    /// A namespace.
    type Namespace: Row;
}

/// The tables.
#[derive(Debug)]
pub struct Live<S: LiveRows> {
    /// Pods.
    pub pods: LiveTable<S::Pod, S::Pods>,
    /// Services.
    pub services: LiveTable<S::Service, S::Services>,
    /// Nodes.
    pub nodes: LiveTable<S::Node, S::Nodes>,
    /// Endpoints: they have the names of their Services.
    pub endpoints: LiveTable<S::Endpoints>,
    /// Slices.
    pub slices: LiveTable<S::Slice, S::Slices>,
    /// Namespaces.
    pub namespaces: LiveTable<S::Namespace>,
}

impl<S: LiveRows> Live<S> {
    /// No objects, of which nothing is known for this reason.
    pub fn empty(why: Unknown) -> Self {
        Self {
            pods: LiveTable::empty(why),
            services: LiveTable::empty(why),
            nodes: LiveTable::empty(why),
            endpoints: LiveTable::empty(why),
            slices: LiveTable::empty(why),
            namespaces: LiveTable::empty(why),
        }
    }
}

/// The table of a resource, and whether it may be asked.
#[derive(Clone, Debug)]
pub struct LiveTable<R, L = ()> {
    table: Table<R, L>,
    /// Why the table must not be asked.
    unknown: Option<Unknown>,
    /// Whether it has been complete once.
    is_listed: bool,
}

impl<R: Row, L: Lookup<R>> LiveTable<R, L> {
    /// An empty table of which nothing is known for this reason.
    pub fn empty(why: Unknown) -> Self {
        Self { table: Table::default(), unknown: Some(why), is_listed: false }
    }

    /// Sets a complete table, and returns the one before.
    pub fn set(&mut self, table: Table<R, L>) -> Table<R, L> {
        self.complete();
        std::mem::replace(&mut self.table, table)
    }

    /// Adds a row in the place of the one of its name. `None`: nothing of it differs.
    pub fn insert(&mut self, row: R) -> Option<Change<'_, R>> {
        self.table.insert(row)
    }

    /// Removes the row of this name.
    pub fn remove(&mut self, namespace: &str, name: &str) -> Option<Change<'_, R>> {
        self.table.remove(namespace, name)
    }

    /// A list of all objects begins. A list that was not complete does not count.
    pub fn begin_list(&mut self) {
        self.table.begin_list();
    }

    /// The list has this row, in place of one of its name. If there is none, returns it as an error, for the end of the list.
    pub fn list(&mut self, row: R) -> Result<Option<Change<'_, R>>, R> {
        self.table.list(row)
    }

    /// The row of this name stays, whether the list has it or not.
    pub fn keep(&mut self, namespace: &str, name: &str) {
        self.table.keep(namespace, name);
    }

    /// The list is complete: removes the rows that it does not have, and adds the `new` ones.
    pub fn end_list(&mut self, new: Table<R, L>, changed: impl FnMut(Change<'_, R>)) {
        self.complete();
        self.table.end_list(new, changed);
    }

    /// Sets all rows. Of equal names the last one counts.
    pub fn replace_all(&mut self, rows: Vec<R>, changed: impl FnMut(Change<'_, R>)) {
        self.complete();
        self.table.replace_all(rows, changed);
    }

    fn complete(&mut self) {
        (self.unknown, self.is_listed) = (None, true);
    }

    /// From now on the table must not be asked, for this reason.
    pub fn forbid(&mut self, why: Unknown) {
        if self.is_listed {
            self.unknown = Some(why);
        }
    }

    /// Whether it has been complete once.
    pub fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// The table, if it may be asked.
    pub fn known(&self) -> Result<&Table<R, L>, Unknown> {
        self.unknown.map_or(Ok(&self.table), Err)
    }

    /// The table as it was last known; before the first list, what is known already.
    pub fn last_known(&self) -> &Table<R, L> {
        &self.table
    }
}
