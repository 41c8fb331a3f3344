//! A steady load of writes: so many a second, as long as no more than a few have no answer yet. A machine that has no time
//! for them writes less often: else it would pile up writes, and each would wait for the others until its time-out.
//!
//! Every write is a dry run, which takes the same way through the webhooks and leaves nothing behind. By turns it is
//! a Service that must be admitted and changed, and one that must be refused by a rule; and by turns it goes into a
//! namespace whose webhooks are `Ignore`, where a webhook that does not answer lets something pass, and into one
//! whose webhooks are `Fail`, where it refuses. Some more writes meet no webhook: where even they are slow, the machine
//! is, and time-outs of two seconds say nothing of webhooks.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use kube::Client;
use serde_json::{Value, json};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, watch},
    task::{JoinHandle, JoinSet},
    time::{Instant, MissedTickBehavior, interval, timeout},
};

/// Writes a second, where nothing may be lost.
pub(crate) const RATE: u32 = 200;
/// The namespace of webhooks that are `Ignore`.
pub(crate) const OPEN: &str = "open";
/// The namespace of webhooks that are `Fail`.
pub(crate) const CLOSED: &str = "closed";
/// Longest write. The webhooks have two seconds each.
const LONGEST: Duration = Duration::from_secs(15);
/// Most writes at once: four times what there is where a write takes 20 ms.
const AT_ONCE: usize = 16;
/// One in so many writes meets no webhook.
const CONTROL: usize = 10;
/// Longer than such a write takes where there is time for it.
const SLOW: Duration = Duration::from_secs(1);
/// How many errors are recorded in full.
const SHOWN: usize = 8;

/// What came of the writes.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) writes: usize,
    /// Refused for another reason than the rule, too late, or without an answer.
    pub(crate) failed: Count,
    /// Those of them that must be admitted.
    pub(crate) failed_good: Count,
    /// Admitted although a rule forbids it, or without being changed.
    pub(crate) admitted: Count,
    took: Vec<Duration>,
    /// The longest write that met no webhook.
    control: Duration,
    /// Failures since nobody listens where the API server called.
    pub(crate) refused: usize,
    /// When the last write began that went wrong.
    pub(crate) last_wrong: Option<Instant>,
    pub(crate) complaints: Vec<String>,
}

/// By namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) open: usize,
    pub(crate) closed: usize,
}

impl Count {
    fn add(&mut self, write: &Write) {
        *if write.namespace == OPEN { &mut self.open } else { &mut self.closed } += 1;
    }

    pub(crate) fn all(self) -> usize {
        self.open + self.closed
    }
}

impl Tally {
    fn add(&mut self, write: &Write, result: &Result<(), Wrong>, began: Instant) {
        self.writes += 1;
        self.took.push(began.elapsed());
        let Err(wrong) = result else { return };
        self.last_wrong = self.last_wrong.max(Some(began));
        self.refused += usize::from(matches!(wrong, Wrong::Failed(why) if why.contains("connection refused")));
        match wrong {
            Wrong::Failed(_) if write.good => {
                self.failed.add(write);
                self.failed_good.add(write);
            }
            Wrong::Failed(_) => self.failed.add(write),
            Wrong::Admitted(_) => self.admitted.add(write),
        }
        if self.complaints.len() < SHOWN {
            self.complaints.push(format!("{}: {wrong:?}", write.namespace));
        }
    }

    /// The time that all but one in a hundred took at most.
    pub(crate) fn p99(&self) -> Duration {
        let mut took = self.took.clone();
        took.sort_unstable();
        took.get(took.len().saturating_sub(1 + took.len() / 100)).copied().unwrap_or_default()
    }

    /// Whether every write went as it must.
    pub(crate) fn is_clean(&self) -> bool {
        self.failed.all() + self.admitted.all() == 0
    }

    /// Whether the machine had no time for this test.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.control > SLOW
    }

    /// An error unless every write went as it must.
    pub(crate) fn assert_clean(&self) {
        assert!(self.is_clean(), "{self}\n{:#?}", self.complaints);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, admitted) = (self.failed.all(), self.admitted.all());
        write!(f, "{:>6} | {failed:>6} | {admitted:>8} | {:>5} ms", self.writes, self.p99().as_millis())
    }
}

/// What is wrong with the answer to a write.
#[derive(Debug)]
enum Wrong {
    Failed(String),
    Admitted(#[expect(dead_code, reason = "shown by Debug where a test fails")] &'static str),
}

struct Write {
    namespace: &'static str,
    /// Whether it must be let in.
    good: bool,
}

impl Write {
    fn nth(n: usize) -> Self {
        Self { good: n.is_multiple_of(2), namespace: if n % 4 < 2 { OPEN } else { CLOSED } }
    }

