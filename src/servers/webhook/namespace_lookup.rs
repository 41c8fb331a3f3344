//! The labels of namespaces: from the copy of the cluster, or read from the API server where the copy does not know the
//! namespace yet.
//!
//! A watch lags behind. A namespace and its first Service may be created within a millisecond, and a policy that selects
//! the namespace by its labels must hold for that Service.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool, atomic::Ordering},
    time::Duration,
};

use futures::FutureExt;
use kube::Client;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use roster_engine::model::{Labels, Resource, dns};
use roster_manifests::inventory::{NamespaceRow, Store};
use tokio::{
    sync::watch,
    time::{Instant, timeout, timeout_at},
};

use super::namespace_reads::{NamespaceReads, ReadResult};
use crate::runtime::{
    net::Peer,
    places::{PlaceShare, Places},
};

/// Longest time of a read. An API server answers within some milliseconds, and waits at least a second for a review.
const READ: Duration = Duration::from_millis(500);
/// How long labels count that were read, if the watch does not deliver the namespace before.
const FOUND: Duration = Duration::from_secs(2);
/// How long a failure counts: a client may create the namespace right after it.
const FAILED: Duration = Duration::from_millis(250);
/// Requests to the API server at the same time.
const AT_ONCE: usize = 16;
/// Most reads that wait or go on. Of more than that, the peer with the most loses one.
const WAITING: usize = 1024;

/// Finds the labels of namespaces.
#[derive(Debug)]
pub struct NamespaceLookup {
    store: Arc<Store>,
    /// What reads a namespace that the store does not know; `None`: nothing.
    reader: Option<Arc<NamespaceReader>>,
}

struct NamespaceReader {
    client: Client,
    reads: Mutex<NamespaceReads>,
    /// The places of reads. A client can name any namespace in a review. So peers take turns: one that names a thousand
    /// namespaces takes neither the time nor the room of another one.
    places: Places,
    metrics: NamespaceMetrics,
    /// Whether the last request failed: one line of the log is enough.
    failing: AtomicBool,
}

impl std::fmt::Debug for NamespaceReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamespaceReader").finish_non_exhaustive()
    }
}

impl NamespaceLookup {
    /// Labels from the copy of the cluster alone.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, reader: None }
    }

    /// Labels from the copy of the cluster, and from the API server of `client`.
    pub(crate) fn reading(store: Arc<Store>, client: Client, metrics: NamespaceMetrics) -> Self {
        let reader = NamespaceReader {
            client,
            reads: Mutex::default(),
            places: Places::new(AT_ONCE, WAITING - AT_ONCE, PlaceShare::All),
            metrics,
            failing: AtomicBool::new(false),
        };
        Self { store, reader: Some(Arc::new(reader)) }
    }

    /// The labels of a namespace, if they are known.
    pub fn labels(&self, namespace: &str) -> Option<Labels> {
        self.store.namespace_labels(namespace).or_else(|| self.reader.as_ref()?.labels(namespace))
    }

    /// Reads the labels of a namespace that is not known, once for all reviews that wait for it, when it is the turn of one
    /// of their peers. Returns after the read, whether it succeeds or fails, but at `latest` in any case.
    pub(super) async fn resolve(&self, peer: Peer, namespace: &str, latest: Instant) {
        let Some(reader) = &self.reader else { return };
        // The name becomes a part of a path. No namespace has another name.
        if !dns::is_label(namespace.as_bytes()) || self.store.namespace_labels(namespace).is_some() {
            return;
        }
        if let Some(mut end) = reader.join(peer, namespace) {
            // The error says that the sender is dropped, which is the end of the read.
            let _ = timeout_at(latest, end.changed()).await;
        }
    }
}

