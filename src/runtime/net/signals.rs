//! The signals that end a server.

use std::task::Poll;

use anyhow::Context;
use futures::Stream;

/// An item for each SIGTERM and SIGINT from now on.
pub fn signals() -> anyhow::Result<impl Stream<Item = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate()).context("SIGTERM")?;
    let mut int = signal(SignalKind::interrupt()).context("SIGINT")?;
    Ok(futures::stream::poll_fn(move |cx| {
        // Poll both, so that both wake the task.
        let (term, int) = (term.poll_recv(cx), int.poll_recv(cx));
        if term.is_ready() || int.is_ready() { Poll::Ready(Some(())) } else { Poll::Pending }
    }))
}
