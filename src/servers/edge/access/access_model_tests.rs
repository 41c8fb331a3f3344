//! Compares who may read with a model: random sequences of permissions and refusals, of an API server that is slow, fails and is
//! away, and of restarts.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::{
    body::{Body, to_bytes},
    http::{Extensions, HeaderMap, Method, Request, Response, header},
};
use futures::FutureExt;
use jiff::Timestamp;
use roster_engine::view::KeyOrder;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    task::{JoinHandle, yield_now},
    time::{Instant, sleep},
};

use super::{
    access_model::{Belief, CALLERS, Model, Outage, QUESTIONS, ReadOutcome, Seen, Verdict},
    access_reviews::AccessReviews,
    access_table::AccessQuestion,
    caller::Caller,
    watch_permission::WatchPermission,
};
use crate::runtime::{
    clock::Clock,
    net::{Exchange, Health},
};
use crate::servers::edge::{
    cache::{edge_cache::EdgeCache, node_state::NodeState, scheme::EdgeScheme, versions::Versions},
    clients::target::{CachedRead, RequestTarget},
    disk::persistence::Persistence,
    upstream::{api_server::ApiServer, reachability::Reachability},
};

const SEQUENCES: u64 = 100;
const STEPS: usize = 60;
const PATHS: [&str; QUESTIONS] =
    ["/api/v1/namespaces/shop/services/web", "/api/v1/services", "/api/v1/services?watch=1"];
const WATCH: usize = 2;

/// How the API server answers one caller, who may have brought it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Prompt,
    Slow,
    Stuck,
    Code(u16),
    Broken,
}

/// The API server.
#[derive(Debug)]
struct World {
    outage: Outage,
    manners: [Manner; CALLERS],
    is_valid: [bool; CALLERS],
    is_allowed: [[bool; QUESTIONS]; CALLERS],
    /// A number for each review that is sent or answered.
    sequence: u64,
    seen: Vec<Seen>,
}

type SharedWorld = Arc<Mutex<World>>;

fn world(shared: &SharedWorld) -> MutexGuard<'_, World> {
    shared.lock().unwrap()
}

impl World {
    fn verdict(&self, caller: usize, question: usize) -> Verdict {
        match (self.is_valid[caller], self.is_allowed[caller][question]) {
            (false, _) => Verdict::Invalid,
            (true, true) => Verdict::Allowed,
            (true, false) => Verdict::Denied,
        }
    }

    /// What a review comes to while the API server is there.
    fn asked(&self, caller: usize, question: usize) -> ReadOutcome {
        match (self.manners[caller], self.verdict(caller, question)) {
            (Manner::Prompt | Manner::Slow, Verdict::Allowed) => ReadOutcome::Allowed,
            (Manner::Prompt | Manner::Slow, _) => ReadOutcome::Refused,
            _ => ReadOutcome::Unavailable,
        }
    }
}

