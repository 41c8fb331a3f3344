//! Background tasks of a server: none may end before the server, and all are stopped with it.

use std::{fmt, future::Future};

use futures::FutureExt;
use tokio::task::JoinSet;

/// Background tasks. Dropping them stops them.
#[derive(Debug, Default)]
pub struct Tasks(JoinSet<anyhow::Error>);

impl Tasks {
    /// Starts a task that returns why it ended.
    pub fn spawn(&mut self, task: impl Future<Output = anyhow::Error> + Send + 'static) {
        // Boxed, so that what a runtime makes of a task is compiled once.
        self.0.spawn(task.boxed());
    }

    /// Starts a task that never ends; if it does, that is an error.
    pub fn endless(
        &mut self,
        name: impl fmt::Display + Send + 'static,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        self.spawn(async move {
            task.await;
            anyhow::anyhow!("{name} ended")
        });
    }

    /// Takes over the tasks of a part: one of them that ends ends the server.
    pub(super) fn adopt(&mut self, mut tasks: Self) {
        if !tasks.0.is_empty() {
            self.spawn(async move { tasks.ended().await });
        }
    }

    /// Resolves when one of them has ended; never if there are none.
    pub(super) async fn ended(&mut self) -> anyhow::Error {
        match self.0.join_next().await {
            Some(ended) => ended.unwrap_or_else(anyhow::Error::from),
            None => std::future::pending().await,
        }
    }
}