impl NamespaceReader {
    fn reads(&self) -> MutexGuard<'_, NamespaceReads> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn labels(&self, namespace: &str) -> Option<Labels> {
        let labels = self.reads().result(namespace)?.labels.clone()?;
        // Without the lock: labels may be many.
        Some(Arc::unwrap_or_clone(labels))
    }

    /// Joins or begins a read, unless one has just ended. Returns what ends with it; `None` if there is nothing to wait for.
    fn join(self: &Arc<Self>, peer: Peer, namespace: &str) -> Option<watch::Receiver<()>> {
        let mut reads = self.reads();
        if reads.result(namespace).is_some() {
            return None;
        }
        // A task of its own, so that a client that closes its connection does not end the read for others.
        let wait = || tokio::spawn(self.clone().read_in_turn(peer, namespace.to_owned())).abort_handle();
        Some(reads.join(peer, namespace, wait))
    }

    /// Reads a namespace in the turn of a peer.
    async fn read_in_turn(self: Arc<Self>, peer: Peer, namespace: String) {
        let Ok(_place) = self.places.wait(peer, (), 1).await else {
            self.metrics.count("busy");
            self.reads().leave(peer, &namespace);
            return;
        };
        if !self.reads().begin(peer, &namespace) {
            return;
        }
        // Without an end, all reviews of the namespace would wait.
        let labels = AssertUnwindSafe(self.read(&namespace)).catch_unwind().await.unwrap_or_default();
        let until = Instant::now() + if labels.is_some() { FOUND } else { FAILED };
        let forgotten = self.reads().end(namespace, ReadResult { labels: labels.map(Arc::new), until });
        drop(forgotten);
    }

    /// The labels, or `None` where the namespace cannot be read.
    async fn read(&self, namespace: &str) -> Option<Labels> {
        let read = async {
            let path = format!("{}/{namespace}", Resource::Namespace.path(None));
            let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
            self.client.request::<NamespaceRow>(request).await
        };
        let (result, labels) = match timeout(READ, read).await {
            Ok(Ok(row)) => ("found", Some(row.labels().clone())),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => ("missing", None),
            Ok(Err(error)) => {
                self.failed(namespace, &error.to_string());
                ("failed", None)
            }
            Err(_) => {
                self.failed(namespace, "no answer in time");
                ("failed", None)
            }
        };
        if result != "failed" {
            self.failing.store(false, Ordering::Relaxed);
        }
        self.metrics.count(result);
        labels
    }

    fn failed(&self, namespace: &str, error: &str) {
        if !self.failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                namespace,
                error,
                "a new namespace cannot be read: policies that select namespaces apply to it"
            );
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

/// Metrics of the reads of namespaces. A clone counts into the same metrics.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamespaceMetrics {
    reads: Family<ResultLabels, Counter>,
}

