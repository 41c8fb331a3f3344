//! The genuine client and the probes of a kubelet, on a thread of their own: attackers must not delay their clocks.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use rustls::pki_types::ServerName;
use tokio::{
    net::{TcpSocket, TcpStream},
    runtime,
    sync::{Semaphore, watch},
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    attacker::{GENUINE, Targets},
    bodies,
    genuine_request::{GenuineRequest, GenuineRequests, Outcome},
    http1,
    http2::{Http2, Scheme},
    request::Request,
    site::Server,
    tls,
    upstream::Changes,
    watches::GenuineWatch,
};

/// The address from which a kubelet probes.
const KUBELET: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);
/// The address of a tool that calls the REST API: it sends no reviews.
const TOOL: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 2);
/// The time between two reviews on new connections, and between two on persistent ones.
const EVERY: Duration = Duration::from_millis(20);
/// After how many requests persistent connections of the other protocol are used.
const SAME_PROTOCOL: u64 = 10;
/// The longest time that an API server waits by default.
const REVIEW: Duration = Duration::from_secs(10);
/// Persistent connections of each protocol. An API server opens another one when all are busy.
const KEPT: usize = 8;
/// Watches of a node proxy.
const WATCHES: usize = 8;
/// The pods of the Services that it plans: one in a few kilobytes, and one in more than 256 KiB.
const PLANS: [usize; 2] = [10, 1200];
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// The longest time that a client of the REST API waits: clients take turns.
const CALL: Duration = Duration::from_secs(10);
const MEMORY_EVERY: Duration = Duration::from_millis(100);

/// A request of the genuine client.
#[derive(Clone, Debug)]
pub(crate) struct Review {
    pub(crate) began: Instant,
    pub(crate) took: Duration,
    pub(crate) outcome: Outcome,
}

/// A probe.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) began: Instant,
    /// Why it failed.
    pub(crate) failed: Option<String>,
}

/// Everything that was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) reviews: Vec<Review>,
    pub(crate) probes: Vec<Probe>,
    /// Plans of a small Service and of a larger one, if there is a REST API; of a node proxy, the events that its watches must send.
    pub(crate) calls: Vec<Probe>,
    /// Resident memory in bytes.
    pub(crate) memory: Vec<(Instant, u64)>,
    /// How late each pair of reviews began: the machine had no time for the client, whatever the server did.
    pub(crate) late: Vec<Duration>,
}

/// The running client. It stops when the value is dropped.
pub(crate) struct Genuine {
    stop: watch::Sender<bool>,
    thread: thread::JoinHandle<Result<()>>,
    seen: Arc<Mutex<Seen>>,
}

impl Genuine {
    /// Starts the client of a server.
    pub(crate) fn start(server: &Server) -> Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let seen = Arc::<Mutex<Seen>>::default();
        let client = Client::new(server.targets, server.changes(), server.process(), seen.clone())?;
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let run = move || {
            runtime.block_on(client.run(stopped));
            Ok(())
        };
        let thread = thread::Builder::new().name("genuine".to_owned()).spawn(run)?;
        Ok(Self { stop, thread, seen })
    }

    /// Whether every review that began this long ago, or later, was answered rightly and soon.
    pub(crate) fn is_calm(&self, duration: Duration, longest: Duration) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = seen.reviews.iter().filter(|r| r.began.elapsed() <= duration);
        let right = recent.clone().filter(|r| matches!(r.outcome, Outcome::Right) && r.took <= longest).count();
        // Some may be on their way.
        right == recent.count() && right as f64 > 1.5 * duration.div_duration_f64(EVERY)
    }

    /// Begins nothing more, waits for the last answers, and returns what was seen.
    pub(crate) fn stop(self) -> Result<Seen> {
        self.stop.send_replace(true);
        self.thread.join().map_err(|_| anyhow::anyhow!("the genuine client panicked"))??;
        Ok(std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// How a review is sent.
#[derive(Clone, Copy, Debug)]
enum Way {
    New,
    KeptHttp1,
    KeptHttp2,
}

pub(crate) type Connection = TlsStream<TcpStream>;

/// Persistent connections of one protocol.
struct Kept<C> {
    idle: Mutex<Vec<C>>,
    places: Semaphore,
}

impl<C> Kept<C> {
    fn new() -> Arc<Self> {
        Arc::new(Self { idle: Mutex::default(), places: Semaphore::new(KEPT) })
    }

    fn take(&self) -> Option<C> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, connection: C) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) targets: Targets,
    process: u32,
    http1: TlsConnector,
    http2: TlsConnector,
    requests: Arc<GenuineRequests>,
    plans: [Arc<[u8]>; 2],
    /// The changes of the object that is watched, if there is one.
    changes: Option<Changes>,
    kept_http1: Arc<Kept<Connection>>,
    kept_http2: Arc<Kept<Http2<Connection>>>,
    seen: Arc<Mutex<Seen>>,
}

