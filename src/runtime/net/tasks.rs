//! Background tasks: each is watched, none may end, and all end with the server.

use std::future::Future;

use tokio::task::JoinSet;

/// Tasks that have no end.
#[derive(Debug, Default)]
pub struct Tasks(JoinSet<anyhow::Error>);

impl Tasks {
    /// Starts a task that tells why it ended.
    pub fn spawn(&mut self, task: impl Future<Output = anyhow::Error> + Send + 'static) {
        self.0.spawn(task);
    }

    /// Starts a task that has no end; if it has one all the same, that is an error.
    pub fn endless(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn(async move {
            task.await;
            anyhow::anyhow!("{name} ended")
        });
    }

    /// Ready when one of them has ended; never if there is none.
    pub(super) async fn ended(&mut self) -> anyhow::Error {
        match self.0.join_next().await {
            Some(ended) => ended.unwrap_or_else(anyhow::Error::from),
            None => std::future::pending().await,
        }
    }
}
