//! The health of nodes, read from a file or a URL.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use anyhow::Context;
use tokio::time::Instant;

use super::polled_source::{self, PolledSource, PolledText};
use crate::servers::edge::cache::{edge_cache::EdgeCache, scheme::NodeHealth};

/// Where the health of nodes is, and how long it counts.
#[derive(Clone, Debug)]
pub struct NodeHealthOptions {
    /// A JSON object of names of nodes and whether they are healthy. A node that is not named is healthy.
    pub source: PolledSource,
    /// How long it counts after it was written last. Nobody knows what is older: then all nodes are healthy.
    pub ttl: Duration,
}

/// What is known of the health of nodes, and since when.
#[derive(Debug, Default)]
struct HealthRecord {
    last: Option<PolledText>,
    known_at: Option<Instant>,
    health: Option<NodeHealth>,
}

impl HealthRecord {
    /// Takes what was read.
    fn take(&mut self, read: PolledText, now: Instant) -> anyhow::Result<()> {
        let is_new = read.written.is_none() || self.written() != read.written;
        let is_other = self.last.as_ref().is_none_or(|last| last.text != read.text);
        if is_other {
            self.health =
                Some(serde_json::from_slice(&read.text).context("it is not an object of names and booleans")?);
        }
        if is_new || is_other {
            self.known_at = Some(now);
        }
        self.last = Some(read);
        Ok(())
    }

    /// When the file was written that was read last.
    fn written(&self) -> Option<SystemTime> {
        self.last.as_ref()?.written
    }

    /// What counts now.
    fn current(&self, now: Instant, ttl: Duration) -> Option<&NodeHealth> {
        let known_at = self.known_at?;
        self.health.as_ref().filter(|_| now.duration_since(known_at) < ttl)
    }
}

/// Reads the health of nodes again and again, forever.
pub(crate) async fn follow(options: NodeHealthOptions, cache: Arc<EdgeCache>) {
    let NodeHealthOptions { source, ttl } = options;
    let (mut record, mut served) = (HealthRecord::default(), None);
    polled_source::follow(source, "the health of nodes cannot be read", move |read| {
        let now = Instant::now();
        let taken = read.and_then(|read| record.take(read, now));
        let current = record.current(now, ttl).cloned();
        if current != served {
            if current.is_none() {
                tracing::warn!("the health of nodes is too old: all count as healthy");
            }
            served.clone_from(&current);
            cache.set_node_health(current);
        }
        taken
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_counts_while_somebody_writes_it() {
        const TTL: Duration = Duration::from_secs(10);
        let begin = Instant::now();
        let written = |seconds: u64| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let (a, b) = (r#"{"a":false}"#, r#"{"b":false}"#);
        let mut record = HealthRecord::default();
        for (second, text, written, is_read, want) in [
            (0, "no JSON", written(1), false, None),
            (1, a, written(1), true, Some("a")),
            (10, a, written(1), true, Some("a")),
            // Nobody has written the file for ten seconds.
            (11, a, written(1), true, None),
            (12, a, written(2), true, Some("a")),
            // A clock that was set back is another time, too.
            (21, a, written(1), true, Some("a")),
            (22, b, written(1), true, Some("b")),
            (23, "[]", written(2), false, Some("b")),
            (32, "[]", written(2), false, None),
            // A server answers: what it says is new.
            (40, b, None, true, Some("b")),
            (49, b, None, true, Some("b")),
            (58, b, None, true, Some("b")),
        ] {
            let now = begin + Duration::from_secs(second);
            let read = record.take(PolledText { text: text.as_bytes().to_vec().into(), written }, now);
            assert_eq!(read.is_ok(), is_read, "at {second} s");
            let names =
                record.current(now, TTL).map(|health| health.keys().map(ToString::to_string).collect::<String>());
            assert_eq!(names.as_deref(), want, "at {second} s");
        }
    }
}
