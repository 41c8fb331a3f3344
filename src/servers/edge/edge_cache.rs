//! The state of the node with its watch caches, behind a lock: watches of the API server write it, and clients read it.

use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use tokio::sync::watch;

use super::{
    cached_resources::CACHED,
    event_ring::Expired,
    journal::Journal,
    node_state::{NodeChanges, NodeState, ServedChange},
    overlay::OverlayPhase,
    raw_object::ObjectName,
    scheme::NodeHealth,
    selection::Selection,
    state_record::StateRecord,
    upstream_event::{UpstreamEvent, UpstreamObject},
    versions::Versions,
    watch_cache::{EventBatch, VersionedObject, WatchCache},
};
use crate::{
    engine::reason::Reason,
    model::{Pod, Resource},
};

/// What clients read. One lock keeps events in the order of their versions.
#[derive(Debug)]
pub(super) struct EdgeCache {
    state: RwLock<CacheState>,
    /// The current version: watches wait for the next one.
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct CacheState {
    node: NodeState,
    caches: Vec<(Resource, WatchCache)>,
    versions: Versions,
    journal: Option<Journal>,
    is_synced: bool,
}

/// Objects, and the version of which they are the state.
#[derive(Clone, Debug)]
pub(super) struct ObjectList {
    pub(super) objects: Vec<VersionedObject>,
    pub(super) version: u64,
}

impl EdgeCache {
    pub(super) fn new(node: NodeState, versions: Versions) -> Self {
        let changed = watch::Sender::new(versions.current());
        let caches = CACHED.iter().map(|resource| (*resource, WatchCache::default())).collect();
        Self { state: RwLock::new(CacheState { node, caches, versions, journal: None, is_synced: false }), changed }
    }

    /// Takes an event of the API server.
    pub(super) fn apply(&self, event: UpstreamEvent) {
        self.update(|node| node.apply(event));
    }

    /// The object with the text that is held already, if it is the same: a list that is read does not need the memory twice.
    pub(super) fn share(&self, object: UpstreamObject) -> UpstreamObject {
        self.read().node.share(object)
    }

    /// An object of the API server, as it is held.
    pub(super) fn held(&self, resource: Resource, name: &ObjectName) -> Option<UpstreamObject> {
        self.read().node.held(resource, name)
    }

    /// Takes the pods of the own node.
    pub(super) fn set_local_pods(&self, pods: Vec<Pod>) {
        self.serve(|node| node.set_local_pods(pods));
    }

    /// Says when the pods of the own node count.
    pub(super) fn set_overlay(&self, phase: OverlayPhase) {
        self.serve(|node| node.set_overlay(phase));
    }

    /// Takes the health of nodes, if it is known.
    pub(super) fn set_node_health(&self, health: Option<NodeHealth>) {
        self.serve(|node| node.set_node_health(health));
    }

    /// From now on, what changes is in the journal before clients see it.
    pub(super) fn set_journal(&self, journal: Journal) {
        self.write().journal = Some(journal);
    }

    /// Appends records to the journal, if there is one.
    pub(super) fn record(&self, records: &[StateRecord]) {
        if let Some(journal) = &mut self.write().journal {
            journal.append(records);
        }
    }

    /// If a snapshot is due: its generation and the records of all objects. What changes from now on follows it.
    pub(super) fn begin_snapshot(&self) -> Option<(u64, Vec<StateRecord>)> {
        let mut state = self.write();
        let generation = state.journal.as_mut().filter(|journal| journal.is_snapshot_due())?.rotate();
        Some((generation, state.node.records()))
    }

    /// The snapshot was written, with this size in bytes; or it was not.
    pub(super) fn end_snapshot(&self, size: Option<u64>) {
        if let Some(journal) = &mut self.write().journal {
            journal.end_snapshot(size);
        }
    }

    /// The number of Services whose endpoints on the own node differ from what the API server last had.
    pub(super) fn differing(&self) -> usize {
        self.read().node.differing()
    }

    /// Changes what clients see, and nothing that is held.
    fn serve(&self, change: impl FnOnce(&mut NodeState) -> Vec<ServedChange>) {
        self.update(|node| NodeChanges { served: change(node), ..NodeChanges::default() });
    }

    fn update(&self, change: impl FnOnce(&mut NodeState) -> NodeChanges) {
        let version = {
            let mut state = self.write();
            let NodeChanges { held, served } = change(&mut state.node);
            // Before clients see it: after a restart without the API server, no object is older than they have seen it.
            let CacheState { node, journal, .. } = &mut *state;
            if let Some(journal) = journal {
                journal.append(&node.records_of(&held));
            }
            state.apply(served);
            state.versions.current()
        };
        self.changed.send_if_modified(|current| std::mem::replace(current, version) != version);
    }

    /// Whether every resource was listed once. The error names those that were not.
    pub(super) fn synced(&self) -> Result<(), String> {
        let state = self.read();
        let awaited: Vec<&str> = state.node.awaited().map(Resource::plural).collect();
        if awaited.is_empty() { Ok(()) } else { Err(format!("not listed yet: {}", awaited.join(", "))) }
    }

    /// The current version, which changes with every event.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn version(&self) -> u64 {
        self.read().versions.current()
    }

    pub(super) fn list(&self, resource: Resource, selection: &Selection) -> ObjectList {
        let state = self.read();
        let objects = state.cache(resource).map(|cache| cache.list(selection)).unwrap_or_default();
        ObjectList { objects, version: state.versions.current() }
    }

    pub(super) fn get(&self, resource: Resource, name: &ObjectName) -> Option<VersionedObject> {
        self.read().cache(resource)?.get(name).cloned()
    }

    /// What a watch sends after `version`, at most `most` events.
    pub(super) fn events_since(
        &self,
        resource: Resource,
        version: u64,
        selection: &Selection,
        most: usize,
    ) -> Result<EventBatch, Expired> {
        let state = self.read();
        let cache = state.cache(resource).ok_or(Expired)?;
        cache.events_since(version, state.versions.current(), selection, most)
    }

    /// The number of objects of a resource.
    pub(super) fn count(&self, resource: Resource) -> usize {
        self.read().cache(resource).map_or(0, WatchCache::len)
    }

    /// How many endpoints in objects of a resource clients do not see, for each reason.
    pub(super) fn removals(&self, resource: Resource) -> BTreeMap<Reason, usize> {
        self.read().cache(resource).map(WatchCache::removals).unwrap_or_default()
    }

    // A panic of a writer leaves at worst an object without its event: that of a decision that failed.
    fn read(&self) -> RwLockReadGuard<'_, CacheState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, CacheState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn cache(&self, resource: Resource) -> Option<&WatchCache> {
        self.caches.iter().find(|(of, _)| *of == resource).map(|(_, cache)| cache)
    }

    fn apply(&mut self, changes: Vec<ServedChange>) {
        for change in changes {
            if let Some((_, cache)) = self.caches.iter_mut().find(|(of, _)| *of == change.resource) {
                cache.apply(change.name, change.object, &mut self.versions);
            }
        }
        if !self.is_synced && self.node.awaited().next().is_none() {
            self.is_synced = true;
            let version = self.versions.next();
            self.caches.iter_mut().for_each(|(_, cache)| cache.restart(version));
        }
    }
}
