//! What a watch makes of the ways in which API servers answer a request for a streamed list.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures::{Stream, StreamExt, stream};
use kube::{
    Client,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use roster_engine::model::Resource;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::watch_events::{ListStreaming, WatchPlace, WatchTimes, watch_events};

/// How an API server answers when it is asked to stream a list.
#[derive(Clone, Copy)]
enum Answer {
    /// With a status.
    Refused(StatusCode, &'static str),
    /// With these events, and no more for the time being.
    Events(&'static [&'static str]),
    /// With these events, and then it closes the connection.
    Cut(&'static [&'static str]),
    /// With one change of a node every second, and none of another object.
    Changes,
    /// Not at all.
    Silence,
}

const A: &str = r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}"#;
const UNREADABLE: &str = r#"{"type":"ADDED","object":{"metadata":{"name":5}}}"#;
const BOOKMARK: &str =
    r#"{"type":"BOOKMARK","object":{"kind":"Node","apiVersion":"v1","metadata":{"resourceVersion":"2"}}}"#;
const END: &str = r#"{"type":"BOOKMARK","object":{"kind":"Node","apiVersion":"v1","metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
/// An API server that cannot ask etcd how far it is.
const ERROR: &str = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"reason":"InternalError","message":"a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"}}"#;
const EXPIRED: &str = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired","message":"too old resource version"}}"#;
const GATE_IS_OFF: &str = "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
const OLD: &str = "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch";

fn lines(events: impl Stream<Item = String> + Send + 'static) -> Response {
    let body = events.map(|event| Ok::<_, std::io::Error>(Bytes::from(event + "\n")));
    Body::from_stream(body).into_response()
}

fn failed(code: StatusCode, message: &str) -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(), "reason": "x", "message": message,
    });
    (code, Json(status)).into_response()
}

/// An API server with the objects `a` and `b`, and what it was asked for.
#[derive(Clone)]
struct Server {
    answer: Answer,
    asked: Arc<Mutex<Vec<&'static str>>>,
}

impl Server {
    fn client(answer: Answer) -> (Client, Arc<Mutex<Vec<&'static str>>>) {
        let server = Self { answer, asked: Arc::default() };
        let asked = server.asked.clone();
        (Client::new(Router::new().fallback(Self::answer).with_state(server), "default"), asked)
    }

    async fn answer(State(server): State<Self>, request: Request) -> Response {
        let query = request.uri().query().unwrap_or_default();
        let streams = query.contains("sendInitialEvents=true");
        assert!(!streams || !query.contains("resourceVersion="), "not any version: {query}");
        let what = if streams {
            "stream"
        } else if query.contains("watch=true") {
            "watch"
        } else {
            "pages"
        };
        server.asked.lock().unwrap().push(what);
        match (what, server.answer) {
            ("pages", _) if request.uri().path().contains("nodepools") => {
                failed(StatusCode::NOT_FOUND, "the server could not find the requested resource")
            }
            ("pages", _) => {
                let items = ["a", "b"].map(|name| json!({ "metadata": { "name": name } }));
                let list: Value = json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "2" }, "items": items });
                Json(list).into_response()
            }
            ("stream", Answer::Refused(code, message)) => failed(code, message),
            ("stream", Answer::Events(events)) => {
                lines(stream::iter(events).map(ToString::to_string).chain(stream::pending()))
            }
            ("stream", Answer::Cut(events)) => lines(stream::iter(events).map(ToString::to_string)),
            ("stream", Answer::Changes) if request.uri().path().ends_with("nodes") => {
                lines(stream::unfold((), async |()| {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    Some((A.to_owned(), ()))
                }))
            }
            ("stream", Answer::Changes) => lines(stream::pending()),
            _ => std::future::pending().await,
        }
    }
}

/// The names of the first complete list, after how many seconds it was complete, and how many errors there were before it.
async fn first_list(client: &Client, resource: Resource, streaming: &ListStreaming) -> (Vec<String>, u64, usize) {
    let began = Instant::now();
    let events = watch_events(client.clone(), resource, streaming.clone()).default_backoff();
    let mut events = std::pin::pin!(events);
    let (mut listed, mut errors) = (Vec::new(), 0);
    loop {
        match events.next().await.unwrap() {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => listed.extend(kube::Resource::meta(&object).name.clone()),
            Ok(Event::InitDone) => return (listed, began.elapsed().as_secs(), errors),
            Ok(event) => panic!("{event:?} before the list"),
            Err(_) => errors += 1,
        }
    }
}

