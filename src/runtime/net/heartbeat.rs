//! The heartbeat of a runtime: whether its threads still run tasks.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep};

/// The pause between two beats.
const EVERY: Duration = Duration::from_secs(1);

/// How long a runtime may be without a beat. Its tasks take some milliseconds, so that not even a machine that is overloaded
/// makes it miss so many.
const LONGEST: Duration = Duration::from_secs(30);

/// The heartbeat of a runtime. A clone is the same one.
#[derive(Clone, Debug)]
pub(super) struct Heartbeat(Arc<Mutex<Instant>>);

impl Heartbeat {
    /// A heart that has just beaten.
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    /// Beats until it is dropped: a task of the runtime.
    pub(super) async fn beat(self) {
        loop {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            sleep(EVERY).await;
        }
    }

    /// An error if it has not beaten for too long.
    pub(super) fn check(&self) -> Result<(), String> {
        let age = self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        if age <= LONGEST { Ok(()) } else { Err(format!("no task has run for {} s", age.as_secs())) }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_heart_that_stops_is_noticed() {
        let heart = Heartbeat::new();
        let beats = tokio::spawn(heart.clone().beat());
        sleep(3 * LONGEST).await;
        assert_eq!(heart.check(), Ok(()));
        beats.abort();
        advance(Duration::from_secs(28)).await;
        assert_eq!(heart.check(), Ok(()));
        advance(Duration::from_secs(3)).await;
        assert!(heart.check().unwrap_err().starts_with("no task has run for 3"));
    }
}
