//! Saves what the node proxy knows, and starts from it.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{
    access_reviews::AccessReviews,
    access_table::AccessQuestion,
    edge_cache::EdgeCache,
    journal::Journal,
    state_files::{LoadedState, StateFiles},
    state_record::StateRecord,
};
use crate::{
    model::Text,
    runtime::{clock::Clock, file_lock::FileLock},
};

/// The longest pause between two looks at what is to be saved.
const PAUSE: Duration = Duration::from_secs(10);
/// The shortest: a client may make many permissions.
const LEAST_PAUSE: Duration = Duration::from_secs(1);
/// The pause after a snapshot that could not be written.
const RETRY: Duration = Duration::from_mins(1);
/// A permission is saved again when it was renewed so much later, in seconds.
const RENEWED: u64 = 3600;

/// What is saved: each change of an object before clients see it, permissions soon after.
#[derive(Debug)]
pub(super) struct Persistence {
    files: StateFiles,
    #[expect(dead_code, reason = "held, never read")]
    lock: Option<FileLock>,
    clock: Clock,
    cache: Arc<EdgeCache>,
    access: Arc<AccessReviews>,
    /// The permissions that were saved.
    permissions: BTreeMap<AccessQuestion, u64>,
}

impl Persistence {
    /// Fills the cache with what was saved beside the file of the versions, and begins a journal. Without it, or where it
    /// cannot be used, the lists of the API server do.
    pub(super) fn load(
        state_file: &Path,
        lock: Option<FileLock>,
        node: &Text,
        clock: Clock,
        cache: Arc<EdgeCache>,
        access: Arc<AccessReviews>,
    ) -> Self {
        let files = StateFiles::new(state_file.to_owned(), node);
        let LoadedState { state, base, next, damage } = files.load();
        if let Some(damage) = &damage {
            tracing::error!(damage, "the saved state cannot be used from there on");
        }
        let mut persistence = Self { files, lock, clock, cache, access, permissions: BTreeMap::new() };
        if let Some(mut state) = state {
            tracing::info!(path = %state_file.display(), objects = state.len(), "started from the saved state");
            persistence.permissions = std::mem::take(&mut state.permissions);
            let now = persistence.seconds();
            // A clock that was set back makes them young again: they last a day from now at most.
            let age = |at: u64| Duration::from_secs(now.saturating_sub(at));
            let permissions = persistence.permissions.iter().map(|(question, at)| (question.clone(), age(*at)));
            persistence.access.restore(permissions.collect());
            state.into_lists().into_iter().for_each(|list| persistence.cache.apply(list));
        }
        persistence.cache.set_journal(Journal::new(persistence.files.clone(), base, next, damage.is_some()));
        persistence
    }

    /// Saves permissions and, where one is due, a snapshot, forever.
    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                () = self.access.allowed_more() => {}
                () = sleep(PAUSE) => {}
            }
            self.save().await;
            sleep(LEAST_PAUSE).await;
        }
    }

    async fn save(&mut self) {
        self.record_permissions();
        let Some((generation, mut records)) = self.cache.begin_snapshot() else { return };
        records.extend(access_records(&self.permissions));
        let files = self.files.clone();
        let written = tokio::task::spawn_blocking(move || files.write_snapshot(generation, records)).await;
        let size = written.map_err(std::io::Error::other).flatten();
        if let Err(error) = &size {
            tracing::error!(%error, "the snapshot of the state cannot be written");
        }
        let is_written = size.is_ok();
        self.cache.end_snapshot(size.ok());
        if !is_written {
            // Each attempt writes all of it.
            sleep(RETRY).await;
        }
    }

    fn record_permissions(&mut self) {
        let now = self.seconds();
        let given = |age: Duration| now.saturating_sub(age.as_secs());
        let current = self.access.permissions().into_iter().map(|(question, age)| (question, given(age))).collect();
        self.cache.record(&update_permissions(&mut self.permissions, current));
    }

    /// Seconds since 1970.
    fn seconds(&self) -> u64 {
        u64::try_from(self.clock.now().as_second()).unwrap_or_default()
    }
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
    let gone = gone.into_iter().map(|(question, at)| StateRecord::AccessEnded(question, at));
    gone.chain(new.into_iter().map(|(question, at)| StateRecord::Access(question, at))).collect()
}

/// Records of these permissions, and of no others.
fn access_records(permissions: &BTreeMap<AccessQuestion, u64>) -> impl Iterator<Item = StateRecord> {
    let each = permissions.iter().map(|(question, at)| StateRecord::Access(question.clone(), *at));
    [StateRecord::NoAccess].into_iter().chain(each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Resource,
        servers::edge::{caller::CallerDigest, raw_object::ObjectName},
    };

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
