//! The state of the node with its watch caches: watches of the API server write it, and clients read it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use roster_engine::{
    model::{Pod, Resource, Text},
    reason::Reason,
};
use tokio::{sync::watch, task::yield_now};

use super::{
    event_ring::{Expired, RingEvent},
    node_state::{NodeChanges, NodeState, ServedChange},
    overlay::OverlayPhase,
    raw_object::ObjectName,
    scheme::NodeHealth,
    selection::Selection,
    served_object::ServedObject,
    versions::Versions,
    watch_cache::{CacheChange, EventBatch, PIECE, VersionedObject, WatchCache},
};
use crate::runtime::aside::{aside, lock_aside};
use crate::servers::edge::{
    disk::{
        journal::{Journal, JournalSync},
        state_record::StateRecord,
    },
    permissions::CACHED,
    upstream::upstream_event::{UpstreamEvent, UpstreamObject},
};

/// What clients read, and what it is made from.
///
/// Writers take turns: one after the other decides what clients see, with a lock of its own. Clients never wait for a
/// decision: what was decided is put in place under another lock, for a moment. All changes of some events come into sight
/// at once, in the order of their versions.
#[derive(Debug)]
pub(crate) struct EdgeCache {
    writer: Mutex<CacheWriter>,
    served: RwLock<ServedState>,
    /// The current version: watches wait for the next one.
    changed: watch::Sender<u64>,
}

/// What a writer needs to decide.
#[derive(Debug)]
struct CacheWriter {
    node: NodeState,
    versions: Versions,
    journal: Option<Journal>,
    is_synced: bool,
}

/// What clients see.
#[derive(Debug)]
struct ServedState {
    caches: Vec<(Resource, WatchCache)>,
    version: u64,
    /// The resources that were not listed yet.
    awaited: Vec<Resource>,
    /// The number of Services whose endpoints on the own node differ from what the API server last had.
    differing: usize,
}

/// What a writer puts in place.
struct CacheUpdate {
    changes: Vec<CacheChange>,
    /// Nobody has seen a state before this version.
    restart: Option<u64>,
    version: u64,
    awaited: Vec<Resource>,
    differing: usize,
}

/// Objects, and the version of which they are the state.
#[derive(Clone, Debug)]
pub(crate) struct ObjectList {
    pub(crate) objects: Vec<VersionedObject>,
    pub(crate) version: u64,
}

impl ObjectList {
    /// Those of the objects that are among a selection. Others use the thread between two pieces of a long list.
    pub(crate) async fn selected(self, selection: &Selection) -> Self {
        if selection.has_no_condition() {
            return self;
        }
        let Self { objects, version } = self;
        let mut selected = Vec::new();
        for (i, versioned) in objects.into_iter().enumerate() {
            if i % PIECE == PIECE - 1 {
                yield_now().await;
            }
            if selection.matches(versioned.object.object_name(), &versioned.object) {
                selected.push(versioned);
            }
        }
        Self { objects: selected, version }
    }
}

impl EdgeCache {
    pub(crate) fn new(node: NodeState, versions: Versions) -> Self {
        let version = versions.current();
        let caches = CACHED.iter().map(|resource| (*resource, WatchCache::default())).collect();
        let awaited = node.awaited().collect();
        Self {
            writer: Mutex::new(CacheWriter { node, versions, journal: None, is_synced: false }),
            served: RwLock::new(ServedState { caches, version, awaited, differing: 0 }),
            changed: watch::Sender::new(version),
        }
    }

    /// Takes events of the API server.
    pub(crate) fn apply(&self, events: Vec<UpstreamEvent>) {
        let mut writer = self.writer();
        if writer.node.are_large(&events) {
            aside(|| self.update(&mut writer, |node| node.apply(events)));
        } else {
            self.update(&mut writer, |node| node.apply(events));
        }
    }

    /// The object with the text that is held already, if it is the same: a list that is read does not need the memory twice.
    pub(crate) fn share(&self, object: UpstreamObject) -> UpstreamObject {
        self.writer().node.share(object)
    }

    /// An object of the API server, as it is held.
    pub(crate) fn held(&self, resource: Resource, name: &ObjectName) -> Option<UpstreamObject> {
        self.writer().node.held(resource, name)
    }

    /// Takes the pods of the own node.
    pub(crate) fn set_local_pods(&self, pods: Vec<Pod>) {
        self.serve(|node| node.set_local_pods(pods));
    }

    /// Says when the pods of the own node count.
    pub(crate) fn set_overlay(&self, phase: OverlayPhase) {
        self.serve(|node| node.set_overlay(phase));
    }

    /// Takes the health of nodes, if it is known.
    pub(crate) fn set_node_health(&self, health: Option<NodeHealth>) {
        self.serve(|node| node.set_node_health(health));
    }

