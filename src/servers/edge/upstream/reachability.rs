//! Whether the API server is away, by what the proxy itself finds, and with it, when the pods of the own node count.
//!
//! No answer to a client is evidence: a client can bring about that its own requests are slow, or fail, and would keep a
//! permission that was revoked. What counts is a probe, on connections that no client uses, and the watches of the proxy.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::api_server::{ApiServer, ApiServerError};
use crate::{
    kube_api::is_of_gateway,
    servers::edge::cache::{edge_cache::EdgeCache, overlay::OverlayPhase},
};

/// How often the API server is asked while the pods of the own node are followed.
const PROBE: Duration = Duration::from_millis(500);
/// Longest time until its answer.
const ANSWER: Duration = Duration::from_secs(1);
/// The limit of an answer in bytes.
const MAX_ANSWER: usize = 16 << 10;
/// A probe that ends so much later was delayed by the proxy itself.
const LATE: Duration = Duration::from_millis(500);
/// Probes in a row without an answer after which it counts as away. A connection that is refused is one at once.
const UNANSWERED: u32 = 2;
/// The shortest pause between the begins of two probes, however many clients wait for one.
const PAUSE: Duration = Duration::from_millis(250);
/// How long it counts as away after a probe: longer than until the end of the next one, if a client asks each second.
const RECENT: Duration = Duration::from_secs(3);
/// The longest time until it is known.
const LIMIT: Duration = Duration::from_secs(4);
/// Longest time, since it is back, during which the pods of the own node count where the API server disagrees. A watch
/// waits for half a minute until it connects again, and the kubelet and the controllers take some seconds more.
const CATCH_UP: Duration = Duration::from_mins(1);
/// Errors of this machine (`ENOMEM`, `ENFILE`, `EMFILE`, `EADDRNOTAVAIL`, `ENOBUFS`): clients can bring them about, and they
/// say nothing of the API server.
const OWN_ERRORS: [i32; 5] = [12, 23, 24, 99, 105];

/// What the proxy knows of the API server.
#[derive(Debug)]
pub(crate) struct Reachability {
    api: ApiServer,
    probes: Mutex<Probes>,
    /// One probe at a time.
    turn: tokio::sync::Mutex<()>,
    /// How many probes have ended.
    ended: watch::Sender<u64>,
}

/// What is known by the last probes.
#[derive(Debug, Default)]
struct Probes {
    unanswered: u32,
    is_away: bool,
    /// How many probes have begun, and when the last one did.
    begun: u64,
    last_begin: Option<Instant>,
    /// The number of the last probe that decided it, and when it ended.
    decided: Option<(u64, Instant)>,
    is_running: bool,
    /// When a watch of the proxy had news last.
    heard: Option<Instant>,
}

/// What came of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeResult {
    /// Whatever it was, there was an answer.
    Answered,
    Refused,
    /// There was no answer in time, or only one of a gateway that found no API server, either.
    Unanswered,
    /// Nothing was learned.
    Unproven,
}

/// When the pods of the own node count.
#[derive(Debug, Default)]
struct OverlayClock {
    phase: OverlayPhase,
    back_since: Option<Instant>,
}

impl Probes {
    /// Takes the result of a probe. Returns whether it decides.
    fn observe(&mut self, result: ProbeResult, began: Instant, now: Instant) -> bool {
        let is_heard = self.heard.is_some_and(|heard| heard >= began);
        let result = if is_heard { ProbeResult::Answered } else { result };
        match result {
            ProbeResult::Unproven => return false,
            ProbeResult::Unanswered => self.unanswered += 1,
            ProbeResult::Answered | ProbeResult::Refused => self.unanswered = 0,
        }
        match result {
            ProbeResult::Answered => self.is_away = false,
            ProbeResult::Refused => self.is_away = true,
            _ => self.is_away |= self.unanswered >= UNANSWERED,
        }
        let decides = self.is_away || result == ProbeResult::Answered;
        if decides {
            self.decided = Some((self.begun, now));
        }
        decides
    }

    /// Whether it is away now. A probe that found it proves nothing of the time after it: only one after the first `begun` does.
    fn known(&self, begun: u64, now: Instant) -> Option<bool> {
        let (number, ended) = self.decided?;
        let is_known = if self.is_away { now - ended < RECENT } else { number > begun };
        is_known.then_some(self.is_away)
    }
}

impl OverlayClock {
    /// Says when the pods of the own node count from now on.
    fn phase(&mut self, is_away: bool, now: Instant) -> OverlayPhase {
        self.phase = match self.phase {
            _ if is_away => OverlayPhase::On,
            OverlayPhase::On => {
                self.back_since = Some(now);
                OverlayPhase::CatchingUp
            }
            OverlayPhase::CatchingUp if self.back_since.is_none_or(|since| now - since >= CATCH_UP) => {
                OverlayPhase::Off
            }
            phase => phase,
        };
        self.phase
    }
}

