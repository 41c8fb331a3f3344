//! The response to a watch: events as they happen, until its time or its permission is over, the client leaves or falls behind.

use std::{convert::Infallible, future::Future, pin::Pin, sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures::{FutureExt, stream};
use roster_engine::model::Resource;
use tokio::{
    sync::watch,
    task::yield_now,
    time::{Instant, sleep_until},
};

use super::list_options::{ListOptions, WatchStart, expired, too_large};
use crate::runtime::{places::Place, status_error::StatusError};
use crate::servers::edge::{
    access::watch_permission::WatchPermission,
    cache::{
        edge_cache::{EdgeCache, ObjectList},
        event_ring::WatchEventType,
        selection::Selection,
        watch_cache::VersionedObject,
    },
    encoding::body_encoding::{BodyEncoding, PIECE},
    metrics::EdgeMetrics,
};

/// How long a watch lasts that does not say it, at least; up to twice as long, so that not all end at once.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(30);
/// The pause between bookmarks.
const BOOKMARKS: Duration = Duration::from_mins(1);
/// The most events that are looked up at once.
const BATCH: usize = 256;

/// Annotation of the bookmark that ends the objects at the begin of a watch.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A watch of a client. It reads the cache when the client is ready for more, so that nothing queues up for it; a
/// client that falls behind what the cache remembers is closed.
pub(super) struct WatchStream {
    cache: Arc<EdgeCache>,
    resource: Resource,
    encoding: BodyEncoding,
    selection: Selection,
    /// All events up to this version were sent.
    version: u64,
    initial: Option<InitialObjects>,
    bookmarks: Option<Instant>,
    ends: Instant,
    is_over: bool,
    changed: watch::Receiver<u64>,
    stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    metrics: EdgeMetrics,
    #[expect(dead_code, reason = "held, never read")]
    slot: Place,
    permission: WatchPermission,
}

/// The objects that a watch begins with.
struct InitialObjects {
    objects: std::vec::IntoIter<VersionedObject>,
    ends_with_bookmark: bool,
    is_begun: bool,
}

/// What a watch holds of its server, and how it is encoded.
pub(super) struct WatchContext {
    pub(crate) encoding: BodyEncoding,
    pub(crate) cache: Arc<EdgeCache>,
    pub(crate) stopping: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) metrics: EdgeMetrics,
    pub(super) slot: Place,
    pub(crate) permission: WatchPermission,
}

impl WatchStream {
    /// Begins a watch. A version that a watch cannot go on from is its first event, as with an API server; objects that are
    /// older than wanted are an error.
    pub(crate) async fn begin(
        resource: Resource,
        options: ListOptions,
        context: WatchContext,
    ) -> Result<Self, StatusError> {
        let WatchContext { encoding, cache, stopping, metrics, slot, permission } = context;
        // Before the version is read: what changes in between wakes the watch.
        let changed = cache.subscribe();
        let now = Instant::now();
        let (version, initial) = match options.watch_start() {
            WatchStart::After(version) => (version, None),
            WatchStart::Now => (cache.version(), None),
            WatchStart::Objects { not_older_than, ends_with_bookmark } => {
                let list = cache.list(resource, options.selection.namespace.as_ref());
                if let Some(wanted) = not_older_than.filter(|wanted| *wanted > list.version) {
                    return Err(too_large(wanted, list.version));
                }
                let ObjectList { objects, version } = list.selected(&options.selection).await;
                let objects = objects.into_iter();
                (version, Some(InitialObjects { objects, ends_with_bookmark, is_begun: false }))
            }
        };
        let ends = now + options.timeout.unwrap_or_else(|| default_timeout(version));
        let bookmarks = options.allows_bookmarks.then_some(now + BOOKMARKS);
        let selection = options.selection;
        Ok(Self {
            cache,
            resource,
            encoding,
            selection,
            version,
            initial,
            bookmarks,
            ends,
            is_over: false,
            changed,
            stopping,
            metrics,
            slot,
            permission,
        })
    }

    /// The response.
    pub(super) fn into_response(self) -> Response {
        let encoding = self.encoding;
        let pieces = stream::unfold(self, async |mut watch| {
            watch.next_piece().await.map(|piece| (Ok::<_, Infallible>(piece), watch))
        });
        encoding.watch_response(Body::from_stream(pieces))
    }

