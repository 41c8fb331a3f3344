//! Saves what the node proxy knows, and starts from it.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use roster_engine::model::Text;
use tokio::time::sleep;

use super::{
    journal::Journal,
    saved_permissions::SavedPermissions,
    state_files::{LoadedState, StateFiles},
};
use crate::runtime::{clock::Clock, file_lock::FileLock};
use crate::servers::edge::{access::access_reviews::AccessReviews, cache::edge_cache::EdgeCache};

/// The longest pause between two looks at what is to be saved.
const PAUSE: Duration = Duration::from_secs(10);
/// The shortest: a client may make many permissions.
const LEAST_PAUSE: Duration = Duration::from_secs(1);
/// The pause after a snapshot that could not be written.
const RETRY: Duration = Duration::from_mins(1);

/// What is saved: each change of an object before clients see it, permissions soon after, and the rest at the end.
#[derive(Debug)]
pub(crate) struct Persistence {
    files: StateFiles,
    #[expect(dead_code, reason = "held, never read")]
    lock: Option<FileLock>,
    cache: Arc<EdgeCache>,
    access: Arc<AccessReviews>,
    permissions: Arc<SavedPermissions>,
}

impl Persistence {
    /// Fills the cache with what was saved beside the file of the versions, and begins a journal. Without it, or where it
    /// cannot be used, the lists of the API server do.
    pub(crate) fn load(
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
        let mut permissions = BTreeMap::new();
        if let Some(mut state) = state {
            tracing::info!(path = %state_file.display(), objects = state.len(), "started from the saved state");
            permissions = std::mem::take(&mut state.permissions);
            let now = u64::try_from(clock.now().as_second()).unwrap_or_default();
            // A clock that was set back makes them young again: they last a day from now at most.
            let age = |at: u64| Duration::from_secs(now.saturating_sub(at));
            access.restore(permissions.iter().map(|(question, at)| (question.clone(), age(*at))).collect());
            state.into_lists().into_iter().for_each(|list| cache.apply(vec![list]));
        }
        cache.set_journal(Journal::new(files.clone(), base, next, damage.is_some()));
        let permissions = Arc::new(SavedPermissions::new(permissions, cache.clone(), clock));
        access.save_in(permissions.clone());
        Self { files, lock, cache, access, permissions }
    }

    /// Saves permissions and, where one is due, a snapshot, forever.
    pub(crate) async fn run(mut self) {
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
        self.permissions.update(|| self.access.permissions());
        let Some((generation, mut records)) = self.cache.begin_snapshot() else { return };
        records.extend(self.permissions.records());
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
}

impl Drop for Persistence {
    /// The end of the server, unless it is killed.
    fn drop(&mut self) {
        self.permissions.flush(|| self.access.permissions());
    }
}
