//! One copy of each reference to a pod.

use std::{
    collections::HashSet,
    hash::BuildHasher,
    sync::{Arc, Mutex, PoisonError},
};

use roster_engine::model::{HashSeed, ObjectRef};

/// The references to all pods, shared by all threads: pods, Endpoints and slices are read one kind after the other.
///
/// All of a reference is hashed: any number of references may have the same uid.
#[derive(Debug, Default)]
pub struct Targets {
    /// It chooses the set of a reference, the same one on every thread.
    hasher: HashSeed,
    seen: [Mutex<HashSet<Arc<ObjectRef>, HashSeed>>; 16],
}

impl Targets {
    pub(super) fn share(&self, target: &mut Arc<ObjectRef>) {
        if target.uid.is_empty() {
            return;
        }
        let hash = self.hasher.hash_one(&**target);
        let shard = usize::try_from(hash >> 60).unwrap_or_default();
        let mut seen = self.seen[shard].lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(target) {
            Some(first) => *target = Arc::clone(first),
            None => drop(seen.insert(Arc::clone(target))),
        }
    }
}
