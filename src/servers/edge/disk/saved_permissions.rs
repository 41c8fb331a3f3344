//! The permissions in the files of the state: refusals are there before a client sees them, permissions soon after.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use tokio::{task::spawn_blocking, time::timeout};

use super::{journal::JournalSync, state_record::StateRecord};
use crate::runtime::{aside::lock_aside, clock::Clock};
use crate::servers::edge::{
    access::{access_table::AccessQuestion, caller::CallerDigest},
    cache::edge_cache::EdgeCache,
};

/// A permission is saved again when it was renewed so much later, in seconds.
const RENEWED: u64 = 3600;
/// How long a refusal waits for the disk. It is written by then, and only the power could take it.
const SYNC: Duration = Duration::from_secs(1);

/// Permissions as they are in the files, and when the API server gave them, in seconds since 1970.
#[derive(Debug)]
pub(crate) struct SavedPermissions {
    saved: Mutex<BTreeMap<AccessQuestion, u64>>,
    cache: Arc<EdgeCache>,
    clock: Clock,
    /// The turn to sync.
    syncing: Arc<tokio::sync::Mutex<()>>,
}

impl SavedPermissions {
    /// Those of the files, after which the journal of the cache comes.
    pub(crate) fn new(saved: BTreeMap<AccessQuestion, u64>, cache: Arc<EdgeCache>, clock: Clock) -> Self {
        Self { saved: Mutex::new(saved), cache, clock, syncing: Arc::default() }
    }

    /// Writes what has changed. `current` is read only when no refusal is being written: a permission must not follow it.
    pub(crate) fn update(&self, current: impl FnOnce() -> Vec<(AccessQuestion, Duration)>) {
        let now = self.seconds();
        let given = |age: Duration| now.saturating_sub(age.as_secs());
        let mut saved = self.saved();
        let current = current().into_iter().map(|(question, age)| (question, given(age))).collect();
        self.cache.record(&update_permissions(&mut saved, current));
    }

    /// Writes that the API server has refused what it allowed before. Of other refusals nothing is written: anybody can bring
    /// them about.
    pub(crate) async fn end(&self, question: &AccessQuestion) {
        self.end_those(|saved| saved.remove_entry(question).into_iter().collect()).await;
    }

    /// The same for all permissions of a caller.
    pub(crate) async fn end_all(&self, caller: CallerDigest) {
        self.end_those(|saved| {
            let of_caller = saved.range(AccessQuestion::first_of(caller)..).map(|(question, _)| question);
            let of_caller: Vec<_> = of_caller.take_while(|question| question.caller == caller).cloned().collect();
            of_caller.into_iter().filter_map(|question| saved.remove_entry(&question)).collect()
        })
        .await;
    }

    async fn end_those(&self, take: impl FnOnce(&mut BTreeMap<AccessQuestion, u64>) -> Vec<(AccessQuestion, u64)>) {
        {
            let mut saved = self.saved();
            let ended = take(&mut saved);
            if ended.is_empty() {
                return;
            }
            self.cache.record(&ended.into_iter().map(ended_record).collect::<Vec<_>>());
        }
        // Without the lock: a disk may take long.
        let _ = timeout(SYNC, self.sync_in_turn()).await;
    }

    /// One at a time: with a turn, all that was recorded before it is synced. So a disk that hangs holds one thread and one file,
    /// and not one for each refusal.
    async fn sync_in_turn(&self) {
        let turn = self.syncing.clone().lock_owned().await;
        if let Some(journal) = self.cache.journal_to_sync() {
            let synced = spawn_blocking(move || {
                sync(journal);
                // Even if nobody waits any more.
                drop(turn);
            });
            let _ = synced.await;
        }
    }

    /// Writes what has changed until now to the disk.
    pub(crate) fn flush(&self, current: impl FnOnce() -> Vec<(AccessQuestion, Duration)>) {
        self.update(current);
        if let Some(journal) = self.cache.journal_to_sync() {
            sync(journal);
        }
    }

