//! Saves what the node proxy knows, and starts from it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{
    access_reviews::AccessReviews, atomic_file, edge_cache::EdgeCache, saved_state::SavedState, scheme::Scheme,
};
use crate::{model::Text, runtime::clock::Clock};

/// The least pause between two writes.
const PAUSE: Duration = Duration::from_secs(10);
/// A longer pause for a larger state: so much is written in a second at most. The disks of edge nodes wear out.
const BYTES_PER_SECOND: usize = 512 << 10;

/// The file of the objects, and what is saved in it.
#[derive(Debug)]
pub(super) struct Persistence {
    path: PathBuf,
    node: Text,
    clock: Clock,
    cache: Arc<EdgeCache>,
    access: Arc<AccessReviews>,
}

impl Persistence {
    /// The file beside that of the versions.
    pub(super) fn new(
        state_file: &std::path::Path,
        node: Text,
        clock: Clock,
        cache: Arc<EdgeCache>,
        access: Arc<AccessReviews>,
    ) -> Self {
        let mut path = state_file.as_os_str().to_owned();
        path.push(".objects");
        Self { path: path.into(), node, clock, cache, access }
    }

    /// Fills the cache with what was saved. Without it, or where it cannot be used, the lists of the API server do.
    pub(super) fn load(&self, scheme: Scheme) {
        let path = self.path.display();
        let state = match atomic_file::read(&self.path) {
            Ok(None) => return,
            Ok(Some(text)) => SavedState::decode(&text, &self.node, self.seconds()).map_err(str::to_owned),
            Err(error) => Err(error.to_string()),
        };
        match state {
            Ok(mut state) => {
                tracing::info!(%path, objects = state.objects.len(), "started from the saved state");
                self.access.restore(std::mem::take(&mut state.permissions));
                state.into_lists(scheme).into_iter().for_each(|list| self.cache.apply(list));
            }
            Err(error) => tracing::error!(%path, error, "the saved state cannot be used"),
        }
    }

    /// Saves what changed, forever.
    pub(super) async fn run(self) {
        let (mut saved, mut pause) = (None, PAUSE);
        loop {
            sleep(pause).await;
            let permissions = self.access.permissions();
            let questions: Vec<_> = permissions.iter().map(|(question, _)| question.clone()).collect();
            let current = (self.cache.version(), questions);
            if self.cache.synced().is_err() || saved.as_ref() == Some(&current) {
                continue;
            }
            let state = SavedState { objects: self.cache.upstream_objects(), permissions };
            let (path, node, now) = (self.path.clone(), self.node.clone(), self.seconds());
            let written = tokio::task::spawn_blocking(move || {
                let text = state.encode(&node, now);
                atomic_file::write(&path, text.as_bytes()).map(|()| text.len())
            });
            match written.await {
                Ok(Ok(size)) => {
                    saved = Some(current);
                    pause = PAUSE.max(Duration::from_secs((size / BYTES_PER_SECOND) as u64));
                }
                Ok(Err(error)) => tracing::error!(path = %self.path.display(), %error, "the state cannot be saved"),
                Err(error) => tracing::error!(%error, "the state cannot be saved"),
            }
        }
    }

    /// Seconds since 1970.
    fn seconds(&self) -> u64 {
        u64::try_from(self.clock.now().as_second()).unwrap_or_default()
    }
}
