//! A permit that grows: memory for a body that arrives piece by piece.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Permits of one semaphore, taken step by step and released together.
#[derive(Default)]
pub(crate) struct GrowingPermit(Option<OwnedSemaphorePermit>);

impl GrowingPermit {
    /// Takes permits until it holds `count` of them; `None` if the semaphore has too few. It never waits: if holders
    /// waited, each with a part of what it needs, all of them might wait forever.
    pub(crate) fn grow_to(&mut self, semaphore: &Arc<Semaphore>, count: usize) -> Option<()> {
        let missing = count.saturating_sub(self.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
        if missing == 0 {
            return Some(());
        }
        let more = semaphore.clone().try_acquire_many_owned(u32::try_from(missing).ok()?).ok()?;
        match &mut self.0 {
            Some(held) => held.merge(more),
            None => self.0 = Some(more),
        }
        Some(())
    }
}
