//! Replicas that hold a Lease one after the other, with an API server in memory and paused time.

use std::{
    collections::BTreeMap,
    future::pending,
    iter,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
    time::{Instant, advance, sleep},
};

use super::{
    lease::{LeaseChoice, LeaseHolder, LeaseOutcome, LeaseState, LeaseTimes},
    lease_refusals::LeaseRefusals,
    writer::WriteError,
};
use crate::runtime::clock::Clock;

/// The time from a request to its answer.
const TRIP: Duration = Duration::from_millis(10);

/// What becomes of the requests of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    Up,
    /// Requests are lost.
    Down,
    /// Answers to writes are lost.
    OneWay,
    /// Reads overtake writes.
    SlowWrites,
    /// A proxy finds no API server.
    BadGateway,
    /// The API server refuses the replica.
    Forbidden,
}

/// A replica begins (`true`) or ceases to hold the Lease, in this second.
type Change = (&'static str, bool, u64);

/// An API server that has one Lease.
#[derive(Clone)]
struct Server {
    stored: Arc<Mutex<Stored>>,
    began: Instant,
    holders: Arc<Mutex<Vec<Change>>>,
}

#[derive(Default)]
struct Stored {
    lease: Option<Value>,
    version: u64,
    requests: BTreeMap<&'static str, usize>,
}

/// When the clock of a replica is set.
const CLOCK_STEP: Duration = Duration::from_secs(15);

#[derive(Clone)]
struct Replica {
    name: &'static str,
    server: Server,
    network: Arc<Mutex<Network>>,
    /// How wrong its clock is before and after it is set.
    clock_errors: [SignedDuration; 2],
}

/// A replica that holds the Lease, or waits for it.
struct Candidate {
    state: watch::Receiver<LeaseState>,
    end: oneshot::Sender<()>,
    task: JoinHandle<Result<LeaseOutcome<()>, WriteError>>,
}

impl Stored {
    fn write(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.lease.insert(lease).clone()
    }

    fn answer(&mut self, method: &Method, body: &[u8]) -> Response {
        let version = |lease: &Value| lease["metadata"]["resourceVersion"].clone();
        match (method, self.lease.clone()) {
            (&Method::GET, Some(lease)) => Json(lease).into_response(),
            (&Method::GET | &Method::PUT, None) => status(404, "NotFound"),
            (&Method::POST, Some(_)) => status(409, "AlreadyExists"),
            (_, found) => {
                let given: Value = serde_json::from_slice(body).unwrap();
                if found.is_some_and(|found| version(&found) != version(&given)) {
                    return status(409, "Conflict");
                }
                Json(self.write(given)).into_response()
            }
        }
    }
}

fn status(code: u16, reason: &str) -> Response {
    let text = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": reason });
    (StatusCode::from_u16(code).unwrap(), Json(text)).into_response()
}

/// A request arrives, also if its client does not wait for the answer any more.
async fn answer(State(replica): State<Replica>, request: Request) -> Response {
    tokio::spawn(arrive(replica, request)).await.unwrap()
}

async fn arrive(replica: Replica, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    sleep(TRIP / 2).await;
    let network = *replica.network.lock().unwrap();
    match network {
        Network::Down => return pending().await,
        Network::BadGateway => return status(502, "BadGateway"),
        Network::Forbidden => {
            *replica.server.stored.lock().unwrap().requests.entry(replica.name).or_default() += 1;
            return status(403, "leases is forbidden");
        }
        Network::SlowWrites if head.method != Method::GET => sleep(TRIP).await,
        Network::Up | Network::OneWay | Network::SlowWrites => {}
    }
    let answer = {
        let mut stored = replica.server.stored.lock().unwrap();
        *stored.requests.entry(replica.name).or_default() += 1;
        stored.answer(&head.method, &body)
    };
    if network == Network::OneWay && head.method != Method::GET {
        return pending().await;
    }
    sleep(TRIP / 2).await;
    answer
}

impl Server {
    fn new() -> Self {
        Self { stored: Arc::default(), began: Instant::now(), holders: Arc::default() }
    }

    fn replica(&self, name: &'static str) -> Replica {
        let network = Arc::new(Mutex::new(Network::Up));
        Replica { name, server: self.clone(), network, clock_errors: [SignedDuration::ZERO; 2] }
    }

    /// Someone else changes the Lease.
    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut stored = self.stored.lock().unwrap();
        let mut lease = stored.lease.clone().unwrap();
        change(&mut lease);
        stored.write(lease);
    }

    fn spec(&self) -> Value {
        self.stored.lock().unwrap().lease.as_ref().map(|lease| lease["spec"].clone()).unwrap_or_default()
    }

    fn holders(&self) -> Vec<Change> {
        self.holders.lock().unwrap().clone()
    }
}

