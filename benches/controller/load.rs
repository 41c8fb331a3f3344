//! The load of `cargo xtask bench --what side-by-side`: `controller_load KUBECONFIG PID SERVICES PODS SECONDS`.
//!
//! On a cluster without objects, beside the controller whose process has this id: creates Services and their pods, as a kubelet
//! would bring them up, and waits until all are published; then changes the readiness of 100 pods a second. Prints a line of JSON.

mod client;
mod objects;
mod observed;
#[path = "../../tests/attacks/tls.rs"]
mod tls;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use client::{ApiServer, Connection};
use observed::{Observed, Size, pod_name, service_name};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    time::{sleep, sleep_until},
};

/// How many requests are made at the same time.
const CONNECTIONS: usize = 16;
/// Flips of the readiness of a pod.
const FLIPS_PER_SECOND: u64 = 100;
/// The pause between two writes of the bare client.
const BARE: Duration = Duration::from_millis(100);
/// The longest wait until all pods are published.
const LONGEST: Duration = Duration::from_mins(10);
/// How long nothing may be written until the end of a phase.
const QUIET: Duration = Duration::from_secs(5);

const SLICES: &str = "/apis/discovery.k8s.io/v1/endpointslices";
const ENDPOINTS: &str = "/api/v1/endpoints";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

#[expect(clippy::disallowed_methods, reason = "a program that reads a file")]
fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kubeconfig, pid, services, pods, seconds] = arguments.as_slice() else {
        bail!("KUBECONFIG PID SERVICES PODS SECONDS");
    };
    let kubeconfig = std::fs::read_to_string(kubeconfig).with_context(|| format!("reading {kubeconfig}"))?;
    let size = Size { services: services.parse()?, pods: pods.parse()? };
    let (process, seconds) = (Process(pid.parse()?), seconds.parse()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measured = runtime.block_on(run(ApiServer::of(&kubeconfig)?, process, size, seconds))?;
    #[expect(clippy::print_stdout, reason = "its result")]
    {
        println!("{measured}");
    }
    Ok(())
}

async fn run(server: ApiServer, process: Process, size: Size, seconds: u64) -> Result<Value> {
    let observed = Arc::new(Observed::new(size));
    watch(&server, SLICES, &observed, Observed::slice);
    watch(&server, ENDPOINTS, &observed, Observed::endpoints);
    prepare(&mut server.connect().await?, size).await?;
    // The Services are published without pods first.
    quiet(&server, &observed).await?;
    let mut phase = Phase::begin(&process, &server).await?;
    let filled = fill(&server, size).await?;
    let behind = published(&observed, filled.ended).await;
    quiet(&server, &observed).await?;
    let fill = phase.end(&process, &server, 0).await?;
    let (latencies, bare_writes) = flips(&server, &observed, size, seconds).await?;
    quiet(&server, &observed).await?;
    let flips = phase.end(&process, &server, bare_writes).await?;
    let (rss, peak) = process.memory()?;
    Ok(json!({
        "fill_seconds": filled.took.as_secs_f64(), "behind": behind, "fill": fill, "flips": flips, "latencies": latencies,
        "rss": rss, "peak": peak,
    }))
}

fn watch(
    server: &ApiServer,
    path: &'static str,
    observed: &Arc<Observed>,
    see: fn(&Observed, &[u8]) -> Result<String>,
) {
    let (server, observed) = (server.clone(), observed.clone());
    tokio::spawn(async move {
        if let Err(error) = server.watch(path, |event| see(&observed, event)).await {
            fail(&error);
        }
    });
}

/// What is measured is worth nothing without the watches.
#[expect(clippy::print_stderr, reason = "its only error")]
fn fail(error: &anyhow::Error) {
    eprintln!("a watch: {error:#}");
    std::process::exit(1);
}

async fn prepare(control: &mut Connection, size: Size) -> Result<()> {
    control.post("/api/v1/namespaces", &objects::namespace()).await?;
    for node in 0..objects::NODES {
        control.post("/api/v1/nodes", &objects::node(node)).await?;
    }
    control.post(&objects::path(SLICES, ""), &objects::bare(0)).await?;
    for service in 0..size.services {
        control.post(&objects::path("/api/v1/services", ""), &objects::service(&service_name(service))).await?;
    }
    Ok(())
}