    /// From now on, what changes is in the journal before clients see it.
    pub(crate) fn set_journal(&self, journal: Journal) {
        self.writer().journal = Some(journal);
    }

    /// Appends records to the journal, if there is one.
    pub(crate) fn record(&self, records: &[StateRecord]) {
        if let Some(journal) = &mut self.writer().journal {
            journal.append(records);
        }
    }

    /// What writes the journal to the disk, without the lock.
    pub(crate) fn journal_to_sync(&self) -> Option<JournalSync> {
        self.writer().journal.as_ref()?.to_sync()
    }

    /// If a snapshot is due: its generation and the records of all objects. What changes from now on follows it.
    pub(crate) fn begin_snapshot(&self) -> Option<(u64, Vec<StateRecord>)> {
        let mut writer = self.writer();
        let generation = writer.journal.as_mut().filter(|journal| journal.is_snapshot_due())?.rotate();
        Some((generation, aside(|| writer.node.records())))
    }

    /// The snapshot was written, with this size in bytes; or it was not.
    pub(crate) fn end_snapshot(&self, size: Option<u64>) {
        if let Some(journal) = &mut self.writer().journal {
            journal.end_snapshot(size);
        }
    }

    /// The number of Services whose endpoints on the own node differ from what the API server last had.
    pub(crate) fn differing(&self) -> usize {
        self.read().differing
    }

    /// Changes what clients see, and nothing that is held.
    fn serve(&self, change: impl FnOnce(&mut NodeState) -> Vec<ServedChange>) {
        let mut writer = self.writer();
        aside(|| self.update(&mut writer, |node| NodeChanges { served: change(node), ..NodeChanges::default() }));
    }

    /// Decides, and puts the decision in place. Clients read meanwhile.
    fn update(&self, writer: &mut CacheWriter, change: impl FnOnce(&mut NodeState) -> NodeChanges) {
        let NodeChanges { held, served } = change(&mut writer.node);
        // Before clients see it: after a restart without the API server, no object is older than they have seen it.
        let CacheWriter { node, journal, versions, is_synced } = writer;
        if let Some(journal) = journal {
            journal.append(&node.records_of(&held));
        }
        let changes = self.compared(served, versions);
        let awaited: Vec<Resource> = node.awaited().collect();
        let restart = (!*is_synced && awaited.is_empty()).then(|| versions.next());
        *is_synced |= restart.is_some();
        let (version, differing) = (versions.current(), node.differing());
        // What is not needed any more is freed without the lock.
        let _forgotten = self.write().put(CacheUpdate { changes, restart, version, awaited, differing });
        self.changed.send_if_modified(|current| std::mem::replace(current, version) != version);
    }

    /// Compares changes with what clients see. Nobody else writes it meanwhile.
    fn compared(&self, served: Vec<ServedChange>, versions: &mut Versions) -> Vec<CacheChange> {
        let mut before: Vec<Option<Arc<ServedObject>>> = {
            let state = self.read();
            let seen = |change: &ServedChange| Some(state.cache(change.resource)?.get(&change.name)?.object.clone());
            served.iter().map(seen).collect()
        };
        let mut changes: Vec<CacheChange> = Vec::with_capacity(served.len());
        // One decision may name an object twice.
        let mut places: BTreeMap<(Resource, ObjectName), usize> = BTreeMap::new();
        for (change, before) in served.into_iter().zip(&mut before) {
            let key = (change.resource, change.name.clone());
            let before = match places.get(&key) {
                Some(place) => changes[*place].after().cloned(),
                None => before.take(),
            };
            if let Some(change) = CacheChange::of(change, before, versions) {
                places.insert(key, changes.len());
                changes.push(change);
            }
        }
        changes
    }

    /// Whether every resource was listed once. The error names those that were not.
    pub(crate) fn synced(&self) -> Result<(), String> {
        let state = self.read();
        let awaited: Vec<&str> = state.awaited.iter().map(|resource| resource.plural()).collect();
        if awaited.is_empty() { Ok(()) } else { Err(format!("not listed yet: {}", awaited.join(", "))) }
    }

