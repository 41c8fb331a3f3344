//! Objects of one resource, sorted by namespace and name, with look-ups that follow every change.
//!
//! A table is one sorted list of pointers. An object costs eight bytes beside itself, where half-full nodes of a tree cost
//! more than the objects. An insertion moves what follows: about 60 µs among 150 000 pods, which the rate of changes
//! of a cluster allows. A whole list is sorted once.

use std::{convert::Infallible, fmt::Debug, sync::Arc};

/// A row of a [`Table`].
pub trait Row: Debug {
    /// The namespace; empty for objects of the whole cluster.
    fn namespace(&self) -> &str;

    /// The name.
    fn name(&self) -> &str;

    /// Takes over the parts that are equal in `neighbour`, so that both share one copy.
    fn share(&mut self, _neighbour: &Self) {}

    /// Whether anything differs from what was held `before` under the same name. Otherwise that row stays.
    fn differs(&self, _before: &Self) -> bool {
        true
    }
}

impl<T: Row> Row for &T {
    fn namespace(&self) -> &str {
        (**self).namespace()
    }

    fn name(&self) -> &str {
        (**self).name()
    }
}

impl<T: Row> Row for Box<T> {
    fn namespace(&self) -> &str {
        (**self).namespace()
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn share(&mut self, neighbour: &Self) {
        (**self).share(neighbour);
    }

    fn differs(&self, before: &Self) -> bool {
        (**self).differs(before)
    }
}

impl<T: Row> Row for Arc<T> {
    fn namespace(&self) -> &str {
        (**self).namespace()
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn share(&mut self, neighbour: &Self) {
        // A new row is not shared yet.
        if let Some(own) = Self::get_mut(self) {
            own.share(neighbour);
        }
    }

    fn differs(&self, before: &Self) -> bool {
        !Self::ptr_eq(self, before) && (**self).differs(before)
    }
}

/// No row: an index that holds no objects of a resource.
impl Row for Infallible {
    fn namespace(&self) -> &str {
        match *self {}
    }

    fn name(&self) -> &str {
        match *self {}
    }
}

/// A change of an object: its row before, and its row now. At least one of them exists.
#[derive(Debug, PartialEq, Eq)]
pub struct Change<'t, R> {
    /// The row that is gone.
    pub before: Option<R>,
    /// The row that is in the table now.
    pub after: Option<&'t R>,
}

/// A secondary index of a [`Table`].
pub trait Lookup<R>: Default + Debug {
    /// Adds a row of the table.
    fn add(&mut self, row: &R);

    /// Removes a row that was added.
    fn remove(&mut self, row: &R);

    /// Puts a row in the place of one of its name.
    fn replace(&mut self, before: &R, after: &R) {
        self.remove(before);
        self.add(after);
    }
}

impl<R> Lookup<R> for () {
    fn add(&mut self, _: &R) {}

    fn remove(&mut self, _: &R) {}
}

/// Rows by namespace and name, and a look-up by something else.
#[derive(Clone, Debug)]
pub struct Table<R, L = ()> {
    rows: Vec<R>,
    lookup: L,
    /// For each row, whether the list that is being read has it.
    listed: Option<Vec<bool>>,
}

impl<R, L: Default> Default for Table<R, L> {
    fn default() -> Self {
        Self { rows: Vec::new(), lookup: L::default(), listed: None }
    }
}

fn key<R: Row>(row: &R) -> (&str, &str) {
    (row.namespace(), row.name())
}

impl<R: Row, L: Lookup<R>> Table<R, L> {
    /// The table of `rows`. Of equal names the last one counts; `duplicate` gets one call for each of the others.
    /// Rows without a name are all different objects.
    pub fn new(mut rows: Vec<R>, mut duplicate: impl FnMut(&R)) -> Self {
        // What kubectl prints is sorted already.
        if !rows.is_sorted_by(|a, b| key(a) < key(b)) {
            rows.sort_by(|a, b| key(a).cmp(&key(b)));
            rows.dedup_by(|later, earlier| {
                let is_same = key(later) == key(earlier) && !later.name().is_empty();
                if is_same {
                    std::mem::swap(later, earlier);
                    duplicate(later);
                }
                is_same
            });
        }
        rows.shrink_to_fit();
        let mut lookup = L::default();
        for row in &rows {
            lookup.add(row);
        }
        Self { rows, lookup, listed: None }
    }