async fn answer(shared: SharedWorld, request: Request<Body>) -> anyhow::Result<Response<Body>> {
    let outage = world(&shared).outage;
    let respond = |code: u16, body: &'static str| Ok(Response::builder().status(code).body(Body::from(body))?);
    match outage {
        Outage::Refused => anyhow::bail!("connection refused"),
        Outage::Silent => return std::future::pending().await,
        Outage::Gateway => return respond(503, ""),
        Outage::None => {}
    }
    let Some(token) = request.headers().get(header::AUTHORIZATION) else { return respond(200, "ok") };
    let caller: usize = token.to_str()?.trim_start_matches("Bearer token-").parse()?;
    let review: Value = serde_json::from_slice(&to_bytes(request.into_body(), 1 << 20).await?)?;
    let verbs = ["get", "list", "watch"];
    let verb = &review["spec"]["resourceAttributes"]["verb"];
    let question = verbs.iter().position(|known| verb == known).unwrap();
    let (manner, verdict, sent) = {
        let mut world = world(&shared);
        world.sequence += 1;
        (world.manners[caller], world.verdict(caller, question), world.sequence)
    };
    match manner {
        Manner::Prompt => {}
        // What it answers is as it was before.
        Manner::Slow => sleep(Duration::from_secs(2)).await,
        Manner::Stuck => return std::future::pending().await,
        Manner::Code(code) => return respond(code, ""),
        Manner::Broken => return respond(201, r#"{"status":"#),
    }
    let mut world = world(&shared);
    world.sequence += 1;
    let answered = world.sequence;
    world.seen.push(Seen { caller, question, verdict, sent, answered, at: Instant::now() });
    match verdict {
        Verdict::Allowed => respond(201, r#"{"status":{"allowed":true}}"#),
        Verdict::Denied => respond(201, r#"{"status":{"allowed":false}}"#),
        Verdict::Invalid => respond(401, ""),
    }
}

/// A run of the proxy.
struct Run {
    access: Arc<AccessReviews>,
    saving: JoinHandle<()>,
}

impl Run {
    fn start(shared: &SharedWorld, folder: &Path, begin: Instant) -> Self {
        let api = || {
            let shared = shared.clone();
            ApiServer::at("https://192.0.2.1:6443".parse().unwrap(), move |request| {
                answer(shared.clone(), request).boxed()
            })
        };
        let reachability = Reachability::new(api());
        let access = Arc::new(AccessReviews::new(Arc::new(api()), None, reachability, &Health::default()));
        let state = NodeState::new("edge-1".into(), EdgeScheme::KubeProxy, KeyOrder::AnyKey);
        let cache = Arc::new(EdgeCache::new(state, Versions::from(1)));
        let seconds = move || 1_800_000_000 + i64::try_from(begin.elapsed().as_secs()).unwrap();
        let clock = Clock::new(move || Timestamp::from_second(seconds()).unwrap());
        let path = folder.join("edge.state");
        let saved = Persistence::load(&path, None, &"edge-1".into(), clock, cache, access.clone());
        Self { access, saving: tokio::spawn(saved.run()) }
    }

    async fn read(&self, caller: usize, question: usize) -> ReadOutcome {
        let exchange = Exchange::of(&Extensions::new());
        outcome(self.access.check(&identity(caller), &HeaderMap::new(), &target(question), &exchange).await)
    }

    /// Opens a watch, unless it is refused.
    async fn watch(&self, caller: usize) -> (ReadOutcome, Option<WatchPermission>) {
        let read = self.read(caller, WATCH).await;
        if read != ReadOutcome::Allowed {
            return (read, None);
        }
        let question = AccessQuestion::of(&identity(caller), &target(WATCH)).unwrap();
        let begun = WatchPermission::begin(&self.access, &identity(caller), question, Box::new(|| true));
        (read, begun.ok())
    }

    /// Ends as with SIGTERM.
    async fn stop(&mut self) {
        self.saving.abort();
        let _ = (&mut self.saving).await;
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn outcome(checked: Result<(), crate::runtime::status_error::StatusError>) -> ReadOutcome {
    match checked.map_err(|error| error.code.as_u16()) {
        Ok(()) => ReadOutcome::Allowed,
        Err(401 | 403) => ReadOutcome::Refused,
        Err(429 | 503) => ReadOutcome::Unavailable,
        Err(other) => panic!("{other}"),
    }
}

fn identity(caller: usize) -> Caller {
    let mut headers = HeaderMap::new();
    headers.insert(header::AUTHORIZATION, format!("Bearer token-{caller}").parse().unwrap());
    Caller::of(&headers, None).unwrap()
}

fn target(question: usize) -> CachedRead {
    match RequestTarget::read(&Method::GET, &PATHS[question].parse().unwrap(), "edge-1") {
        Ok(RequestTarget::Read(read)) => read,
        other => panic!("{other:?}"),
    }
}

/// The generator `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 8).unwrap() % end
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// An open watch.
struct OpenWatch {
    caller: usize,
    permission: WatchPermission,
    /// Whether the API server has answered it all the time, that it may watch, or was away.
    is_undisturbed: bool,
}

/// How often something happened: a test in which it never does shows nothing.
#[derive(Debug, Default)]
struct Counts {
    offline: usize,
    refused: usize,
    unavailable: usize,
    restarts: usize,
    overtaken: usize,
    watches_ended: usize,
    watches_kept: usize,
}

struct Sequence<'a> {
    seed: u64,
    random: Random,
    world: SharedWorld,
    model: Model,
    run: Run,
    folder: TempDir,
    begin: Instant,
    watches: Vec<OpenWatch>,
    log: Vec<String>,
    counts: &'a mut Counts,
}

impl<'a> Sequence<'a> {
    fn begin(seed: u64, counts: &'a mut Counts) -> Self {
        let world = World {
            outage: Outage::None,
            manners: [Manner::Prompt; CALLERS],
            is_valid: [true; CALLERS],
            is_allowed: [[true; QUESTIONS]; CALLERS],
            sequence: 0,
            seen: Vec::new(),
        };
        let (world, folder, begin) = (Arc::new(Mutex::new(world)), TempDir::new().unwrap(), Instant::now());
        let run = Run::start(&world, folder.path(), begin);
        let (random, model) = (Random(seed), Model::new(begin));
        Self { seed, random, world, model, run, folder, begin, watches: Vec::new(), log: Vec::new(), counts }
    }

    /// Takes what the proxy has seen, and looks at the watches.
    fn learn(&mut self) {
        let (seen, outage) = {
            let mut world = world(&self.world);
            (std::mem::take(&mut world.seen), world.outage)
        };
        for seen in seen {
            self.log.push(format!("  seen {seen:?}"));
            self.model.learn(&seen);
        }
        let now = Instant::now();
        for watch in &mut self.watches {
            let asked = world(&self.world).asked(watch.caller, WATCH);
            watch.is_undisturbed &= asked == ReadOutcome::Allowed;
        }
        let ended = self.watches.extract_if(.., |watch| watch.permission.is_ended()).collect::<Vec<_>>();
        self.counts.watches_ended += ended.len();
        for watch in ended {
            let is_lost = watch.is_undisturbed && self.model.must_keep(watch.caller, WATCH, now);
            assert!(!is_lost, "a watch ended\n{}", self.trace());
        }
        self.counts.watches_kept += self.watches.len();
        for watch in &self.watches {
            let may_last = self.model.may_watch(watch.caller, WATCH, outage, now);
            assert!(may_last, "a watch of {} goes on\n{}", watch.caller, self.trace());
        }
    }

    async fn read(&mut self) {
        let (caller, question) = (self.random.below(CALLERS), self.random.below(QUESTIONS));
        let (before, asked) = (self.expected(caller, question), world(&self.world).asked(caller, question));
        let found = if question == WATCH {
            let (found, permission) = self.run.watch(caller).await;
            let is_undisturbed = asked == ReadOutcome::Allowed;
            self.watches.extend(permission.map(|permission| OpenWatch { caller, permission, is_undisturbed }));
            found
        } else {
            self.run.read(caller, question).await
        };
        self.log.push(format!("read {caller} {question}: {found:?} of {before:?}"));
        self.learn();
        let after = self.expected(caller, question);
        assert!(before.contains(&found) || after.contains(&found), "{found:?}, not {before:?}\n{}", self.trace());
        self.judge(caller, question, found);
    }

    /// No read follows a refusal that the proxy has seen.
    fn judge(&mut self, caller: usize, question: usize, found: ReadOutcome) {
        let Belief { grant, .. } = self.model.belief(caller, question);
        assert!(found != ReadOutcome::Allowed || grant.is_some(), "a read follows a refusal\n{}", self.trace());
        let is_away = world(&self.world).outage != Outage::None;
        match found {
            ReadOutcome::Allowed => self.counts.offline += usize::from(is_away),
            ReadOutcome::Refused => self.counts.refused += 1,
            ReadOutcome::Unavailable => self.counts.unavailable += 1,
        }
    }

    fn expected(&self, caller: usize, question: usize) -> Vec<ReadOutcome> {
        let (asked, outage) = {
            let world = world(&self.world);
            (world.asked(caller, question), world.outage)
        };
        self.model.expected(caller, question, asked, outage, Instant::now())
    }

    /// A permission is on its way, and a refusal overtakes it.
    async fn overtake(&mut self) {
        let (caller, question) = (self.random.below(CALLERS), self.random.below(WATCH));
        let verdicts = [(Manner::Slow, true), (Manner::Prompt, false)];
        let mut reads = Vec::new();
        for (manner, is_allowed) in verdicts {
            {
                let mut world = world(&self.world);
                (world.manners[caller], world.is_allowed[caller][question]) = (manner, is_allowed);
            }
            let access = self.run.access.clone();
            reads.push(tokio::spawn(async move {
                let exchange = Exchange::of(&Extensions::new());
                let checked = access.check(&identity(caller), &HeaderMap::new(), &target(question), &exchange).await;
                (outcome(checked), Instant::now())
            }));
            sleep(Duration::from_millis(500)).await;
        }
        let found = futures::future::join_all(reads).await.into_iter().map(Result::unwrap).collect::<Vec<_>>();
        self.log.push(format!("overtake {caller} {question}: {found:?}"));
        self.learn();
        let [(first, ended), (second, refused)] = found[..] else { return };
        if second == ReadOutcome::Refused && ended > refused {
            self.counts.overtaken += 1;
            self.judge(caller, question, first);
        }
    }

    async fn restart(&mut self) {
        let is_killed = self.random.below(2) == 0;
        self.watches.clear();
        let next = TempDir::new().unwrap();
        if is_killed {
            // What a process that is killed leaves: what comes at its end is written to the other folder.
            copy(self.folder.path(), next.path());
        }
        self.run.stop().await;
        if !is_killed {
            copy(self.folder.path(), next.path());
        }
        self.run = Run::start(&self.world, next.path(), self.begin);
        self.folder = next;
        self.model.restart(is_killed, Instant::now());
        self.counts.restarts += 1;
        self.log.push(format!("restart, killed: {is_killed}"));
    }

    async fn step(&mut self) {
        match self.random.below(20) {
            0..=8 => self.read().await,
            9..=11 => {
                let passes = self.random.pick(&[1, 4, 9, 11, 61, 305, 320, 600]);
                self.wait(Duration::from_secs(passes)).await;
            }
            12 => {
                // Watches would be renewed thousands of times.
                self.watches.clear();
                let passes = self.random.pick(&[1, 7, 23]);
                self.wait(Duration::from_hours(passes)).await;
            }
            13 => self.overtake().await,
            14 => self.restart().await,
            15 | 16 => {
                let outages = [Outage::None, Outage::None, Outage::Refused, Outage::Silent, Outage::Gateway];
                let outage = self.random.pick(&outages);
                self.log.push(format!("{outage:?}"));
                world(&self.world).outage = outage;
                self.model.outage(outage, Instant::now());
            }
            17 => {
                let caller = self.random.below(CALLERS);
                let others = [Manner::Slow, Manner::Stuck, Manner::Code(500), Manner::Code(429), Manner::Broken];
                let manner = if self.random.below(2) == 0 { Manner::Prompt } else { self.random.pick(&others) };
                self.log.push(format!("{caller} {manner:?}"));
                world(&self.world).manners[caller] = manner;
            }
            _ => {
                let (caller, question) = (self.random.below(CALLERS), self.random.below(2 * QUESTIONS));
                let mut world = world(&self.world);
                match world.is_allowed[caller].get_mut(question) {
                    Some(is_allowed) => *is_allowed = !*is_allowed,
                    None => world.is_valid[caller] = !world.is_valid[caller],
                }
                self.log.push(format!("{caller} {} {:?}", world.is_valid[caller], world.is_allowed[caller]));
            }
        }
        // What is granted or refused now is learned before the next step.
        yield_now().await;
        self.learn();
    }

    async fn wait(&mut self, passes: Duration) {
        self.log.push(format!("{passes:?}"));
        sleep(passes).await;
    }

    fn trace(&self) -> String {
        format!("sequence {}\n{}", self.seed, self.log.join("\n"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_is_as_a_model_says_and_none_follows_a_refusal() {
    let mut counts = Counts::default();
    for seed in 0..SEQUENCES {
        let mut sequence = Sequence::begin(seed, &mut counts);
        for _ in 0..STEPS {
            sequence.step().await;
        }
        sequence.watches.clear();
        sequence.run.stop().await;
    }
    let Counts { offline, refused, unavailable, restarts, overtaken, watches_ended, watches_kept } = counts;
    let all = [offline, refused, unavailable, restarts, overtaken, watches_ended, watches_kept];
    assert!(all.iter().all(|count| *count >= 20), "{counts:?}");
}