    /// The next events; `None`: the watch is over.
    async fn next_piece(&mut self) -> Option<Bytes> {
        if self.is_over || self.permission.is_ended() {
            return None;
        }
        if let Some(initial) = &mut self.initial
            && std::mem::replace(&mut initial.is_begun, true)
        {
            // A socket that takes megabytes at once must not delay others.
            yield_now().await;
        }
        if let Some(piece) = self.initial_piece() {
            return Some(piece);
        }
        loop {
            // Also while there is always another event.
            if (&mut self.stopping).now_or_never().is_some() || self.permission.is_ended() {
                return None;
            }
            if Instant::now() >= self.ends {
                return self.last_piece();
            }
            // Before the events are read: what changes in between wakes the watch again.
            self.changed.mark_unchanged();
            if let Some(piece) = self.event_piece() {
                return Some(piece);
            }
            let bookmark = self.bookmarks.unwrap_or(self.ends);
            tokio::select! {
                changed = self.changed.changed() => changed.ok()?,
                () = sleep_until(bookmark.min(self.ends)) => {
                    let now = Instant::now();
                    if let Some(due) = self.bookmarks.as_mut().filter(|due| **due <= now && now < self.ends) {
                        *due = now + BOOKMARKS;
                        return Some(self.bookmark(false).into());
                    }
                }
                () = &mut self.stopping => return None,
                // As at the end of its time, without another word: the client begins again, and learns why it may not.
                () = self.permission.ended() => return None,
            }
        }
    }

    /// The time is over: a bookmark lets the client go on from here.
    fn last_piece(&mut self) -> Option<Bytes> {
        self.is_over = true;
        self.bookmarks.map(|_| self.bookmark(false).into())
    }

    /// Objects as they were at the begin.
    fn initial_piece(&mut self) -> Option<Bytes> {
        let initial = self.initial.as_mut()?;
        let ends_with_bookmark = initial.ends_with_bookmark;
        let mut text = Vec::new();
        while text.len() < PIECE {
            let Some(object) = initial.objects.next() else {
                self.initial = None;
                if ends_with_bookmark {
                    text.extend(self.bookmark(true));
                }
                break;
            };
            let added = WatchEventType::Added;
            if let Err(error) = self.encoding.write_event(self.resource, added.name(), &object, &mut text) {
                self.end_with(&self.metrics.unencodable.report(self.resource, &object, &error), &mut text);
                break;
            }
            self.metrics.sent(self.resource, added);
        }
        (!text.is_empty()).then(|| text.into())
    }

    /// Events that have happened since; `None`: there are none.
    fn event_piece(&mut self) -> Option<Bytes> {
        let Ok(batch) = self.cache.events_since(self.resource, self.version, &self.selection, BATCH) else {
            let mut text = Vec::new();
            self.end_with(&expired(format!("too old resource version: {}", self.version)), &mut text);
            return Some(text.into());
        };
        let mut text = Vec::new();
        self.version = batch.version;
        for event in batch.events {
            let object = VersionedObject { version: event.version, object: event.object };
            if let Err(error) = self.encoding.write_event(self.resource, event.kind.name(), &object, &mut text) {
                self.end_with(&self.metrics.unencodable.report(self.resource, &object, &error), &mut text);
                break;
            }
            self.metrics.sent(self.resource, event.kind);
            if text.len() >= PIECE {
                // The rest is looked up again.
                self.version = event.version;
                break;
            }
        }
        (!text.is_empty()).then(|| text.into())
    }

    /// A bookmark: all events up to its version were sent.
    fn bookmark(&self, ends_initial_events: bool) -> Vec<u8> {
        let annotations = if ends_initial_events {
            format!(r#","annotations":{{"{INITIAL_EVENTS_END}":"true"}}"#)
        } else {
            String::new()
        };
        let (kind, api_version) = (self.resource.kind(), self.resource.api_version());
        let metadata = format!(r#"{{"resourceVersion":"{}","creationTimestamp":null{annotations}}}"#, self.version);
        let object = format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{metadata}}}"#);
        let mut text = Vec::new();
        self.encoding.write_bookmark(self.resource, object.as_bytes(), &mut text);
        text
    }

    /// Appends an error: the watch is over after it.
    fn end_with(&mut self, status: &StatusError, text: &mut Vec<u8>) {
        self.is_over = true;
        self.initial = None;
        self.encoding.write_error(status, text);
    }
}

/// Different for watches that begin at different versions.
fn default_timeout(version: u64) -> Duration {
    DEFAULT_TIMEOUT + Duration::from_secs(version.wrapping_mul(97) % DEFAULT_TIMEOUT.as_secs())
}
