//! Background tasks of a server: none may end before the server, and all are stopped with it.

use std::{fmt, future::Future};

use futures::FutureExt;
use tokio::task::JoinSet;

/// Background tasks. Dropping them stops them.
#[derive(Debug, Default)]
pub struct Tasks {
    endless: JoinSet<anyhow::Error>,
    /// Those that end when the server stops, which waits for them.
    closing: JoinSet<()>,
}

impl Tasks {
    /// Starts a task that returns why it ended.
    pub fn spawn(&mut self, task: impl Future<Output = anyhow::Error> + Send + 'static) {
        // Boxed, so that what a runtime makes of a task is compiled once.
        self.endless.spawn(task.boxed());
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

    /// Starts a task that ends when the server [stops](super::Health), and has something to finish before. If it ends before, that
    /// is an error.
    pub fn closing(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.closing.spawn(task.boxed());
    }

    /// Takes over the tasks of a part: one of them that ends ends the server.
    pub(super) fn adopt(&mut self, mut tasks: Self) {
        let closing = std::mem::take(&mut tasks.closing);
        if !closing.is_empty() {
            self.closing(async move { drop(closing.join_all().await) });
        }
        if !tasks.endless.is_empty() {
            self.spawn(async move { tasks.ended().await });
        }
    }

    /// Resolves when one of them has ended; never if there are none.
    pub(super) async fn ended(&mut self) -> anyhow::Error {
        let Self { endless, closing } = self;
        tokio::select! {
            Some(ended) = endless.join_next() => ended.unwrap_or_else(anyhow::Error::from),
            Some(ended) = closing.join_next() => {
                ended.map_or_else(anyhow::Error::from, |()| anyhow::anyhow!("a task ended before the server"))
            }
            else => std::future::pending().await,
        }
    }

    /// Resolves when those that end with the server have ended.
    pub(super) async fn closed(&mut self) {
        while self.closing.join_next().await.is_some() {}
    }
}