    /// Records of these permissions, and of no others.
    pub(crate) fn records(&self) -> Vec<StateRecord> {
        let saved = self.saved();
        let each = saved.iter().map(|(question, at)| StateRecord::Access(question.clone(), *at));
        [StateRecord::NoAccess].into_iter().chain(each).collect()
    }

    /// Records are written in the order of what is done with this lock, so that a thread that has it may wait for a writer of the
    /// cache. A thread that serves clients too does not wait for that.
    fn saved(&self) -> MutexGuard<'_, BTreeMap<AccessQuestion, u64>> {
        lock_aside(&self.saved)
    }

    /// Seconds since 1970.
    fn seconds(&self) -> u64 {
        u64::try_from(self.clock.now().as_second()).unwrap_or_default()
    }
}

fn sync(journal: JournalSync) {
    if let Err(error) = journal.sync() {
        tracing::warn!(%error, "the journal of the state cannot be synced");
    }
}

fn ended_record((question, at): (AccessQuestion, u64)) -> StateRecord {
    StateRecord::AccessEnded(question, at)
}

/// What is to be saved, so that `saved` has all that is current, and nothing else.
fn update_permissions(
    saved: &mut BTreeMap<AccessQuestion, u64>,
    current: BTreeMap<AccessQuestion, u64>,
) -> Vec<StateRecord> {
    let gone: Vec<_> = saved.extract_if(.., |question, _| !current.contains_key(question)).collect();
    let is_new = |(question, at): &(AccessQuestion, u64)| {
        saved.get(question).is_none_or(|saved| *at >= saved.saturating_add(RENEWED))
    };
    let new: Vec<_> = current.into_iter().filter(is_new).collect();
    saved.extend(new.iter().cloned());
    let gone = gone.into_iter().map(ended_record);
    gone.chain(new.into_iter().map(|(question, at)| StateRecord::Access(question, at))).collect()
}

#[cfg(test)]
mod tests {
    use roster_engine::model::Resource;

    use super::*;
    use crate::servers::edge::{access::caller::CallerDigest, cache::raw_object::ObjectName};

    fn permissions(all: &[(&'static str, u64)]) -> BTreeMap<AccessQuestion, u64> {
        let caller = CallerDigest::from_hex(&"0f".repeat(32)).unwrap();
        let question =
            |verb| AccessQuestion { caller, verb, resource: Resource::Service, object: ObjectName::default() };
        all.iter().map(|(verb, at)| (question(*verb), *at)).collect()
    }

    #[test]
    fn only_what_changes_is_saved() {
        let mut saved = BTreeMap::new();
        for (current, want, after) in [
            (&[("get", 10)][..], &["access get 10"][..], &[("get", 10)][..]),
            (&[("get", 11), ("list", 12)], &["access list 12"], &[("get", 10), ("list", 12)]),
            (&[("get", 11), ("list", 12)], &[], &[("get", 10), ("list", 12)]),
            (&[("get", 10 + RENEWED), ("list", 12)], &["access get 3610"], &[("get", 3610), ("list", 12)]),
            // Those that are left are not saved again: a client could fill the disk by making one go after the other.
            (&[("list", 13)], &["ended get"], &[("list", 12)]),
            (&[("watch", 14)], &["ended list", "access watch 14"], &[("watch", 14)]),
            (&[], &["ended watch"], &[]),
        ] {
            let records = update_permissions(&mut saved, permissions(current));
            let lines = records.iter().map(|record| match record {
                StateRecord::Access(question, at) => format!("access {} {at}", question.verb),
                StateRecord::AccessEnded(question, _) => format!("ended {}", question.verb),
                other => panic!("{other:?}"),
            });
            assert_eq!(lines.collect::<Vec<_>>(), want);
            assert_eq!(saved, permissions(after));
        }
    }
}