/// Waits until no slice and no Endpoints were written for a while.
async fn quiet(server: &ApiServer, observed: &Observed) -> Result<()> {
    let mut last = Writes::read(server).await?;
    loop {
        sleep(QUIET).await;
        let now = Writes::read(server).await?;
        let is_late = observed.lock().last_slice.elapsed() > LONGEST;
        if now == last || is_late {
            return Ok(());
        }
        last = now;
    }
}

struct Filled {
    took: Duration,
    /// When the last status was stored.
    ended: Instant,
}

/// Creates the pods, each with its status at once. They belong to one Service after the other, as where a whole cluster starts.
async fn fill(server: &ApiServer, size: Size) -> Result<Filled> {
    let (began, next) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..CONNECTIONS {
        let (mut connection, next) = (server.connect().await?, next.clone());
        tasks.push(tokio::spawn(async move {
            loop {
                let pod = next.fetch_add(1, Ordering::Relaxed);
                if pod >= size.all_pods() {
                    return Ok::<_, anyhow::Error>(());
                }
                let (name, service) = (pod_name(pod), service_name(pod % size.services));
                connection.post(&objects::path("/api/v1/pods", ""), &objects::pod(&name, &service, pod)).await?;
                set_status(&mut connection, pod, &objects::status(pod)).await?;
            }
        }));
    }
    for task in tasks {
        task.await??;
    }
    Ok(Filled { took: began.elapsed(), ended: Instant::now() })
}

async fn set_status(connection: &mut Connection, pod: usize, status: &str) -> Result<()> {
    let path = objects::path("/api/v1/pods", &format!("/{}/status", pod_name(pod)));
    connection.call("PATCH", &path, STRATEGIC, status.as_bytes()).await.map(drop)
}

