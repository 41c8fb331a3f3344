//! What this program has written, and what it has read because it was in doubt, entered into its copy of the cluster.
//!
//! The watch may be quicker or slower than the answer of a request. Neither must undo what is newer.

use std::{collections::BTreeSet, sync::Arc};

use roster_engine::model::{EndpointSlice, Endpoints, Text};
use roster_manifests::inventory::Row;
use tokio::time::Instant;

use super::{
    cluster_copy::{ClusterCopy, CopyState, inserted, removed, share_targets},
    queue::ServiceKey,
    unseen_writes::is_reached,
    watched_value::Watched,
};

impl ClusterCopy {
    /// The objects of a Service were read from the API server, as lists of these versions: nothing of it is doubted any more.
    pub(super) fn read(
        &self,
        key: &ServiceKey,
        endpoints: Option<(Vec<Endpoints>, String)>,
        slices: Option<(Vec<EndpointSlice>, String)>,
    ) {
        let mut state = self.lock();
        state.doubted.remove(key);
        if let Some((slices, version)) = slices {
            let known = state.cluster.slices.last_known().lookup().of(&key.namespace, &key.name).to_vec();
            let known: Vec<Text> = known.iter().map(|slice| slice.meta.name.clone()).collect();
            read(&mut state, key, &known, slices, &version);
        }
        if let Some((endpoints, version)) = endpoints {
            read(&mut state, key, std::slice::from_ref(&key.name), endpoints, &version);
        }
    }

    /// An object was written. The next plan must see it, and its event may take a while.
    pub(super) fn wrote<T: Watched>(&self, object: T) {
        let mut state = self.lock();
        if self.serves_a_part()
            && let Some((_, key)) = object.written()
        {
            state.contest.wrote(&key, Instant::now());
        }
        wrote(&mut state, object);
    }

    /// An object was deleted. There may be another one of its name already.
    pub(super) fn deleted<T: Watched>(&self, object: &T) {
        let mut state = self.lock();
        let held = T::table(&mut state.cluster).last_known().get(object.namespace(), object.name());
        let uid = |object: &T| object.written().map(|(meta, _)| meta.uid.clone());
        if held.is_some_and(|held| uid(held) == uid(object)) {
            forget::<T>(&mut state, object.namespace(), object.name());
        }
    }
}

/// Enters all objects of a Service as they were read, in place of the `known` ones. What this program believes to have written
/// does not count against them.
///
/// One that is newer than the list may have been created since.
fn read<T: Watched>(state: &mut CopyState, key: &ServiceKey, known: &[Text], objects: Vec<T>, version: &str) {
    let unseen = T::unseen(state).map(|unseen| unseen.read(key)).unwrap_or_default();
    let stored: BTreeSet<&str> = objects.iter().map(Row::name).collect();
    for name in known.iter().filter(|known| !stored.contains(known.as_str())) {
        let held = T::table(&mut state.cluster).last_known().get(&key.namespace, name).and_then(|held| held.written());
        if held.is_some_and(|(held, _)| is_reached(&held.resource_version, version)) {
            forget::<T>(state, &key.namespace, name);
        }
    }
    drop(stored);
    for object in objects {
        if unseen.contains(object.name()) {
            removed::<T>(state, &key.namespace, object.name());
        }
        wrote(state, object);
    }
}

/// Enters an object that was written, unless the watch was quicker.
fn wrote<T: Watched>(state: &mut CopyState, object: T) {
    let Some((meta, service)) = object.written() else { return };
    let known = T::table(&mut state.cluster).last_known().get(&meta.namespace, &meta.name);
    let known = known.and_then(|known| known.written());
    if known.is_some_and(|(known, _)| is_reached(&meta.resource_version, &known.resource_version)) {
        return;
    }
    if let Some(unseen) = T::unseen(state) {
        unseen.wrote(meta, service);
    }
    let mut object = Arc::new(object);
    share_targets(&state.cluster, &mut object);
    inserted(state, object);
}

/// Removes an object that was deleted, unless the watch was quicker.
fn forget<T: Watched>(state: &mut CopyState, namespace: &str, name: &str) {
    let before = removed::<T>(state, namespace, name).and_then(|change| change.before);
    if let Some((meta, service)) = before.as_ref().and_then(|before| before.written())
        && let Some(unseen) = T::unseen(state)
    {
        unseen.deleted(meta, service);
    }
}