impl Client {
    fn new(targets: Targets, changes: Option<Changes>, process: u32, seen: Arc<Mutex<Seen>>) -> Result<Self> {
        Ok(Self {
            targets,
            process,
            http1: tls::connector(&[])?,
            http2: tls::connector(&[b"h2"])?,
            requests: Arc::new(GenuineRequests::new(targets.site)),
            plans: PLANS.map(|pods| Request::post("/v1/plan", bodies::state(pods).as_bytes()).http1().into()),
            changes,
            kept_http1: Kept::new(),
            kept_http2: Kept::new(),
            seen,
        })
    }

    pub(crate) fn see(&self, add: impl FnOnce(&mut Seen)) {
        add(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sends until it is stopped, whether the requests before have ended or not.
    async fn run(self, mut stopped: watch::Receiver<bool>) {
        let ticks = |every| {
            let mut ticks = interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            ticks
        };
        let (mut reviews, mut probes, mut memory) = (ticks(EVERY), ticks(PROBE_EVERY), ticks(MEMORY_EVERY));
        let (mut tasks, mut number) = (JoinSet::new(), 0);
        for (changes, watch) in self.changes.iter().flat_map(|changes| (0..WATCHES).map(move |n| (changes, n))) {
            let (client, changes) = (self.clone(), changes.clone());
            let watch = GenuineWatch { client, changes, http2: watch % 2 == 1, last: None, version: None };
            tasks.spawn(watch.run(stopped.clone()));
        }
        loop {
            tokio::select! {
                _ = stopped.changed() => break,
                due = reviews.tick() => {
                    number += 1;
                    self.see(|seen| seen.late.push(due.elapsed()));
                    let request = self.requests.get(number);
                    let kept = if (number / SAME_PROTOCOL).is_multiple_of(2) { Way::KeptHttp1 } else { Way::KeptHttp2 };
                    tasks.spawn(self.clone().review(request.clone(), Way::New));
                    tasks.spawn(self.clone().review(request, kept));
                }
                _ = probes.tick() => {
                    tasks.spawn(self.clone().probe("/livez"));
                    tasks.spawn(self.clone().probe("/readyz"));
                    for plan in self.targets.rest.iter().flat_map(|_| &self.plans) {
                        tasks.spawn(self.clone().call(plan.clone()));
                    }
                }
                _ = memory.tick() => {
                    let resident = resident(self.process);
                    self.see(|seen| seen.memory.extend(resident.map(|bytes| (Instant::now(), bytes))));
                }
            }
            while tasks.try_join_next().is_some() {}
        }
        while tasks.join_next().await.is_some() {}
    }

    async fn review(self, genuine: GenuineRequest, way: Way) {
        let began = Instant::now();
        let GenuineRequest { request, judge } = &genuine;
        let answer = timeout(REVIEW, async {
            match way {
                Way::New => http1::exchange(&mut self.connect_http1().await?, &request.http1()).await,
                Way::KeptHttp1 => self.on_kept_http1(request).await,
                Way::KeptHttp2 => self.on_kept_http2(request).await,
            }
        });
        let outcome = match answer.await {
            Err(_) => Outcome::Lost("no answer within 10 s".to_owned()),
            Ok(Err(error)) => Outcome::Lost(format!("{error:#}")),
            Ok(Ok(answer)) => judge(&answer),
        };
        let outcome = match outcome {
            Outcome::Lost(why) => Outcome::Lost(format!("{way:?}: {why}")),
            outcome => outcome,
        };
        let review = Review { began, took: began.elapsed(), outcome };
        self.see(|seen| seen.reviews.push(review));
    }

    async fn on_kept_http1(&self, request: &Request) -> Result<http1::Answer> {
        // Nothing is to be read on an idle connection but its end.
        let is_open = |connection: &Connection| {
            let read = connection.get_ref().0.try_read(&mut [0]);
            read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
        };
        let _place = self.kept_http1.places.acquire().await?;
        let mut connection = match std::iter::from_fn(|| self.kept_http1.take()).find(is_open) {
            Some(connection) => connection,
            None => self.connect_http1().await?,
        };
        let answer = http1::exchange(&mut connection, &request.http1()).await?;
        self.kept_http1.put(connection);
        Ok(answer)
    }

    async fn on_kept_http2(&self, request: &Request) -> Result<http1::Answer> {
        let _place = self.kept_http2.places.acquire().await?;
        let mut connection = loop {
            let Some(mut idle) = self.kept_http2.take() else {
                break Http2::open(self.connect_http2().await?, Scheme::Https, &[]).await?;
            };
            if idle.is_open().await {
                break idle;
            }
        };
        let (status, body) = connection.exchange(request).await?;
        self.kept_http2.put(connection);
        Ok(http1::Answer { status, body })
    }

    pub(crate) async fn connect_http1(&self) -> Result<Connection> {
        self.connect(&self.http1).await
    }

    pub(crate) async fn connect_http2(&self) -> Result<Connection> {
        self.connect(&self.http2).await
    }

    async fn connect(&self, connector: &TlsConnector) -> Result<Connection> {
        let tcp = tcp(GENUINE, self.targets.served).await?;
        connector.connect(ServerName::try_from("localhost")?, tcp).await.context("handshake")
    }

    async fn probe(self, path: &'static str) {
        let began = Instant::now();
        let asked = async {
            let mut connection = tcp(KUBELET, self.targets.admin).await?;
            let answer = http1::exchange(&mut connection, &Request::get(path).http1()).await?;
            ensure!(answer.status == 200, "{answer}");
            Ok(())
        };
        let failed = match timeout(self.targets.soon, asked).await {
            Err(_) => Some(format!("{path}: no answer within {:?}", self.targets.soon)),
            Ok(result) => result.err().map(|error: anyhow::Error| format!("{path}: {error:#}")),
        };
        self.see(|seen| seen.probes.push(Probe { began, failed }));
    }

    /// Plans a Service.
    async fn call(self, plan: Arc<[u8]>) {
        let began = Instant::now();
        let asked = async {
            let mut connection = tcp(TOOL, self.targets.rest.context("no REST API")?).await?;
            let answer = http1::exchange(&mut connection, &plan).await?;
            ensure!(answer.status == 200, "{answer}");
            Ok(())
        };
        let failed = match timeout(CALL, asked).await {
            Err(_) => Some(format!("plan of {} bytes: no answer within 10 s", plan.len())),
            Ok(result) => result.err().map(|error: anyhow::Error| format!("plan of {} bytes: {error:#}", plan.len())),
        };
        self.see(|seen| seen.calls.push(Probe { began, failed }));
    }
}

async fn tcp(source: Ipv4Addr, target: SocketAddr) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(IpAddr::V4(source), 0))?;
    let tcp = socket.connect(target).await.context("connecting")?;
    tcp.set_nodelay(true)?;
    Ok(tcp)
}

/// The resident memory of a process in bytes.
fn resident(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