impl NamespaceMetrics {
    /// Registers all of them.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "roster_namespace_reads",
            "Namespaces that the copy of the cluster did not know yet, by the result of reading them: found, missing, failed, or busy (too many wait)",
            self.reads.clone(),
        );
    }

    pub(super) fn count(&self, result: &'static str) {
        self.reads.get_or_create(&ResultLabels { result }).inc();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use axum::{
        Json, Router,
        extract::{Request, State},
        http::StatusCode,
        response::{IntoResponse, Response},
    };
    use futures::future::join_all;
    use serde_json::json;
    use tokio::time::{advance, sleep};

    use super::{super::namespace_reads::RESULTS, *};
    use crate::runtime::telemetry::registry::MetricsRegistry;

    const ME: Peer = Peer::UNKNOWN;

    /// An API server with namespaces in memory.
    #[derive(Clone, Default)]
    struct Cluster(Arc<ClusterState>);

    #[derive(Default)]
    struct ClusterState {
        /// The paths that were requested.
        requests: Mutex<Vec<String>>,
        at_once: AtomicUsize,
        most_at_once: AtomicUsize,
    }

    impl Cluster {
        fn requests(&self) -> Vec<String> {
            std::mem::take(&mut self.0.requests.lock().unwrap())
        }
    }

    /// What a namespace answers depends on its name.
    async fn answer(State(Cluster(state)): State<Cluster>, request: Request) -> Response {
        let path = request.uri().path().to_owned();
        state.requests.lock().unwrap().push(path.clone());
        let at_once = state.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        state.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        sleep(Duration::from_millis(5)).await;
        state.at_once.fetch_sub(1, Ordering::SeqCst);
        let failure = |code: u16| {
            let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "x", "message": "x" });
            (StatusCode::from_u16(code).unwrap(), Json(status)).into_response()
        };
        match path.strip_prefix("/api/v1/namespaces/") {
            Some("silent") => std::future::pending().await,
            Some(name) if name.starts_with("missing") => failure(404),
            Some("forbidden") => failure(403),
            Some("nonsense") => Json(json!([])).into_response(),
            Some(name) => Json(json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": { "team": "a" } },
            }))
            .into_response(),
            None => failure(400),
        }
    }

    fn lookup() -> (NamespaceLookup, Cluster, Arc<Store>, MetricsRegistry) {
        let (cluster, store) = (Cluster::default(), Arc::new(Store::new()));
        store.fill(vec![NamespaceRow::new("known", labels("b"))]);
        let client = Client::new(Router::new().fallback(answer).with_state(cluster.clone()), "default");
        let (registry, metrics) = (MetricsRegistry::default(), NamespaceMetrics::default());
        registry.register(|r| metrics.register(r));
        (NamespaceLookup::reading(store.clone(), client, metrics), cluster, store, registry)
    }

    fn labels(team: &str) -> Labels {
        [("team", team)].into_iter().collect()
    }

    fn in_a_second() -> Instant {
        Instant::now() + Duration::from_secs(1)
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_is_read_where_the_copy_does_not_know_it() {
        let (long, dots) = ("x".repeat(64), "../secrets");
        for (name, want, requests, longest, result) in [
            ("known", Some("b"), 0, 0, None),
            ("new", Some("a"), 1, 10, Some("found")),
            ("missing", None, 1, 10, Some("missing")),
            ("forbidden", None, 1, 10, Some("failed")),
            ("nonsense", None, 1, 10, Some("failed")),
            ("silent", None, 1, 510, Some("failed")),
            // These would be other paths.
            (dots, None, 0, 0, None),
            ("a/b", None, 0, 0, None),
            ("a?watch=true", None, 0, 0, None),
            ("a%2Fb", None, 0, 0, None),
            (&long, None, 0, 0, None),
            ("", None, 0, 0, None),
        ] {
            let (lookup, cluster, _, registry) = lookup();
            let began = Instant::now();
            lookup.resolve(ME, name, in_a_second()).await;
            assert!(began.elapsed() <= Duration::from_millis(longest), "{name}: {:?}", began.elapsed());
            assert_eq!(lookup.labels(name), want.map(labels), "{name}");
            assert_eq!(cluster.requests().len(), requests, "{name}");
            let text = registry.encode().unwrap();
            let counted = result.map(|r| format!("roster_namespace_reads_total{{result=\"{r}\"}} 1"));
            assert!(counted.is_none_or(|line| text.contains(&line)), "{name}: {text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_review_waits_no_longer_than_its_deadline() {
        let (lookup, cluster, ..) = lookup();
        let began = Instant::now();
        lookup.resolve(ME, "silent", began + Duration::from_millis(100)).await;
        assert_eq!(began.elapsed().as_millis(), 100);
        // The read goes on for others, and no second one begins.
        lookup.resolve(ME, "silent", in_a_second()).await;
        assert!(began.elapsed() < Duration::from_millis(600), "{:?}", began.elapsed());
        assert_eq!(cluster.requests().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_is_read_once_for_all_reviews_and_not_many_at_the_same_time() {
        let (lookup, cluster, ..) = lookup();
        join_all((0..20).map(|_| lookup.resolve(ME, "new", in_a_second()))).await;
        assert_eq!(cluster.requests(), ["/api/v1/namespaces/new"]);

        let names = names("n", 100);
        join_all(names.iter().map(|name| lookup.resolve(ME, name, in_a_second()))).await;
        assert_eq!(cluster.requests().len(), 100);
        assert_eq!(cluster.0.most_at_once.load(Ordering::SeqCst), AT_ONCE);
        assert!(names.iter().all(|name| lookup.labels(name) == Some(labels("a"))));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_reads_wait_than_the_limit() {
        let (lookup, cluster, _, registry) = lookup();
        let names = names("n", WAITING + 1);
        join_all(names.iter().map(|name| lookup.resolve(ME, name, in_a_second()))).await;
        assert_eq!(cluster.requests().len(), WAITING);
        assert!(registry.encode().unwrap().contains("roster_namespace_reads_total{result=\"busy\"} 1"));
        // Later there is room again.
        advance(FOUND).await;
        lookup.resolve(ME, "new", in_a_second()).await;
        assert_eq!(lookup.labels("new"), Some(labels("a")));
    }

    fn names(prefix: &str, count: usize) -> Vec<String> {
        (0..count).map(|i| format!("{prefix}-{i}")).collect()
    }

    fn peer(last: u8) -> Peer {
        Peer::of(([10, 0, 0, last], 0).into())
    }

    /// A peer that names more namespaces than all that may wait, a moment before another one needs a few.
    #[tokio::test(start_paused = true)]
    async fn a_peer_that_names_many_namespaces_delays_another_one_by_a_turn() {
        let (lookup, cluster, _, registry) = lookup();
        // The attacker knows some of the names.
        let (flood, mut few) = (names("flood", 2 * WAITING), names("new", 20));
        few.extend_from_slice(&flood[100..120]);
        let resolve = |last, name| lookup.resolve(peer(last), name, in_a_second());
        let attack = join_all(flood.iter().map(|name| resolve(1, name)));
        let genuine = async {
            let began = Instant::now();
            join_all(few.iter().map(|name| resolve(2, name))).await;
            began.elapsed()
        };
        let (_, took) = tokio::join!(attack, genuine);
        // Every other request is for this peer: 80 requests, 16 at once, each for 5 ms.
        assert!(took <= Duration::from_millis(30), "{took:?}");
        assert!(few.iter().all(|name| lookup.labels(name) == Some(labels("a"))));
        // The attacker lost one for each of them; and each is read once.
        assert_eq!(cluster.requests().len(), WAITING - 20);
        let text = registry.encode().unwrap();
        assert!(text.contains("roster_namespace_reads_total{result=\"busy\"} "), "{text}");
    }

    /// A peer that names missing namespaces all the time.
    #[tokio::test(start_paused = true)]
    async fn failures_displace_no_labels() {
        let (lookup, ..) = lookup();
        lookup.resolve(peer(2), "new", in_a_second()).await;
        for round in 0..3 {
            let missing = names(&format!("missing-{round}"), RESULTS);
            join_all(missing.iter().map(|name| lookup.resolve(peer(1), name, in_a_second()))).await;
            assert_eq!(lookup.labels("new"), Some(labels("a")), "{round}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_that_nobody_waits_for_is_not_begun() {
        let (lookup, cluster, ..) = lookup();
        let soon = Instant::now() + Duration::from_millis(1);
        let names = names("new", 100);
        join_all(names.iter().map(|name| lookup.resolve(ME, name, soon))).await;
        sleep(Duration::from_millis(50)).await;
        assert_eq!(cluster.requests().len(), AT_ONCE);
        // Later, there is somebody.
        lookup.resolve(ME, &names[99], in_a_second()).await;
        assert_eq!(lookup.labels(&names[99]), Some(labels("a")));
    }

    #[tokio::test(start_paused = true)]
    async fn results_count_for_a_while_and_the_watch_takes_precedence() {
        let (lookup, cluster, store, _) = lookup();
        for (name, lasts) in [("new", FOUND), ("missing", FAILED), ("forbidden", FAILED)] {
            lookup.resolve(ME, name, in_a_second()).await;
            advance(lasts / 2).await;
            lookup.resolve(ME, name, in_a_second()).await;
            assert_eq!(cluster.requests().len(), 1, "{name}");
            advance(lasts).await;
            assert_eq!(lookup.labels(name), None, "{name}");
            lookup.resolve(ME, name, in_a_second()).await;
            assert_eq!(cluster.requests().len(), 1, "{name}");
        }
        lookup.resolve(ME, "new", in_a_second()).await;
        store.apply(NamespaceRow::new("new", labels("c")));
        assert_eq!(lookup.labels("new"), Some(labels("c")));
        assert_eq!(cluster.requests().len(), 0);
    }
}