    /// The current version, which changes with every event.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn version(&self) -> u64 {
        self.read().version
    }

    /// The objects of a namespace, or all.
    pub(crate) fn list(&self, resource: Resource, namespace: Option<&Text>) -> ObjectList {
        let state = self.read();
        let objects = state.cache(resource).map(|cache| cache.in_namespace(namespace)).unwrap_or_default();
        ObjectList { objects, version: state.version }
    }

    pub(crate) fn get(&self, resource: Resource, name: &ObjectName) -> Option<VersionedObject> {
        self.read().cache(resource)?.get(name).cloned()
    }

    /// What a watch sends after `version`, at most `most` events.
    pub(crate) fn events_since(
        &self,
        resource: Resource,
        version: u64,
        selection: &Selection,
        most: usize,
    ) -> Result<EventBatch, Expired> {
        EventBatch::collect(version, selection, most, |version| {
            let state = self.read();
            let events = state.cache(resource).ok_or(Expired)?.next_events(version, state.version, PIECE)?;
            Ok((events, state.version))
        })
    }

    /// The number of objects of a resource.
    pub(crate) fn count(&self, resource: Resource) -> usize {
        self.read().cache(resource).map_or(0, WatchCache::len)
    }

    /// How many endpoints in objects of a resource clients do not see, for each reason.
    pub(crate) fn removals(&self, resource: Resource) -> BTreeMap<Reason, usize> {
        let objects = self.read().cache(resource).map(|cache| cache.in_namespace(None)).unwrap_or_default();
        let mut sums = BTreeMap::new();
        for (reason, count) in objects.iter().flat_map(|versioned| versioned.object.removals().iter()) {
            *sums.entry(reason).or_default() += count;
        }
        sums
    }

    /// The turn of a writer. A thread that serves clients too does not wait for one that takes long.
    fn writer(&self) -> MutexGuard<'_, CacheWriter> {
        // A panic of a writer leaves at worst an object without its event: that of a decision that failed.
        lock_aside(&self.writer)
    }

    fn read(&self) -> RwLockReadGuard<'_, ServedState> {
        self.served.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ServedState> {
        self.served.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServedState {
    fn cache(&self, resource: Resource) -> Option<&WatchCache> {
        self.caches.iter().find(|(of, _)| *of == resource).map(|(_, cache)| cache)
    }

    /// Puts what was decided in place, and returns the events that are forgotten.
    fn put(&mut self, update: CacheUpdate) -> Vec<RingEvent> {
        let CacheUpdate { changes, restart, version, awaited, differing } = update;
        let mut forgotten = Vec::new();
        for change in changes {
            if let Some((_, cache)) = self.caches.iter_mut().find(|(of, _)| *of == change.resource) {
                forgotten.append(&mut cache.put(change));
            }
        }
        if let Some(version) = restart {
            forgotten.extend(self.caches.iter_mut().flat_map(|(_, cache)| cache.restart(version)));
        }
        (self.version, self.awaited, self.differing) = (version, awaited, differing);
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use roster_engine::view::KeyOrder;

    use super::*;
    use crate::servers::edge::cache::{raw_object::RawObject, scheme::EdgeScheme, selection::FieldTest};

    #[tokio::test]
    async fn a_list_of_many_pieces_has_all_that_is_selected() {
        let resource = Resource::EndpointSlice;
        let object = |i: usize| {
            let labels = format!(r#"{{"even":"{}"}}"#, i.is_multiple_of(2));
            let text = format!(r#"{{"metadata":{{"name":"s{i:03}","namespace":"n","labels":{labels}}}}}"#);
            let raw = Arc::new(RawObject::read(resource, &text).unwrap());
            VersionedObject { version: 1, object: Arc::new(ServedObject::whole(resource, raw)) }
        };
        let whole = ObjectList { objects: (0..600).map(object).collect(), version: 7 };
        for (labels, fields, want) in [
            ("", "", (600, Some("s599"))),
            ("even=true", "", (300, Some("s598"))),
            ("", "metadata.name!=s599", (599, Some("s598"))),
            ("even=true", "metadata.name=s599", (0, None)),
        ] {
            let fields = FieldTest::read_all(fields).unwrap();
            let selection = Selection { labels: labels.parse().unwrap(), fields, namespace: None };
            let ObjectList { objects, version } = whole.clone().selected(&selection).await;
            let last = objects.last().map(|last| last.object.object_name().name.as_str());
            assert_eq!(((objects.len(), last), version), (want, 7), "{labels} {fields:?}", fields = selection.fields);
        }
    }

    #[test]
    fn clients_do_not_wait_for_a_writer() {
        let node = NodeState::new("n".into(), EdgeScheme::SuperEdge, KeyOrder::AnyKey);
        let cache = EdgeCache::new(node, Versions::from(7));
        let _turn = cache.writer();
        let (all, resource) = (Selection::default(), Resource::EndpointSlice);
        assert_eq!((cache.list(resource, None).version, cache.version()), (7, 7));
        assert_eq!(cache.events_since(resource, 7, &all, 1).map(|batch| batch.version), Ok(7));
        assert_eq!((cache.count(resource), cache.differing(), cache.removals(resource).len()), (0, 0, 0));
        assert!(cache.get(resource, &ObjectName::new("n", "a")).is_none() && cache.synced().is_err());
    }
}
