//! The events of a watch. It begins with a list, which the API server streams if it can; otherwise, and for custom resources, the
//! list is read in pages.
//!
//! Of a list in pages, an API server holds each page as a whole, encoded and decoded. A streamed list (`sendInitialEvents`, by
//! default in 1.32 and from 1.34) costs it one object at a time. kube's watcher reads either, but does not change from one to the other.
//!
//! From 1.27 to 1.31, where the feature is alpha and off by default, an API server may report a deletion before the end of a streamed
//! list, which kube's watcher ignores: there, the object stays until the next list.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use http::{Request, StatusCode};
use kube::{
    Api, Client,
    client::Body,
    runtime::watcher::{self, Config, Event, watcher},
};
use roster_engine::model::Resource;
use tokio::time::{error::Elapsed, timeout};

use super::watched_object::WatchedObject;

/// How long a watch may take to notice something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchTimes {
    /// The longest pause before a watch that has failed is tried again.
    pub(super) longest_pause: Duration,
    /// After how many seconds the API server ends a watch, which is begun again where it ended. One that lasts 5 s longer is dead: there
    /// may be a proxy that keeps the connection to this side open.
    pub(super) lasts: u32,
}

impl WatchTimes {
    /// Those of kube, with its jitter.
    pub(super) const OF_KUBE: Self = Self { longest_pause: Duration::from_mins(1), lasts: 290 };
    /// For who would otherwise act late. After a restart of the API server, what depends on a watch would be old for as long as the
    /// restart took, once more.
    pub(super) const EAGER: Self = Self { longest_pause: Duration::from_secs(2), lasts: 60 };
}

/// Objects in a page of a list.
const PAGE: u32 = 500;

/// The longest pause in a streamed list. It is longer than a connection takes to fail (10 s) or to be found dead (19 s).
const SILENCE: Duration = Duration::from_secs(30);

type WatchResult = watcher::Result<Event<WatchedObject>>;

/// Whether an API server streams lists, as far as is known. A clone is the same: all watches of a server share what one finds out.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListStreaming {
    is_missing: Arc<AtomicBool>,
}

impl ListStreaming {
    fn is_missing(&self) -> bool {
        self.is_missing.load(Ordering::Relaxed)
    }

    fn set_missing(&self, reason: &str) {
        if !self.is_missing.swap(true, Ordering::Relaxed) {
            tracing::info!(reason, "the API server does not stream lists: they are read in pages");
        }
    }
}

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchPlace {
    pub(super) resource: Resource,
    /// Only in this namespace.
    pub(super) namespace: Option<String>,
    pub(super) times: WatchTimes,
}

impl WatchPlace {
    fn api(&self, client: Client) -> Api<WatchedObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.resource),
            None => Api::all_with(client, &self.resource),
        }
    }
}

impl From<Resource> for WatchPlace {
    fn from(resource: Resource) -> Self {
        Self { resource, namespace: None, times: WatchTimes::OF_KUBE }
    }
}

/// The events of a resource, as those of kube's watcher.
pub(super) fn watch_events(
    client: Client,
    place: impl Into<WatchPlace>,
    streaming: ListStreaming,
) -> impl Stream<Item = WatchResult> + Send {
    let place = place.into();
    let events = WatchEvents::new(place.api(reading_newest(client)), &place, streaming);
    stream::unfold(events, async |mut events| events.next().await.map(|event| (event, events)))
}

/// How lists are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    InPages,
    Streamed(Progress),
}

/// How far a streamed list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The first one is asked for.
    Asked,
    /// The API server has begun its answer.
    Begun,
    /// It is complete, and its changes are watched.
    Complete,
}

/// The events of one resource.
struct WatchEvents {
    api: Api<WatchedObject>,
    resource: Resource,
    lasts: u32,
    streaming: ListStreaming,
    listing: Listing,
    events: BoxStream<'static, WatchResult>,
}