impl Replica {
    fn is(&self, network: Network) {
        *self.network.lock().unwrap() = network;
    }

    fn holder(&self) -> LeaseHolder {
        self.holder_with(LeaseTimes::default())
    }

    fn holder_with(&self, times: LeaseTimes) -> LeaseHolder {
        let client = kube::Client::new(Router::new().fallback(answer).with_state(self.clone()), "default");
        let midnight: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let (began, errors) = (self.server.began, self.clock_errors);
        let clock = Clock::new(move || midnight + began.elapsed() + errors[usize::from(began.elapsed() >= CLOCK_STEP)]);
        LeaseHolder::new(
            client,
            LeaseChoice { namespace: "n", name: "l", identity: self.name, manager: "m", times },
            clock,
        )
    }

    /// Waits for the Lease, and holds it until it is lost or given up.
    fn start(&self) -> Candidate {
        self.start_with(self.holder())
    }

    fn start_with(&self, mut holder: LeaseHolder) -> Candidate {
        let state = holder.state();
        tokio::spawn(self.clone().follow(state.clone()));
        let (end, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let work = async { drop(ended.await) };
            holder.hold(Duration::MAX, work).await
        });
        Candidate { state, end, task }
    }

    async fn follow(self, mut state: watch::Receiver<LeaseState>) {
        let mut was_held = false;
        loop {
            let is_held = *state.borrow_and_update() == LeaseState::Held;
            if is_held != was_held {
                self.server.holders.lock().unwrap().push((self.name, is_held, self.server.began.elapsed().as_secs()));
            }
            was_held = is_held;
            if state.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Candidate {
    fn state(&self) -> LeaseState {
        self.state.borrow().clone()
    }

    async fn outcome(self) -> LeaseOutcome<()> {
        self.task.await.unwrap().unwrap()
    }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn held_by(name: &str) -> LeaseState {
    LeaseState::HeldBy(name.to_owned())
}

#[tokio::test(start_paused = true)]
async fn one_replica_holds_the_lease_and_the_others_know_which() {
    let server = Server::new();
    let a = server.replica("a").start();
    sleep(seconds(1)).await;
    let (b, c) = (server.replica("b").start(), server.replica("c").start());
    sleep(seconds(60)).await;
    assert_eq!([a.state(), b.state(), c.state()], [LeaseState::Held, held_by("a"), held_by("a")]);
    assert_eq!(server.holders(), [("a", true, 0)]);
    let spec = server.spec();
    assert_eq!(
        (&spec["acquireTime"], &spec["leaseTransitions"], &spec["leaseDurationSeconds"]),
        (&json!("2026-01-01T00:00:00.010000Z"), &json!(1), &json!(15))
    );
    assert!(spec["renewTime"].as_str() > Some("2026-01-01T00:00:58"), "{spec}");
    // The holder reads the Lease once, and then writes it every two seconds. The others read it at most as often.
    let requests = server.stored.lock().unwrap().requests.clone();
    assert!((28..=32).contains(&requests["a"]), "{requests:?}");
    assert!(requests["b"] <= 31 && requests["c"] <= 31, "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_loses_the_api_server_stops_before_another_begins() {
    for network in [Network::Down, Network::OneWay, Network::BadGateway] {
        for clock_errors in [[-1, -1], [0, 0], [1, 1], [0, 1], [0, -1]].map(|pair| pair.map(SignedDuration::from_hours))
        {
            let case = format!("{network:?} {clock_errors:?}");
            let server = Server::new();
            let first = Replica { clock_errors, ..server.replica("a") };
            let a = first.start();
            sleep(seconds(1)).await;
            let b = server.replica("b").start();
            sleep(seconds(20)).await;
            first.is(network);
            sleep(seconds(40)).await;
            let holders = server.holders();
            let [("a", true, 0), ("a", false, end), ("b", true, begin)] = holders[..] else {
                panic!("{case}: {holders:?}");
            };
            // The last renewal was in the second 20. A write without an answer counts for others, and not for the holder.
            assert_eq!(end, 30, "{case}");
            let earliest = if network == Network::OneWay { 36 } else { 35 };
            assert!((earliest..=50).contains(&begin), "{case}: {begin}");
            assert_eq!((a.outcome().await, b.state()), (LeaseOutcome::Lost, LeaseState::Held), "{case}");

            first.is(Network::Up);
            let again = first.start();
            sleep(seconds(5)).await;
            assert_eq!((again.state(), b.state()), (held_by("b"), LeaseState::Held), "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_holder_without_an_answer_for_a_while_goes_on() {
    for network in [Network::Down, Network::OneWay, Network::BadGateway] {
        let server = Server::new();
        let first = server.replica("a");
        let a = first.start();
        let b = server.replica("b").start();
        for _ in 0..5 {
            sleep(seconds(10)).await;
            first.is(network);
            sleep(seconds(3)).await;
            first.is(Network::Up);
        }
        assert_eq!((a.state(), b.state()), (LeaseState::Held, held_by("a")), "{network:?}");
        assert_eq!(server.holders(), [("a", true, 0)], "{network:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_hands_over_at_once() {
    for network in [Network::Up, Network::SlowWrites] {
        // The work ends between two renewals, and at every moment of one.
        for end in iter::once(18_000).chain((20_090..20_260).step_by(3)) {
            let case = format!("{network:?} {end}");
            let server = Server::new();
            let first = server.replica("a");
            first.is(network);
            let a = first.start();
            sleep(seconds(1)).await;
            let b = server.replica("b").start();
            sleep(Duration::from_millis(end - 1000)).await;
            a.end.send(()).unwrap();
            assert_eq!(a.task.await.unwrap().unwrap(), LeaseOutcome::Done(()), "{case}");
            assert_eq!(*a.state.borrow(), LeaseState::NotHeld, "{case}");
            sleep(Duration::from_millis(4100)).await;
            assert_eq!(b.state(), LeaseState::Held, "{case}");
            assert_eq!(
                (&server.spec()["holderIdentity"], &server.spec()["leaseTransitions"]),
                (&json!("b"), &json!(2))
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_two_replicas_that_try_at_once_takes_the_lease() {
    let server = Server::new();
    let [mut a, mut b] = ["a", "b"].map(|name| server.replica(name).holder());
    // It does not exist; it is free.
    for round in 0..2 {
        let began = AtomicU32::new(0);
        let work = || async { began.fetch_add(1, Ordering::Relaxed) };
        let outcomes = tokio::join!(a.hold(Duration::ZERO, work()), b.hold(Duration::ZERO, work()));
        let outcomes = [outcomes.0.unwrap(), outcomes.1.unwrap()];
        assert!(
            outcomes.contains(&LeaseOutcome::Done(0)) && outcomes.contains(&LeaseOutcome::NotTaken),
            "{outcomes:?}"
        );
        assert_eq!(began.into_inner(), 1, "{round}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_another_holder_in_the_lease_ends_the_work() {
    let server = Server::new();
    let a = server.replica("a").start();
    sleep(seconds(5)).await;
    server.edit(|lease| lease["metadata"]["annotations"]["note"] = "x".into());
    sleep(seconds(20)).await;
    assert_eq!(a.state(), LeaseState::Held, "an annotation");
    server.stored.lock().unwrap().lease = None;
    sleep(seconds(20)).await;
    assert_eq!(a.state(), LeaseState::Held, "deleted");
    assert_eq!(server.spec()["holderIdentity"], "a");
    server.edit(|lease| lease["spec"]["holderIdentity"] = "x".into());
    sleep(Duration::from_millis(2100)).await;
    assert_eq!((a.state(), a.outcome().await), (held_by("x"), LeaseOutcome::Lost));
    assert_eq!(server.spec()["holderIdentity"], "x");
}

/// The work must not do another step under a Lease that is over.
#[tokio::test(start_paused = true)]
async fn work_ends_where_the_machine_stood_still() {
    let server = Server::new();
    let mut holder = server.replica("a").holder();
    let steps = Arc::new(AtomicU32::new(0));
    let counted = steps.clone();
    let work = async move {
        loop {
            sleep(Duration::from_millis(100)).await;
            counted.fetch_add(1, Ordering::Relaxed);
        }
    };
    let task = tokio::spawn(async move { holder.hold::<()>(Duration::ZERO, work).await });
    sleep(seconds(5)).await;
    let before = steps.load(Ordering::Relaxed);
    advance(seconds(11)).await;
    sleep(Duration::from_millis(1)).await;
    assert!(task.is_finished());
    assert_eq!(task.await.unwrap().unwrap(), LeaseOutcome::Lost);
    assert!((45..=50).contains(&before));
    assert_eq!(steps.load(Ordering::Relaxed), before);
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_is_dropped_does_not_hold() {
    let server = Server::new();
    let a = server.replica("a").start();
    sleep(seconds(5)).await;
    a.task.abort();
    assert!(a.task.await.is_err());
    assert_eq!(*a.state.borrow(), LeaseState::NotHeld);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_refused_is_asked_for_less_often_and_reported() {
    let times = LeaseTimes { poll: Duration::from_millis(500), ..LeaseTimes::default() };
    let server = Server::new();
    let a = server.replica("a").start_with(server.replica("a").holder_with(times));
    sleep(seconds(1)).await;
    let (replica, refusals) = (server.replica("b"), LeaseRefusals::default());
    let b = replica.start_with(replica.holder_with(times).with_refusals(refusals.clone()));
    let requests = async |during| {
        server.stored.lock().unwrap().requests.clear();
        sleep(during).await;
        server.stored.lock().unwrap().requests["b"]
    };
    assert!(requests(seconds(20)).await >= 40, "a follower sees at once that the Lease is free");
    assert_eq!((b.state(), refusals.check(seconds(10))), (held_by("a"), Ok(())));
    replica.is(Network::Forbidden);
    assert!(requests(seconds(9)).await <= 6);
    assert_eq!(refusals.check(seconds(10)), Ok(()), "it may pass");
    assert!(requests(seconds(20)).await <= 11);
    let want = "403 Forbidden: leases is forbidden; a Role must name the Lease l (get, update) and allow create";
    assert_eq!(refusals.check(seconds(10)), Err(want.to_owned()));
    // What is refused stays so until there is another answer.
    replica.is(Network::BadGateway);
    sleep(seconds(20)).await;
    assert!(refusals.check(seconds(10)).is_err());
    replica.is(Network::Up);
    sleep(seconds(3)).await;
    assert_eq!((b.state(), refusals.check(seconds(10))), (held_by("a"), Ok(())));
    drop(a);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_answer_is_an_error() {
    for (network, want, at) in [
        (Network::Down, "no response from the API server within 5 s", 5),
        (Network::OneWay, "no response from the API server within 5 s", 5),
        (Network::BadGateway, "BadGateway", 0),
    ] {
        let server = Server::new();
        let replica = server.replica("a");
        replica.is(network);
        let outcome = replica.holder().hold(Duration::ZERO, async { unreachable!("{network:?}") }).await;
        assert!(outcome.map(|_: LeaseOutcome<()>| ()).unwrap_err().to_string().contains(want), "{network:?}");
        assert_eq!(server.began.elapsed().as_secs(), at, "{network:?}");
    }
}
