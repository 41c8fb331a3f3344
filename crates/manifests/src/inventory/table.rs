//! Objects of one resource, sorted by namespace and name, with look-ups that follow every change.
//!
//! A table is one sorted list of pointers. An object costs eight bytes beside itself, where half-full nodes of a tree cost
//! more than the objects. An insertion moves what follows: about 60 µs among 150 000 pods, which the rate of changes
//! of a cluster allows. A whole list is sorted once.

use std::sync::Arc;

/// A row of a [`Table`].
pub trait Row {
    /// The namespace; empty for objects of the whole cluster.
    fn namespace(&self) -> &str;

    /// The name.
    fn name(&self) -> &str;

    /// Takes over the parts that are equal in `neighbour`, so that both share one copy.
    fn share(&mut self, _neighbour: &Self) {}
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
}

impl<T: Row> Row for Arc<T> {
    fn namespace(&self) -> &str {
        (**self).namespace()
    }

    fn name(&self) -> &str {
        (**self).name()
    }
}

/// A secondary index of a [`Table`].
pub trait Lookup<R>: Default {
    /// Adds a row of the table.
    fn add(&mut self, row: &R);

    /// Removes a row that was added.
    fn remove(&mut self, row: &R);
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

    /// Adds a row, and returns the one of its name, whose place it takes.
    pub fn insert(&mut self, mut row: R) -> Option<R> {
        match self.place(key(&row)) {
            Ok(at) => Some(self.replace(at, row)),
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
                None
            }
        }
    }

    /// Where the row of this name is, or would be.
    fn place(&self, name: (&str, &str)) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| key(row).cmp(&name))
    }

    /// Puts a row in the place of the one of its name, which it returns.
    fn replace(&mut self, at: usize, mut row: R) -> R {
        row.share(&self.rows[at]);
        let before = std::mem::replace(&mut self.rows[at], row);
        self.lookup.remove(&before);
        self.lookup.add(&self.rows[at]);
        if let Some(listed) = &mut self.listed {
            listed[at] = true;
        }
        before
    }

    /// Removes the row of this name, and returns it.
    pub fn remove(&mut self, namespace: &str, name: &str) -> Option<R> {
        let at = self.place((namespace, name)).ok()?;
        let row = self.rows.remove(at);
        self.lookup.remove(&row);
        if let Some(listed) = &mut self.listed {
            listed.remove(at);
        }
        Some(row)
    }

    /// A list of all objects begins. A list that was not complete does not count.
    pub fn begin_list(&mut self) {
        self.listed = Some(vec![false; self.rows.len()]);
    }

    /// The list has this row, in place of one of its name. If there is none, returns it: to insert many in front of many others
    /// would move each of these many times.
    pub fn list(&mut self, row: R) -> Option<R> {
        match self.place(key(&row)) {
            Ok(at) => {
                self.replace(at, row);
                None
            }
            Err(_) => Some(row),
        }
    }

    /// The list is complete: removes the rows that it does not have, adds the `new` ones, and returns those that are gone.
    pub fn end_list(&mut self, new: Self) -> Vec<R> {
        let listed = self.listed.take().unwrap_or_else(|| vec![false; self.rows.len()]);
        let mut listed = listed.into_iter();
        let gone: Vec<R> = self.rows.extract_if(.., |_| listed.next() == Some(false)).collect();
        for row in &gone {
            self.lookup.remove(row);
        }
        for row in &new.rows {
            self.lookup.add(row);
        }
        if !new.rows.is_empty() {
            self.rows.extend(new.rows);
            // Of two sorted parts: they are merged.
            self.rows.sort_by(|a, b| key(a).cmp(&key(b)));
        }
        gone
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
        assert_eq!(table.list(("a", "d", 8)), None);
        // It is not complete.
        table.begin_list();
        assert_eq!(table.list(("a", "b", 16)), None);
        let new = [("b", "y", 32), ("a", "a", 64), ("a", "a", 63)];
        assert_eq!(new.map(|row| table.list(row)), new.map(Some));
        // Events go on.
        assert_eq!((table.insert(("a", "c", 1)), table.remove("a", "c")), (None, Some(("a", "c", 1))));
        assert_eq!(table.end_list(Table::new(new.to_vec(), |_| {})), [("a", "d", 8), ("b", "x", 4)]);
        assert_eq!(table.rows(), [("a", "a", 63), ("a", "b", 16), ("b", "y", 32)]);
        assert_eq!(table.lookup(), &Sum(111));
    }
}