impl WatchEvents {
    fn new(api: Api<WatchedObject>, place: &WatchPlace, streaming: ListStreaming) -> Self {
        let (resource, lasts) = (place.resource, place.times.lasts);
        // Only a list in pages says why custom objects cannot be read. A stream comes from a cache, which lacks what nobody converts.
        let listing = if resource.is_custom() || streaming.is_missing() {
            Listing::InPages
        } else {
            Listing::Streamed(Progress::Asked)
        };
        Self { events: listing.events(&api, lasts), api, resource, lasts, streaming, listing }
    }

    async fn next(&mut self) -> Option<WatchResult> {
        loop {
            let Listing::Streamed(progress) = self.listing else { return self.events.next().await };
            if progress != Progress::Complete && self.streaming.is_missing() {
                self.read_in_pages();
                continue;
            }
            let Ok(event) = self.next_of_stream(progress).await else {
                // Who has not even begun to answer may have other reasons.
                if progress == Progress::Begun {
                    self.streaming.set_missing("a streamed list did not come to its end");
                }
                self.read_in_pages();
                continue;
            };
            let event = event?;
            if let Some(reason) = refusal(&event) {
                self.streaming.set_missing(reason);
                self.read_in_pages();
                continue;
            }
            match (progress, &event) {
                // The answer ended early, perhaps at the time limit of a watch.
                (Progress::Begun, Ok(Event::Init)) => {
                    self.read_in_pages();
                    continue;
                }
                // kube's watcher would go on, and the list would lack the object that it could not read.
                (Progress::Begun, Err(_)) => self.read_in_pages(),
                (_, Ok(Event::Init)) => self.listing = Listing::Streamed(Progress::Begun),
                (_, Ok(Event::InitDone)) => self.listing = Listing::Streamed(Progress::Complete),
                _ => {}
            }
            return Some(event);
        }
    }

    /// The next event; an error if a streamed list pauses for too long.
    async fn next_of_stream(&mut self, progress: Progress) -> Result<Option<WatchResult>, Elapsed> {
        match progress {
            Progress::Complete => Ok(self.events.next().await),
            Progress::Asked | Progress::Begun => timeout(SILENCE, self.events.next()).await,
        }
    }

    /// Begins again, with a list in pages.
    fn read_in_pages(&mut self) {
        tracing::debug!(resource = self.resource.plural(), "no streamed list: it is read in pages");
        self.listing = Listing::InPages;
        self.events = self.listing.events(&self.api, self.lasts);
    }
}

impl Listing {
    fn events(self, api: &Api<WatchedObject>, lasts: u32) -> BoxStream<'static, WatchResult> {
        let config = Config::default().timeout(lasts);
        let config = match self {
            Self::InPages => config.page_size(PAGE),
            Self::Streamed(_) => config.streaming_lists(),
        };
        watcher(api.clone(), config).boxed()
    }
}

/// Why the API server refuses to stream a list; `None` of any other event. Without the feature gate, 1.27 and later
/// answer 422 about `sendInitialEvents`, and earlier releases about `resourceVersionMatch`, which comes with it.
fn refusal(event: &WatchResult) -> Option<&str> {
    let Err(watcher::Error::WatchStartFailed(kube::Error::Api(status))) = event else { return None };
    let codes = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
    codes.iter().any(|code| status.code == code.as_u16()).then_some(&status.message)
}

/// The client, but that its streamed lists are as new as lists in pages.
fn reading_newest(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let send = move |request| {
        let client = client.clone();
        async move { client.send(newest(request)).await }
    };
    Client::new(tower::service_fn(send), namespace)
}

/// The request, without the version of a streamed list. kube's watcher asks for any (`0`), which may be older than what was read
/// before. Without one, the API server first catches up with etcd.
fn newest(mut request: Request<Body>) -> Request<Body> {
    let uri = request.uri().to_string();
    let any = uri.strip_suffix("&resourceVersion=0").filter(|uri| uri.contains("sendInitialEvents=true"));
    if let Some(Ok(uri)) = any.map(str::parse) {
        *request.uri_mut() = uri;
    }
    request
}
