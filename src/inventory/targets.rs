//! One copy of each reference to a pod.

use std::{
    collections::HashSet,
    hash::{BuildHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

use crate::model::{HashSeed, ObjectRef};

/// The references to all pods, shared by all threads: pods, Endpoints and slices are read one kind after the other.
#[derive(Debug, Default)]
pub struct Targets {
    /// It chooses the set of a reference, the same one on every thread.
    hasher: HashSeed,
    seen: [Mutex<HashSet<Target, HashSeed>>; 16],
}

impl Targets {
    pub(super) fn share(&self, target: &mut Arc<ObjectRef>) {
        if target.uid.is_empty() {
            return;
        }
        let hash = self.hasher.hash_one(&target.uid);
        let shard = usize::try_from(hash >> 60).unwrap_or_default();
        let mut seen = self.seen[shard].lock().unwrap_or_else(PoisonError::into_inner);
        let this = Target(Arc::clone(target));
        match seen.get(&this) {
            Some(first) => *target = Arc::clone(&first.0),
            None => drop(seen.insert(this)),
        }
    }
}

/// A reference that is hashed by its uid alone, which is nearly always unique.
#[derive(Debug, PartialEq, Eq)]
struct Target(Arc<ObjectRef>);

impl Hash for Target {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.uid.hash(state);
    }
}
