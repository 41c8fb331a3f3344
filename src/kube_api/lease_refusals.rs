//! Whether an API server refuses a Lease, for `/readyz`.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The refusal of a Lease that goes on. A clone is the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeaseRefusals(Arc<Mutex<Option<LeaseRefusal>>>);

#[derive(Debug)]
struct LeaseRefusal {
    since: Instant,
    text: String,
}

impl LeaseRefusals {
    /// An error if the Lease has been refused for longer than this.
    pub(crate) fn check(&self, tolerance: Duration) -> Result<(), String> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(refusal) if refusal.since.elapsed() > tolerance => Err(refusal.text.clone()),
            _ => Ok(()),
        }
    }

    /// The API server refuses the Lease.
    pub(super) fn refused(&self, text: &str) {
        let mut refusal = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = refusal.as_ref().map_or_else(Instant::now, |refusal| refusal.since);
        *refusal = Some(LeaseRefusal { since, text: text.to_owned() });
    }

    /// It does not.
    pub(super) fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