/// Whatever an API server makes of a streamed list, a list is complete or does not count.
#[tokio::test(start_paused = true)]
async fn a_list_is_streamed_or_read_in_pages() {
    struct Row {
        name: &'static str,
        answer: Answer,
        /// The seconds until the list, and errors before it.
        seconds: u64,
        errors: usize,
        asked: &'static [&'static str],
        /// Whether the next watch asks for a stream.
        next: &'static str,
    }
    let row = |name, answer, seconds, errors, asked, next| Row { name, answer, seconds, errors, asked, next };
    let refused = |code, message| Answer::Refused(code, message);
    for row in [
        row("the list is streamed", Answer::Events(&[A, BOOKMARK, END]), 0, 0, &["stream"], "stream"),
        row(
            "the gate is off",
            refused(StatusCode::UNPROCESSABLE_ENTITY, GATE_IS_OFF),
            0,
            0,
            &["stream", "pages"],
            "pages",
        ),
        row("1.26 and earlier", refused(StatusCode::UNPROCESSABLE_ENTITY, OLD), 0, 0, &["stream", "pages"], "pages"),
        row("another refusal", refused(StatusCode::BAD_REQUEST, "no"), 0, 0, &["stream", "pages"], "pages"),
        row("ignored", Answer::Events(&[A, BOOKMARK]), 30, 0, &["stream", "pages"], "pages"),
        row("accepted, and silent", Answer::Events(&[]), 30, 0, &["stream", "pages"], "pages"),
        row("no answer", Answer::Silence, 30, 0, &["stream", "pages"], "stream"),
        // kube's watcher asks for another stream before it says that the first has ended.
        row("cut short", Answer::Cut(&[A]), 0, 0, &["stream", "stream", "pages"], "stream"),
        row("an error in the list", Answer::Cut(&[A, ERROR]), 0, 1, &["stream", "pages"], "stream"),
        row("an unreadable object", Answer::Events(&[A, UNREADABLE, END]), 0, 1, &["stream", "pages"], "stream"),
    ] {
        let (name, streaming) = (row.name, ListStreaming::default());
        let (client, asked) = Server::client(row.answer);
        let names: &[&str] = if row.asked == ["stream"] { &["a"] } else { &["a", "b"] };
        let (listed, seconds, errors) = first_list(&client, Resource::Node, &streaming).await;
        assert_eq!(listed, names, "{name}");
        assert_eq!(errors, row.errors, "{name}");
        // After an error, the watch pauses.
        assert!((row.seconds..=row.seconds + 2).contains(&seconds), "{name}: {seconds} s");
        assert_eq!(*asked.lock().unwrap(), row.asked, "{name}");
        asked.lock().unwrap().clear();
        first_list(&client, Resource::Node, &streaming).await;
        assert_eq!(asked.lock().unwrap()[0], row.next, "{name}: the next watch");
    }
}

/// A server may ignore the parameter, and have so many changes that it is never silent.
#[tokio::test(start_paused = true)]
async fn what_one_watch_finds_out_holds_for_those_that_wait() {
    let (client, streaming) = (Server::client(Answer::Changes).0, ListStreaming::default());
    let lists = [Resource::Node, Resource::Pod].map(|resource| first_list(&client, resource, &streaming));
    for (listed, seconds, errors) in futures::future::join_all(lists).await {
        assert_eq!((listed, errors), (vec!["a".to_owned(), "b".to_owned()], 0));
        assert!((30..=32).contains(&seconds), "{seconds} s");
    }
}

/// After a streamed list, the changes. When they are too old to be resumed, the list is streamed again.
#[tokio::test(start_paused = true)]
async fn a_relist_is_streamed() {
    let (client, asked) = Server::client(Answer::Cut(&[A, END, A, EXPIRED]));
    let events = watch_events(client, Resource::Node, ListStreaming::default()).default_backoff();
    let brief = events.map(|event| event.map_or_else(|_| "error".to_owned(), |event| event.to_string()));
    let brief: Vec<String> = brief.take(8).collect().await;
    assert_eq!(brief, ["Init", "InitApply(a)", "InitDone", "Apply(a)", "error", "Init", "InitApply(a)", "InitDone"]);
    assert_eq!(*asked.lock().unwrap(), ["stream", "stream"]);
}

/// Who is behind a proxy that keeps the connection open does not see that the API server is gone.
#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_begun_again() {
    for (times, want) in [(WatchTimes::OF_KUBE, 295), (WatchTimes::EAGER, 65)] {
        let (client, asked) = Server::client(Answer::Events(&[A, END]));
        let place = WatchPlace { times, ..Resource::Node.into() };
        let mut events = std::pin::pin!(watch_events(client, place, ListStreaming::default()));
        let silence = async { while events.next().await.unwrap().is_ok() {} };
        assert!(timeout(Duration::from_secs(want - 1), silence).await.is_err());
        assert_eq!(*asked.lock().unwrap(), ["stream"]);
        let silence = async { while events.next().await.unwrap().is_ok() {} };
        assert!(timeout(Duration::from_secs(2), silence).await.is_err());
        assert_eq!(*asked.lock().unwrap(), ["stream", "watch"]);
    }
}

/// A server that fails may stream lists once it is well.
#[tokio::test(start_paused = true)]
async fn an_error_is_no_refusal() {
    let (client, asked) = Server::client(Answer::Refused(StatusCode::SERVICE_UNAVAILABLE, "starting"));
    let streaming = ListStreaming::default();
    let list = first_list(&client, Resource::Node, &streaming);
    assert!(timeout(Duration::from_mins(10), list).await.is_err());
    let asked = asked.lock().unwrap();
    assert!(asked.len() > 10 && asked.iter().all(|what| *what == "stream"), "{asked:?}");
}

/// Only a list in pages has the status from which a watch concludes that a CRD is not installed, or that nobody converts its objects.
#[tokio::test(start_paused = true)]
async fn custom_resources_are_read_in_pages() {
    let (client, asked) = Server::client(Answer::Events(&[END]));
    let events = watch_events(client, Resource::NodePool, ListStreaming::default());
    let [first, second] = events.take(2).collect::<Vec<_>>().await.try_into().unwrap();
    assert!(matches!(first, Ok(Event::Init)), "{first:?}");
    let Err(watcher::Error::InitialListFailed(kube::Error::Api(status))) = second else { panic!("{second:?}") };
    assert_eq!(status.code, 404);
    assert_eq!(*asked.lock().unwrap(), ["pages"]);
}
