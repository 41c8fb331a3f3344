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
use crate::{model::Text, runtime::clock::Clock};

/// The pause between two looks at what is to be saved.
const PAUSE: Duration = Duration::from_secs(10);
/// A permission is saved again when it was renewed so much later, in seconds.
const RENEWED: u64 = 3600;

/// What is saved: each change of an object before clients see it, permissions soon after.
#[derive(Debug)]
pub(super) struct Persistence {
    files: StateFiles,
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
        let mut persistence = Self { files, clock, cache, access, permissions: BTreeMap::new() };
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
            sleep(PAUSE).await;
            if self.cache.synced().is_err() {
                continue;
            }
            self.record_permissions();
            let Some((generation, mut records)) = self.cache.begin_snapshot() else { continue };
            records.extend(access_records(&self.permissions));
            let files = self.files.clone();
            let written = tokio::task::spawn_blocking(move || files.write_snapshot(generation, records)).await;
            let size = written.map_err(std::io::Error::other).flatten();
            if let Err(error) = &size {
                tracing::error!(%error, "the snapshot of the state cannot be written");
            }
            self.cache.end_snapshot(size.ok());
        }
    }

    fn record_permissions(&mut self) {
        let now = self.seconds();
        let current: BTreeMap<AccessQuestion, u64> = self
            .access
            .permissions()
            .into_iter()
            .map(|(question, age)| (question, now.saturating_sub(age.as_secs())))
            .collect();
        let is_saved = |(question, at): (&AccessQuestion, &u64)| {
            self.permissions.get(question).is_some_and(|saved| *at < saved.saturating_add(RENEWED))
        };
        if current.len() == self.permissions.len() && current.iter().all(is_saved) {
            return;
        }
        self.permissions = current;
        self.cache.record(&access_records(&self.permissions).collect::<Vec<_>>());
    }

    /// Seconds since 1970.
    fn seconds(&self) -> u64 {
        u64::try_from(self.clock.now().as_second()).unwrap_or_default()
    }
}

/// Records of these permissions, and of no others.
fn access_records(permissions: &BTreeMap<AccessQuestion, u64>) -> impl Iterator<Item = StateRecord> {
    let each = permissions.iter().map(|(question, at)| StateRecord::Access(question.clone(), *at));
    [StateRecord::NoAccess].into_iter().chain(each)
}
