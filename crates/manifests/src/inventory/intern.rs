//! Shares the parts that many objects have in common.

use std::{
    collections::HashSet,
    hash::{BuildHasher, Hash},
    sync::{Arc, Mutex, PoisonError},
};

use roster_engine::model::{ContainerPort, EndpointAddress, HashSeed, Labels, ObjectRef, OwnerReference, Text};

use super::objects::AnyObject;

/// Replaces equal parts of objects by one copy: pods of a workload have the same labels and ports, a node runs many of
/// them, and Endpoints and slices refer to them. A cluster takes about half the memory.
#[derive(Debug)]
pub struct Interner<'a> {
    labels: Pool<Arc<Labels>>,
    ports: Pool<Arc<[ContainerPort]>>,
    owners: Pool<Arc<OwnerReference>>,
    texts: Pool<Text>,
    targets: &'a Targets,
}

impl<'a> Interner<'a> {
    /// An interner for one thread; all threads have the targets in common.
    pub fn new(targets: &'a Targets) -> Self {
        Self {
            labels: Pool::default(),
            ports: Pool::default(),
            owners: Pool::default(),
            texts: Pool::default(),
            targets,
        }
    }

    /// Replaces the parts of `object` that an earlier object had by its copies.
    pub fn share(&mut self, object: &mut AnyObject) {
        match object {
            AnyObject::Pod(pod) => {
                self.targets.share(&mut pod.reference);
                self.labels.share(&mut pod.labels);
                self.ports.share(&mut pod.ports);
                pod.owner.iter_mut().for_each(|o| self.owners.share(o));
                self.text(&mut pod.node_name);
                self.text(&mut pod.subdomain);
            }
            AnyObject::Endpoints(endpoints) => {
                for subset in &mut endpoints.subsets {
                    subset.addresses.iter_mut().for_each(|a| self.address(a));
                    subset.not_ready_addresses.iter_mut().for_each(|a| self.address(a));
                }
            }
            AnyObject::EndpointSlice(slice) => {
                for endpoint in &mut slice.endpoints {
                    endpoint.node_name.iter_mut().for_each(|t| self.text(t));
                    endpoint.zone.iter_mut().for_each(|t| self.text(t));
                    endpoint.target_ref.iter_mut().for_each(|t| self.targets.share(t));
                }
            }
            AnyObject::Service(_)
            | AnyObject::Node(_)
            | AnyObject::Workload(_)
            | AnyObject::Autoscaler(_)
            | AnyObject::NodePool(_) => {}
        }
    }

    fn address(&mut self, address: &mut EndpointAddress) {
        address.node_name.iter_mut().for_each(|t| self.text(t));
        address.target_ref.iter_mut().for_each(|t| self.targets.share(t));
    }

    fn text(&mut self, text: &mut Text) {
        if text.is_heap_allocated() {
            self.texts.share(text);
        }
    }
}

/// Recent values.
#[derive(Debug)]
struct Pool<T>(HashSet<T, HashSeed>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(HashSet::default())
    }
}

impl<T: Clone + Eq + Hash> Pool<T> {
    /// Size at which a pool is emptied, so that input without equal parts does not fill it. Objects are mostly sorted by name,
    /// so that neighbours are alike, and the cost is a few copies.
    const LIMIT: usize = 1 << 15;

    fn share(&mut self, value: &mut T) {
        if let Some(seen) = self.0.get(value) {
            *value = seen.clone();
            return;
        }
        if self.0.len() >= Self::LIMIT {
            self.0.clear();
        }
        self.0.insert(value.clone());
    }
}

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