    /// Adds a row in the place of the one of its name. `None`: nothing of it differs.
    pub fn insert(&mut self, mut row: R) -> Option<Change<'_, R>> {
        match self.place(key(&row)) {
            Ok(at) => self.replace(at, row),
            Err(at) => {
                // Neighbours are mostly replicas of one workload.
                let neighbours = self.rows[..at].last().into_iter().chain(self.rows.get(at));
                for neighbour in neighbours {
                    row.share(neighbour);
                }
                self.lookup.add(&row);
                self.rows.insert(at, row);
                if let Some(listed) = &mut self.listed {
                    listed.insert(at, true);
                }
                Some(Change { before: None, after: self.rows.get(at) })
            }
        }
    }

    /// Where the row of this name is, or would be.
    fn place(&self, name: (&str, &str)) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| key(row).cmp(&name))
    }

    /// Puts a row in the place of the one of its name.
    fn replace(&mut self, at: usize, mut row: R) -> Option<Change<'_, R>> {
        if let Some(listed) = &mut self.listed {
            listed[at] = true;
        }
        let place = &mut self.rows[at];
        if !row.differs(place) {
            return None;
        }
        row.share(place);
        self.lookup.replace(place, &row);
        let before = std::mem::replace(place, row);
        Some(Change { before: Some(before), after: Some(place) })
    }

    /// Removes the row of this name.
    pub fn remove(&mut self, namespace: &str, name: &str) -> Option<Change<'_, R>> {
        let at = self.place((namespace, name)).ok()?;
        let row = self.rows.remove(at);
        self.lookup.remove(&row);
        if let Some(listed) = &mut self.listed {
            listed.remove(at);
        }
        Some(Change { before: Some(row), after: None })
    }

    /// A list of all objects begins. A list that was not complete does not count.
    pub fn begin_list(&mut self) {
        self.listed = Some(vec![false; self.rows.len()]);
    }

    /// The list has this row, in place of one of its name. If there is none, returns it as an error: to insert many in front of
    /// many others would move each of these many times.
    pub fn list(&mut self, row: R) -> Result<Option<Change<'_, R>>, R> {
        match self.place(key(&row)) {
            Ok(at) => Ok(self.replace(at, row)),
            Err(_) => Err(row),
        }
    }

    /// The row of this name stays, whether the list has it or not.
    pub fn keep(&mut self, namespace: &str, name: &str) {
        if let (Ok(at), Some(listed)) = (self.place((namespace, name)), &mut self.listed) {
            listed[at] = true;
        }
    }

    /// The list is complete: removes the rows that it does not have, and adds the `new` ones.
    pub fn end_list(&mut self, new: Self, mut changed: impl FnMut(Change<'_, R>)) {
        let listed = self.listed.take().unwrap_or_else(|| vec![false; self.rows.len()]);
        let mut listed = listed.into_iter();
        for row in self.rows.extract_if(.., |_| listed.next() == Some(false)) {
            self.lookup.remove(&row);
            changed(Change { before: Some(row), after: None });
        }
        if self.rows.is_empty() {
            (self.rows, self.lookup) = (new.rows, new.lookup);
            return self.rows.iter().for_each(|row| changed(Change { before: None, after: Some(row) }));
        }
        // One that was inserted since it was listed is there already.
        let new: Vec<R> = new.rows.into_iter().filter(|row| self.place(key(row)).is_err()).collect();
        for row in &new {
            self.lookup.add(row);
            changed(Change { before: None, after: Some(row) });
        }
        if !new.is_empty() {
            self.rows.extend(new);
            // Of two sorted parts: they are merged.
            self.rows.sort_by(|a, b| key(a).cmp(&key(b)));
        }
    }

    /// Sets all rows. Of equal names the last one counts.
    pub fn replace_all(&mut self, rows: Vec<R>, mut changed: impl FnMut(Change<'_, R>)) {
        self.begin_list();
        let mut new = Vec::new();
        for row in rows {
            match self.list(row) {
                Ok(change) => change.into_iter().for_each(&mut changed),
                Err(row) => new.push(row),
            }
        }
        self.end_list(Self::new(new, |_| {}), changed);
    }

    /// All rows, sorted by namespace and name.
    pub fn rows(&self) -> &[R] {
        &self.rows
    }

    /// All rows, without the look-up.
    pub fn into_rows(self) -> Vec<R> {
        self.rows
    }

    /// The rows of a namespace, sorted by name.
    pub fn of_namespace(&self, namespace: &str) -> &[R] {
        let rest = &self.rows[self.rows.partition_point(|r| r.namespace() < namespace)..];
        &rest[..rest.partition_point(|r| r.namespace() == namespace)]
    }

    /// The row of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&R> {
        self.named(namespace, name).last()
    }

    /// The rows of a namespace from this name on.
    pub fn starting_at(&self, namespace: &str, name: &str) -> &[R] {
        let rest = &self.rows[self.rows.partition_point(|r| key(r) < (namespace, name))..];
        &rest[..rest.partition_point(|r| r.namespace() == namespace)]
    }

    /// The rows of this name: several only where the name is empty.
    pub fn named(&self, namespace: &str, name: &str) -> &[R] {
        let rest = &self.rows[self.rows.partition_point(|r| key(r) < (namespace, name))..];
        &rest[..rest.partition_point(|r| key(r) == (namespace, name))]
    }

    /// The look-up.
    pub fn lookup(&self) -> &L {
        &self.lookup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Row for (&str, &str, u8) {
        fn namespace(&self) -> &str {
            self.0
        }

        fn name(&self) -> &str {
            self.1
        }
    }

    /// Sum of the numbers of all rows.
    #[derive(Debug, Default, PartialEq)]
    struct Sum(u8);

    impl Lookup<(&str, &str, u8)> for Sum {
        fn add(&mut self, row: &(&str, &str, u8)) {
            self.0 += row.2;
        }

        fn remove(&mut self, row: &(&str, &str, u8)) {
            self.0 -= row.2;
        }
    }

    #[test]
    fn the_last_row_of_a_name_counts_and_rows_without_names_all_do() {
        let mut duplicates = Vec::new();
        let rows = vec![("b", "x", 1), ("a", "", 2), ("a", "y", 4), ("b", "x", 8), ("a", "", 16), ("b", "x", 32)];
        let table: Table<_, Sum> = Table::new(rows, |row| duplicates.push(row.2));
        assert_eq!(table.rows(), [("a", "", 2), ("a", "", 16), ("a", "y", 4), ("b", "x", 32)]);
        assert_eq!((duplicates, table.lookup()), (vec![1, 8], &Sum(54)));
        assert_eq!(table.of_namespace("a").len(), 3);
        assert_eq!(table.named("a", "").len(), 2);
        assert_eq!((table.get("b", "x"), table.get("b", "y")), (Some(&("b", "x", 32)), None));
    }

    #[test]
    fn changes_keep_order_and_lookup() {
        let mut table: Table<_, Sum> = Table::new(vec![("a", "b", 1), ("a", "d", 2)], |_| {});
        table.insert(("a", "c", 4));
        table.insert(("a", "b", 8));
        table.insert(("A", "z", 16));
        table.remove("a", "d");
        table.remove("a", "none");
        assert_eq!(table.rows(), [("A", "z", 16), ("a", "b", 8), ("a", "c", 4)]);
        assert_eq!(table.lookup(), &Sum(28));
    }

    #[test]
    fn a_list_removes_what_it_does_not_have() {
        let mut table: Table<_, Sum> = Table::new(vec![("a", "b", 1), ("a", "d", 2), ("b", "x", 4)], |_| {});
        table.begin_list();
        let change = table.list(("a", "d", 8));
        assert_eq!(change, Ok(Some(Change { before: Some(("a", "d", 2)), after: Some(&("a", "d", 8)) })));
        // It is not complete.
        table.begin_list();
        assert!(table.list(("a", "b", 16)).is_ok());
        let new = [("b", "y", 32), ("a", "a", 64), ("a", "a", 63), ("c", "z", 9)];
        assert_eq!(new.map(|row| table.list(row).err()), new.map(Some));
        assert!(table.insert(("c", "z", 7)).is_some());
        // This one stays anyhow.
        table.keep("b", "x");
        table.keep("b", "none");
        // Events go on.
        let added = Change { before: None, after: Some(&("a", "c", 1)) };
        assert_eq!(table.insert(("a", "c", 1)), Some(added));
        assert_eq!(table.remove("a", "c"), Some(Change { before: Some(("a", "c", 1)), after: None }));
        let (mut gone, mut added) = (Vec::new(), Vec::new());
        table.end_list(Table::new(new.to_vec(), |_| {}), |change| {
            gone.extend(change.before);
            added.extend(change.after.copied());
        });
        assert_eq!((gone, added), (vec![("a", "d", 8)], vec![("a", "a", 63), ("b", "y", 32)]));
        let rows = [("a", "a", 63), ("a", "b", 16), ("b", "x", 4), ("b", "y", 32), ("c", "z", 7)];
        assert_eq!((table.rows(), table.lookup()), (&rows[..], &Sum(122)));
    }
}
