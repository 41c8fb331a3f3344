//! Keeps a sink in step with the objects of a resource: list, watch, reconnect, and list again.
//!
//! kube's own watcher lists again and backs off as client-go does. A sink differs from another only in what it holds.

use std::time::Duration;

use futures::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture};
use kube::{
    Resource as _,
    runtime::{
        utils::{Backoff, StreamBackoff},
        watcher::{self, DefaultBackoff},
    },
};
use roster_engine::model::{Resource, json::message::message};
use roster_manifests::inventory::{Loss, Sink};
use tokio::time::{Instant, sleep};

use super::{
    failure_log::FailureLog,
    request_failure::watch_failure_text,
    watch_events::{ListStreaming, WatchPlace, watch_events},
    watch_failures::{WatchFailures, WatchMetrics},
    watched_object::WatchedObject,
};
use crate::runtime::aside::aside;

/// The pauses of kube's watcher, up to another longest one.
struct WatchPauses {
    pauses: DefaultBackoff,
    longest: Duration,
}

impl Iterator for WatchPauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.pauses.next().map(|pause| pause.min(self.longest))
    }
}

impl Backoff for WatchPauses {
    fn reset(&mut self) {
        self.pauses.reset();
    }
}

/// The pause before the next list when an object of a list cannot be read: as long as the longest one of kube's watcher between failures.
const UNREADABLE: Duration = Duration::from_secs(30);