impl Reachability {
    /// What is known of an API server, which clients of the proxy reach over other connections.
    pub(crate) fn new(api: ApiServer) -> Arc<Self> {
        let (probes, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Arc::new(Self { api, probes, turn, ended: watch::Sender::new(0) })
    }

    /// A watch of the proxy has news.
    pub(crate) fn heard(&self) {
        self.probes().heard = Some(Instant::now());
    }

    /// Whether the API server was away a moment ago. While it is asked for, this is found out again.
    pub(crate) fn is_known_away(self: &Arc<Self>) -> bool {
        let now = Instant::now();
        let mut probes = self.probes();
        let is_away = probes.known(probes.begun, now) == Some(true);
        if is_away && probes.last_begin.is_none_or(|begin| now - begin >= PROBE) {
            self.start(&mut probes);
        }
        is_away
    }

    /// Whether the API server is away, now that something has failed. Unless that is certain, it is not.
    pub(crate) async fn is_away(self: &Arc<Self>) -> bool {
        let (mut ended, begun) = (self.ended.subscribe(), self.probes().begun);
        let found = async {
            loop {
                {
                    let mut probes = self.probes();
                    if let Some(is_away) = probes.known(begun, Instant::now()) {
                        return is_away;
                    }
                    self.start(&mut probes);
                }
                if ended.changed().await.is_err() {
                    return false;
                }
            }
        };
        timeout(LIMIT, found).await.unwrap_or(false)
    }

    /// Probes forever, and tells the cache when the pods of the own node count.
    pub(crate) async fn follow(self: Arc<Self>, cache: Arc<EdgeCache>) {
        let mut clock = OverlayClock::default();
        loop {
            self.probe().await;
            let before = clock.phase;
            let phase = clock.phase(self.probes().is_away, Instant::now());
            if phase != before {
                match phase {
                    OverlayPhase::On => {
                        tracing::warn!("the API server is away: pods of this node are served as they are now");
                    }
                    OverlayPhase::CatchingUp => tracing::info!("the API server is back"),
                    OverlayPhase::Off => tracing::info!("the state of the API server counts alone again"),
                }
                cache.set_overlay(phase);
            }
            sleep(PROBE).await;
        }
    }

    /// Starts probes, unless some run. They go on when who wanted them is gone: a client must not stop them for others.
    fn start(self: &Arc<Self>, probes: &mut Probes) {
        if std::mem::replace(&mut probes.is_running, true) {
            return;
        }
        let this = self.clone();
        tokio::spawn(async move {
            for _ in 0..=UNANSWERED {
                if this.probe().await {
                    break;
                }
            }
            this.probes().is_running = false;
            this.ended.send_modify(|count| *count += 1);
        });
    }

    /// Probes once, a moment after the last time. Returns whether it is known then.
    async fn probe(&self) -> bool {
        let _turn = self.turn.lock().await;
        let last = self.probes().last_begin;
        if let Some(last) = last {
            sleep_until(last + PAUSE).await;
        }
        let began = Instant::now();
        {
            let mut probes = self.probes();
            (probes.begun, probes.last_begin) = (probes.begun + 1, Some(began));
        }
        let result = self.ask(began).await;
        let decides = self.probes().observe(result, began, Instant::now());
        self.ended.send_modify(|count| *count += 1);
        decides
    }

    async fn ask(&self, began: Instant) -> ProbeResult {
        // Without credentials it may well be refused, and that is an answer, too. Whatever the proxy may do, and however many
        // requests of others wait, API servers answer this path.
        let request = Request::get("/livez").body(Body::empty()).unwrap_or_default();
        match self.api.send_within(request, ANSWER).await {
            Ok(response) if is_of_gateway(response.status().as_u16()) => ProbeResult::Unanswered,
            Ok(response) => {
                // The next probe uses the connection again.
                let _ = timeout(ANSWER, to_bytes(response.into_body(), MAX_ANSWER)).await;
                ProbeResult::Answered
            }
            Err(ApiServerError::Timeout(_)) if began.elapsed() > ANSWER + LATE => ProbeResult::Unproven,
            Err(ApiServerError::Timeout(_)) => ProbeResult::Unanswered,
            Err(ApiServerError::Away(error)) if is_own(&error) => ProbeResult::Unproven,
            Err(ApiServerError::Away(_) | ApiServerError::Path) => ProbeResult::Refused,
        }
    }

    fn probes(&self) -> MutexGuard<'_, Probes> {
        self.probes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_own(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.raw_os_error().is_some_and(|code| OWN_ERRORS.contains(&code)))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use OverlayPhase::{CatchingUp, Off, On};
    use ProbeResult::{Answered, Refused, Unanswered, Unproven};
    use axum::http::Response;
    use futures::{FutureExt, future::join_all};

    use super::*;

    #[test]
    fn the_phase_follows_the_probes() {
        let begin = Instant::now();
        let (mut probes, mut clock) = (Probes::default(), OverlayClock::default());
        for (seconds, result, want) in [
            (0, Answered, Off),
            (1, Unanswered, Off),
            (2, Answered, Off),
            (3, Unanswered, Off),
            (4, Unproven, Off),
            (5, Unanswered, On),
            (5, Unproven, On),
            (5, Unanswered, On),
            (6, Answered, CatchingUp),
            (65, Answered, CatchingUp),
            (66, Answered, Off),
            (67, Refused, On),
            (68, Answered, CatchingUp),
            (69, Unanswered, CatchingUp),
            (70, Refused, On),
            (71, Answered, CatchingUp),
            (130, Answered, CatchingUp),
            (131, Answered, Off),
        ] {
            let now = begin + Duration::from_secs(seconds);
            probes.observe(result, now, now);
            assert_eq!(clock.phase(probes.is_away, now), want, "at {seconds} s: {result:?}");
        }
    }

    #[test]
    fn news_of_a_watch_are_an_answer() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        for (heard, want) in [(None, true), (Some(0), true), (Some(1), false), (Some(2), false)] {
            let mut probes = Probes { heard: heard.map(at), ..Probes::default() };
            probes.observe(Refused, at(1), at(2));
            assert_eq!(probes.is_away, want, "{heard:?}");
        }
    }