    async fn run(&self, client: &Client) -> Result<(), Wrong> {
        let (name, metadata) = if self.good {
            ("good", json!({ "annotations": { "service.alpha.kubernetes.io/tolerate-unready-endpoints": "true" } }))
        } else {
            ("bad", json!({ "labels": { "service.kubernetes.io/headless": "" } }))
        };
        let mut object = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": { "clusterIP": "None", "ports": [{ "port": 80 }] },
        });
        object["metadata"]["name"] = name.into();
        let path = format!("/api/v1/namespaces/{}/services?dryRun=All", self.namespace);
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(object.to_string().into_bytes()).unwrap();
        match timeout(LONGEST, client.request::<Value>(request)).await {
            Err(_) => Err(Wrong::Failed(format!("{name}: no answer within {} s", LONGEST.as_secs()))),
            Ok(answer) => self.judge(answer),
        }
    }

    fn judge(&self, answer: Result<Value, kube::Error>) -> Result<(), Wrong> {
        match (self.good, answer) {
            (true, Ok(object)) if object["spec"]["publishNotReadyAddresses"] == true => Ok(()),
            (true, Ok(_)) => Err(Wrong::Admitted("a good one, without being changed")),
            (true, Err(error)) => Err(Wrong::Failed(format!("a good one: {}", message(&error)))),
            (false, Ok(_)) => Err(Wrong::Admitted("a bad one")),
            (false, Err(error)) if error.to_string().contains("(reserved-label)") => Ok(()),
            (false, Err(error)) => Err(Wrong::Failed(format!("a bad one, not by the rule: {}", message(&error)))),
        }
    }
}

/// What an API server says, without the rest of its status.
fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

/// A load that runs until it is stopped.
pub(crate) struct Load {
    handle: Handle,
    stop: watch::Sender<bool>,
    ended: JoinHandle<()>,
    tally: Arc<Mutex<Tally>>,
    open: Arc<AtomicUsize>,
}

impl Load {
    /// How many writes a second.
    pub(crate) fn start(handle: &Handle, client: Client, rate: u32) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (tally, open) = (Arc::<Mutex<Tally>>::default(), Arc::<AtomicUsize>::default());
        let ended = handle.spawn(pace(client, rate, stopped, tally.clone(), open.clone()));
        Self { handle: handle.clone(), stop, ended, tally, open }
    }

    /// Writes that have no answer yet.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    /// Waits until `more` further writes have their answers, however long that takes; but none may be long in coming.
    pub(crate) fn go_on(&self, more: usize) {
        let writes = || self.tally.lock().unwrap().writes;
        let mut before = writes();
        let until = before + more;
        while before < until {
            super::wait("the load goes on", || (writes() > before).then_some(()));
            before = writes();
        }
    }

    /// Begins nothing more, waits for the last answers, and counts.
    pub(crate) fn stop(self) -> Tally {
        self.stop.send_replace(true);
        self.handle.block_on(self.ended).unwrap();
        std::mem::take(&mut self.tally.lock().unwrap())
    }
}

/// A write that meets no webhook.
async fn control(client: Client, tally: Arc<Mutex<Tally>>, began: Instant) {
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "control" } });
    let request = http::Request::post(format!("/api/v1/namespaces/{OPEN}/configmaps?dryRun=All"));
    let request = request.header("content-type", "application/json").body(object.to_string().into_bytes()).unwrap();
    let _ = timeout(LONGEST, client.request::<Value>(request)).await;
    let mut tally = tally.lock().unwrap();
    tally.control = tally.control.max(began.elapsed());
}

/// Begins a write at every tick, whether those before have ended or not.
fn pace(
    client: Client,
    rate: u32,
    mut stopped: watch::Receiver<bool>,
    tally: Arc<Mutex<Tally>>,
    open: Arc<AtomicUsize>,
) -> impl Future<Output = ()> {
    let mut writes = JoinSet::new();
    let places = Arc::new(Semaphore::new(AT_ONCE));
    async move {
        let mut ticks = interval(Duration::from_secs(1) / rate);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for n in 0.. {
            let begin = async {
                ticks.tick().await;
                places.clone().acquire_owned().await.unwrap()
            };
            let place = tokio::select! {
                _ = stopped.changed() => break,
                place = begin => place,
            };
            let began = Instant::now();
            while writes.try_join_next().is_some() {}
            if n % CONTROL == 0 {
                writes.spawn(control(client.clone(), tally.clone(), began));
            }
            let (client, tally, open) = (client.clone(), tally.clone(), open.clone());
            writes.spawn(async move {
                let _place = place;
                open.fetch_add(1, Ordering::SeqCst);
                let write = Write::nth(n);
                let result = write.run(&client).await;
                open.fetch_sub(1, Ordering::SeqCst);
                tally.lock().unwrap().add(&write, &result, began);
            });
        }
        while writes.join_next().await.is_some() {}
    }
}