/// Waits until all pods are published. Returns the seconds from the last status to the last slice, and of how many Services
/// slices and Endpoints are incomplete.
async fn published(observed: &Observed, filled: Instant) -> Value {
    loop {
        let (incomplete, last) = {
            let seen = observed.lock();
            (seen.incomplete(), seen.last_slice)
        };
        if incomplete == [0, 0] || filled.elapsed() > LONGEST {
            let slices = last.saturating_duration_since(filled).as_secs_f64();
            return json!({ "slices": slices, "all": filled.elapsed().as_secs_f64(), "incomplete": incomplete });
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Changes the readiness of pods, of one Service after the other, and meanwhile writes a slice of nobody. Returns the latencies,
/// and how often that slice was written.
async fn flips(server: &ApiServer, observed: &Arc<Observed>, size: Size, seconds: u64) -> Result<(Value, u64)> {
    let (free, mut idle) = channel(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        free.send(server.connect().await?).await?;
    }
    let until = Instant::now() + Duration::from_secs(seconds);
    let bare = tokio::spawn(bare(server.connect().await?, observed.clone(), until));
    let (began, mut tasks) = (tokio::time::Instant::now(), Vec::new());
    for turn in 0..usize::try_from(FLIPS_PER_SECOND * seconds)? {
        sleep_until(began + Duration::from_secs(turn as u64) / u32::try_from(FLIPS_PER_SECOND)?).await;
        let pod = turn % size.all_pods();
        let is_ready = turn / size.all_pods() % 2 == 1;
        tasks.push(flip(&free, &mut idle, observed, pod, is_ready).await?);
    }
    for task in tasks.into_iter().flatten() {
        task.await??;
    }
    let bare: Vec<f64> = bare.await??;
    let waited = Instant::now();
    while observed.lock().pending() > 0 && waited.elapsed() < Duration::from_mins(1) {
        sleep(Duration::from_millis(10)).await;
    }
    let seen = observed.lock();
    let millis = |from: fn(&observed::Flip) -> Option<Instant>| {
        let times = seen.flips.iter().filter_map(|flip| Some(flip.published?.saturating_duration_since(from(flip)?)));
        quantiles(times.map(|time| 1e3 * time.as_secs_f64()).collect())
    };
    let writes = bare.len() as u64;
    let latencies = json!({
        "answered": millis(|flip| flip.answered), "sent": millis(|flip| Some(flip.sent)), "bare": quantiles(bare),
        "flips": seen.flips.len(), "unpublished": seen.pending(),
    });
    Ok((latencies, writes))
}

type Flipping = tokio::task::JoinHandle<Result<()>>;

/// Changes the readiness of a pod on a connection that is free. `None`: the last change was not published yet.
async fn flip(
    free: &Sender<Connection>,
    idle: &mut Receiver<Connection>,
    observed: &Arc<Observed>,
    pod: usize,
    is_ready: bool,
) -> Result<Option<Flipping>> {
    if observed.lock().is_pending(pod) {
        return Ok(None);
    }
    let mut connection = idle.recv().await.context("no connection")?;
    let (free, observed) = (free.clone(), observed.clone());
    Ok(Some(tokio::spawn(async move {
        let number = observed.lock().flip(pod, is_ready);
        set_status(&mut connection, pod, &objects::ready(is_ready, number)).await?;
        observed.lock().flips[number].answered = Some(Instant::now());
        Ok(free.send(connection).await?)
    })))
}

/// Writes a slice again and again. Returns the milliseconds from each write to its event.
async fn bare(mut connection: Connection, observed: Arc<Observed>, until: Instant) -> Result<Vec<f64>> {
    let (path, mut times) = (objects::path(SLICES, "/bare"), Vec::new());
    while Instant::now() < until {
        let (number, sent) = (times.len() + 1, Instant::now());
        connection.call("PUT", &path, "application/json", objects::bare(number).as_bytes()).await?;
        let seen = loop {
            match observed.lock().bare {
                Some((seen, at)) if seen == number => break at,
                _ => ensure!(sent.elapsed() < LONGEST, "the bare client sees nothing"),
            }
            sleep(Duration::from_millis(1)).await;
        };
        times.push(1e3 * seen.duration_since(sent).as_secs_f64());
        sleep(BARE).await;
    }
    Ok(times)
}

fn quantiles(mut times: Vec<f64>) -> Value {
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied();
    json!({ "p50": at(50), "p90": at(90), "p99": at(99), "most": times.last() })
}

/// Writes of slices and Endpoints that the API server has carried out, and those that came too late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Writes {
    slices: u64,
    endpoints: u64,
    refused: u64,
}

impl Writes {
    async fn read(server: &ApiServer) -> Result<Self> {
        let metrics = server.connect().await?.call("GET", "/metrics", "", &[]).await?;
        let mut writes = Self::default();
        for line in std::str::from_utf8(&metrics)?.lines() {
            let Some(line) = line.strip_prefix("apiserver_request_total{") else { continue };
            let (labels, count) = line.rsplit_once("} ").context("a metric without a value")?;
            let has = |label: &str| labels.contains(label);
            let [slices, endpoints] = ["resource=\"endpointslices\"", "resource=\"endpoints\""].map(has);
            if !(slices || endpoints)
                || !["PUT", "POST", "DELETE", "PATCH"].iter().any(|v| has(&format!("verb=\"{v}\"")))
            {
                continue;
            }
            let count: u64 = count.parse()?;
            match (has("code=\"2"), slices) {
                (true, true) => writes.slices += count,
                (true, false) => writes.endpoints += count,
                (false, _) => writes.refused += count,
            }
        }
        Ok(writes)
    }
}

/// Where a phase began.
struct Phase {
    writes: Writes,
    cpu: f64,
}

impl Phase {
    async fn begin(process: &Process, server: &ApiServer) -> Result<Self> {
        Ok(Self { writes: Writes::read(server).await?, cpu: process.cpu()? })
    }

    /// What was used and written in the phase that ends, without the writes of the bare client. The next one begins.
    async fn end(&mut self, process: &Process, server: &ApiServer, bare: u64) -> Result<Value> {
        let (now, before) = (Self::begin(process, server).await?, &*self);
        let phase = json!({
            "cpu": now.cpu - before.cpu,
            "slices": now.writes.slices - before.writes.slices - bare,
            "endpoints": now.writes.endpoints - before.writes.endpoints,
            "refused": now.writes.refused - before.writes.refused,
        });
        *self = now;
        Ok(phase)
    }
}

/// The process of the controller.
struct Process(u32);

#[expect(clippy::disallowed_methods, reason = "a program that reads /proc")]
impl Process {
    /// Seconds of CPU time, in user space and in the kernel, which /proc counts in hundredths.
    fn cpu(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).context("the controller has ended")?;
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
        Ok(fields.take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0)
    }

    /// Megabytes now, and at most.
    fn memory(&self) -> Result<(f64, f64)> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0)).context("the controller has ended")?;
        let of = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
            line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(f64::NAN) / 1e3
        };
        Ok((of("VmRSS:"), of("VmHWM:")))
    }
}