/// A watch ended, which kube's watcher never does by itself.
#[derive(Debug, thiserror::Error)]
#[error("the watch of {0} ended")]
pub(crate) struct WatchEnded(&'static str);

/// Feeds `sink` until the future is dropped. Errors are logged, each cause once a minute, and the request is repeated, forever;
/// meanwhile the objects are as they were, and after a minute they count as old.
pub(crate) fn reflect<S>(
    client: kube::Client,
    place: impl Into<WatchPlace>,
    streaming: ListStreaming,
    sink: S,
    metrics: WatchMetrics,
) -> BoxFuture<'static, Result<(), WatchEnded>>
where
    S: Sink + Send + 'static,
{
    follow(client, place.into(), streaming, Box::new(sink), metrics).boxed()
}

/// Not generic: this future is large, and would be compiled again for each type of sink.
async fn follow(
    client: kube::Client,
    place: WatchPlace,
    streaming: ListStreaming,
    mut sink: Box<dyn ObjectSink>,
    metrics: WatchMetrics,
) -> Result<(), WatchEnded> {
    let resource = place.resource;
    let name = resource.plural();
    let watch = || {
        let pauses = WatchPauses { pauses: DefaultBackoff::default(), longest: place.times.longest_pause };
        StreamBackoff::new(watch_events(client.clone(), place.clone(), streaming.clone()), pauses).boxed()
    };
    let mut events = watch();
    // A list without them would say that these objects do not exist.
    let (mut listed, mut unreadable) = (0_usize, 0_usize);
    let (mut failures, mut log) = (WatchFailures::default(), FailureLog::default());
    metrics.stale(name, false);
    loop {
        // The sink takes together what has arrived.
        let event = if let Some(event) = events.try_next().now_or_never() {
            event
        } else {
            sink.settle();
            events.try_next().await
        };
        // `Init` comes before the first answer to a list, and a part of a list proves nothing yet.
        if let Ok(Some(watcher::Event::InitDone | watcher::Event::Apply(_) | watcher::Event::Delete(_))) = event
            && unreadable == 0
            && failures.end()
        {
            log.end();
            metrics.works(name);
        }
        match event {
            Ok(None) => return Err(WatchEnded(name)),
            Ok(Some(watcher::Event::Init)) => {
                sink.begin_list();
                (listed, unreadable) = (0, 0);
            }
            Ok(Some(watcher::Event::InitApply(object))) => {
                listed += 1;
                unreadable += usize::from(!is_read(name, &object, sink.list(&object.text)));
            }
            Ok(Some(watcher::Event::InitDone)) if unreadable > 0 => {
                tracing::warn!(
                    resource = name,
                    unreadable,
                    "some objects of the list cannot be read: it removes none, and is asked for again"
                );
                if failures.error(Instant::now()) {
                    metrics.stale(name, true);
                    sink.lost(Loss::Stale);
                }
                // Its objects are not needed until the next list.
                sink.begin_list();
                (listed, unreadable) = (0, 0);
                sleep(UNREADABLE).await;
                events = watch();
            }
            Ok(Some(watcher::Event::InitDone)) => {
                // A list may be of any length: what is new in it is sorted, and what is gone is freed.
                aside(|| sink.end_list());
                tracing::debug!(resource = name, objects = listed, "listed");
                metrics.stale(name, false);
            }
            Ok(Some(watcher::Event::Apply(object))) => {
                is_read(name, &object, sink.apply(&object.text));
            }
            Ok(Some(watcher::Event::Delete(object))) => {
                let (namespace, name) = (&object.meta().namespace, &object.meta().name);
                // By its name: its last state may be one that cannot be read.
                sink.delete(namespace.as_deref().unwrap_or_default(), name.as_deref().unwrap_or_default());
            }
            Err(error) => {
                let text = watch_failure_text(&error);
                if let Some(loss) = loss(&error, resource) {
                    tracing::debug!(resource = name, error = %text, ?loss, "the watch has failed");
                    metrics.stale(name, loss == Loss::Unconverted);
                    sink.lost(loss);
                    continue;
                }
                metrics.fails(name, &text);
                if log.is_due(&text, Instant::now()) {
                    tracing::warn!(resource = name, error = %text, "the watch has failed");
                }
                if failures.error(Instant::now()) {
                    tracing::warn!(resource = name, "the watch has failed for a minute: the objects count as old");
                    metrics.stale(name, true);
                    sink.lost(Loss::Stale);
                    // A watch that resumes has no event until something changes. A new one lists first.
                    events = watch();
                }
            }
        }
    }
}

/// A sink that takes the text of objects.
trait ObjectSink: Send {
    fn begin_list(&mut self);
    fn list(&mut self, object: &str) -> serde_json::Result<()>;
    fn end_list(&mut self);
    fn apply(&mut self, object: &str) -> serde_json::Result<()>;
    fn delete(&mut self, namespace: &str, name: &str);
    fn settle(&mut self);
    fn lost(&mut self, loss: Loss);
}

impl<S: Sink + Send> ObjectSink for S {
    fn begin_list(&mut self) {
        Sink::begin_list(self);
    }

    fn list(&mut self, object: &str) -> serde_json::Result<()> {
        self.row(object).map(|row| Sink::list(self, row))
    }

    fn end_list(&mut self) {
        Sink::end_list(self);
    }

    fn apply(&mut self, object: &str) -> serde_json::Result<()> {
        self.row(object).map(|row| Sink::apply(self, row))
    }

    fn delete(&mut self, namespace: &str, name: &str) {
        Sink::delete(self, namespace, name);
    }

    fn settle(&mut self) {
        Sink::settle(self);
    }

    fn lost(&mut self, loss: Loss) {
        Sink::lost(self, loss);
    }
}

/// Whether an object was read. One that cannot be read is logged, and stays as it was.
fn is_read(resource: &str, object: &WatchedObject, read: serde_json::Result<()>) -> bool {
    let Err(error) = read else { return true };
    let (namespace, name) = (object.meta().namespace.as_deref(), object.meta().name.as_deref());
    tracing::warn!(resource, namespace, name, error = message(&error), "an object cannot be read");
    false
}

/// Why a custom resource cannot be listed, where waiting does not help. Any other failure is expected to pass.
fn loss(error: &watcher::Error, resource: Resource) -> Option<Loss> {
    let watcher::Error::InitialListFailed(kube::Error::Api(status)) = error else { return None };
    let is_unconverted = status.code == 500 && status.message.contains("conversion webhook");
    match resource {
        _ if status.code == 404 && resource.is_custom() => Some(Loss::NotInstalled),
        // Roster converts its policies itself.
        Resource::EndpointPolicy if is_unconverted => Some(Loss::Unconverted),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    };

    use axum::{
        Json, Router,
        body::Body,
        extract::{Request, State},
        http::StatusCode,
        response::{IntoResponse, Response},
    };
    use futures::stream;
    use serde::Deserialize;
    use serde_json::{Value, json};
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;

    /// Sends the weights of listed nodes; `None` if they are lost.
    struct Weights(UnboundedSender<Option<Vec<u8>>>, Vec<u8>);

    impl Sink for Weights {
        type Row = u8;

        fn row(&self, object: &str) -> serde_json::Result<u8> {
            #[derive(Deserialize)]
            struct Weighed {
                weight: u8,
            }
            serde_json::from_str::<Weighed>(object).map(|object| object.weight)
        }

        fn apply(&mut self, _: u8) {}
        fn delete(&mut self, _: &str, _: &str) {}

        fn begin_list(&mut self) {
            self.1.clear();
        }

        fn list(&mut self, row: u8) {
            self.1.push(row);
        }

        fn end_list(&mut self) {
            self.0.send(Some(std::mem::take(&mut self.1))).unwrap();
        }

        fn lost(&mut self, loss: Loss) {
            assert_eq!(loss, Loss::Stale);
            self.0.send(None).unwrap();
        }
    }

    /// An API server with nodes of these weights.
    #[derive(Clone)]
    struct Server {
        weights: Arc<Mutex<Vec<Value>>>,
        streams_lists: bool,
    }

    async fn answer(State(server): State<Server>, request: Request) -> Response {
        let query = request.uri().query().unwrap_or_default();
        let item = |weight: &Value| json!({ "metadata": { "name": format!("of {weight}"), "annotations": null }, "weight": weight });
        let items: Vec<Value> = server.weights.lock().unwrap().iter().map(item).collect();
        if query.contains("sendInitialEvents=true") {
            if !server.streams_lists {
                let status =
                    json!({ "status": "Failure", "reason": "Invalid", "code": 422, "message": "no such option" });
                return (StatusCode::UNPROCESSABLE_ENTITY, Json(status)).into_response();
            }
            let end = json!({ "resourceVersion": "1", "annotations": { "k8s.io/initial-events-end": "true" } });
            let end = json!({ "apiVersion": "v1", "kind": "Node", "metadata": end });
            // The type comes first, as in the events of API servers.
            let line = |(of, object)| Ok::<_, std::io::Error>(format!("{{\"type\":\"{of}\",\"object\":{object}}}\n"));
            let lines: Vec<_> =
                items.iter().map(|item| ("ADDED", item)).chain([("BOOKMARK", &end)]).map(line).collect();
            let open = stream::iter(lines).chain(stream::pending());
            return Body::from_stream(open).into_response();
        }
        if query.contains("watch=true") {
            return std::future::pending().await;
        }
        let list =
            json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "1" }, "items": items });
        Json(list).into_response()
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_watch_fails_with_is_known_until_it_works() {
        let is_allowed = Arc::new(AtomicBool::new(false));
        let allowed = is_allowed.clone();
        let router = Router::new().fallback(move |request: Request| {
            let is_allowed = allowed.load(Ordering::Relaxed);
            async move {
                if is_allowed {
                    let server = Server { weights: Arc::default(), streams_lists: false };
                    return answer(State(server), request).await;
                }
                let status = json!({ "reason": "Forbidden", "code": 403, "message": "nodes is forbidden" });
                (StatusCode::FORBIDDEN, Json(status)).into_response()
            }
        });
        let (rows, mut listed) = unbounded_channel();
        let metrics = WatchMetrics::default();
        let watch = tokio::spawn(reflect(
            kube::Client::new(router, "default"),
            Resource::Node,
            ListStreaming::default(),
            Weights(rows, Vec::new()),
            metrics.clone(),
        ));
        let of_nodes = |text: &str| Err(format!("nodes: {text}"));
        assert_eq!(metrics.check_listed(&[Resource::Node]), of_nodes("not listed yet"));
        sleep(Duration::from_secs(5)).await;
        assert_eq!(metrics.check_listed(&[Resource::Node]), of_nodes("403 Forbidden: nodes is forbidden"));
        is_allowed.store(true, Ordering::Relaxed);
        assert_eq!(listed.recv().await, Some(Some(Vec::new())));
        assert_eq!(metrics.check_listed(&[Resource::Node]), of_nodes("not listed yet"));
        watch.abort();
    }

    /// A rule would say of an object that is left out that it does not exist.
    #[tokio::test(start_paused = true)]
    async fn a_list_with_an_object_that_cannot_be_read_is_not_used() {
        for streams_lists in [true, false] {
            let weights = Arc::new(Mutex::new(vec![json!(1), json!("heavy"), json!(3)]));
            let router = Router::new().fallback(answer).with_state(Server { weights: weights.clone(), streams_lists });
            let (rows, mut listed) = unbounded_channel();
            let watch = tokio::spawn(reflect(
                kube::Client::new(router, "default"),
                Resource::Node,
                ListStreaming::default(),
                Weights(rows, Vec::new()),
                WatchMetrics::default(),
            ));
            sleep(Duration::from_mins(3)).await;
            assert_eq!(listed.try_recv(), Ok(None), "stale, and nothing else");
            assert!(listed.try_recv().is_err());
            *weights.lock().unwrap() = vec![json!(1), json!(2), json!(3)];
            sleep(Duration::from_mins(1)).await;
            assert_eq!(listed.try_recv(), Ok(Some(vec![1, 2, 3])));
            watch.abort();
        }
    }
}