    /// What an API server does with a probe.
    #[derive(Clone, Copy, Debug)]
    enum Livez {
        Code(u16),
        Fails,
        /// An error of this machine.
        FailsHere(i32),
        Silent,
    }

    fn reachability(livez: Livez) -> (Arc<Reachability>, Arc<AtomicUsize>) {
        let count = Arc::<AtomicUsize>::default();
        let asked = count.clone();
        let api = ApiServer::at("https://192.0.2.1:6443".parse().unwrap(), move |request| {
            assert_eq!((request.uri().path(), request.headers().len()), ("/livez", 0));
            asked.fetch_add(1, Ordering::Relaxed);
            async move {
                match livez {
                    Livez::Code(code) => Ok(Response::builder().status(code).body(Body::from("ok"))?),
                    Livez::Fails => anyhow::bail!("connection refused"),
                    Livez::FailsHere(code) => Err(io::Error::from_raw_os_error(code).into()),
                    Livez::Silent => std::future::pending().await,
                }
            }
            .boxed()
        });
        (Reachability::new(api), count)
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_says_whether_it_is_away() {
        for (livez, is_away, probes, millis) in [
            (Livez::Code(200), false, 1, 0),
            (Livez::Code(401), false, 1, 0),
            (Livez::Code(429), false, 1, 0),
            // It says itself that it is not well.
            (Livez::Code(500), false, 1, 0),
            (Livez::Code(503), true, 2, 250),
            (Livez::Fails, true, 1, 0),
            (Livez::Silent, true, 2, 2000),
            // Neither is certain.
            (Livez::FailsHere(24), false, 16, 4000),
        ] {
            let (reachability, count) = reachability(livez);
            let begin = Instant::now();
            assert!(!reachability.is_known_away());
            assert_eq!(reachability.is_away().await, is_away, "{livez:?}");
            assert_eq!(begin.elapsed().as_millis(), millis, "{livez:?}");
            assert_eq!((count.load(Ordering::Relaxed), reachability.is_known_away()), (probes, is_away), "{livez:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn many_that_wait_share_a_probe_and_none_of_them_stops_it() {
        let (reachability, count) = reachability(Livez::Silent);
        let waiting: Vec<_> = (0..100)
            .map(|_| {
                let reachability = reachability.clone();
                tokio::spawn(async move { reachability.is_away().await })
            })
            .collect();
        sleep(Duration::from_millis(1500)).await;
        waiting[0].abort();
        let away = join_all(waiting).await.into_iter().filter(|found| matches!(found, Ok(true))).count();
        assert_eq!((away, count.load(Ordering::Relaxed)), (99, 2));
        // It stays known while somebody asks, and not after.
        for _ in 0..10 {
            assert!(reachability.is_known_away());
            sleep(Duration::from_secs(1)).await;
        }
        sleep(RECENT + ANSWER).await;
        assert!(!reachability.is_known_away());
    }
}
