//! The run of one attack.

use std::{
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio::{runtime, time::sleep};

use crate::{
    attacker::{Attacker, Counts, Sources, Targets},
    attacks::Attack,
    genuine::{Genuine, Seen},
    genuine_request::Outcome,
    report::{IDLE, SLOW},
    site::{self, Certificate, Server, Site},
};

/// The time before an attack, in which nothing may go wrong.
const BEFORE: Duration = Duration::from_millis(400);
/// The longest time after it, in which the server recovers.
const AFTER: Duration = Duration::from_secs(3);
/// After a short attack, the server has recovered once every review was right for so long.
const CALM: Duration = Duration::from_millis(700);
const SHORT: Duration = Duration::from_secs(10);

/// What was measured.
pub(crate) struct Measured {
    pub(crate) attack: &'static Attack,
    pub(crate) site: Site,
    /// When the attack began and ended.
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) seen: Seen,
    pub(crate) counts: Arc<Counts>,
    /// The processor time of the attackers and of the server while the attack lasted.
    pub(crate) attackers_time: Duration,
    pub(crate) server_time: Duration,
    /// The cores that the server took at the end of its recovery, and the processor time of its start.
    pub(crate) cores_after: f64,
    pub(crate) start_time: Duration,
    /// Whether the server still ran at the end.
    pub(crate) survived: bool,
    /// What the API server behind it had to do.
    pub(crate) upstream: Option<UpstreamLoad>,
}

/// What an API server had to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpstreamLoad {
    pub(crate) access_reviews: usize,
    pub(crate) most_connections: usize,
}

/// Starts a server and attacks it.
pub(crate) fn run(
    (attack, site): (&'static Attack, Site),
    program: &Path,
    certificate: &Certificate,
    sources: Sources,
    duration: Duration,
    soon: Duration,
) -> Result<Measured> {
    let mut server = Server::start(program, certificate, site)?;
    server.targets.soon = soon;
    let genuine = Genuine::start(&server)?;
    thread::sleep(BEFORE);
    let (began, before) = (Instant::now(), server.processor_time());
    let (counts, attackers_time) = self::attack(attack, server.targets, sources, duration)?;
    let (ended, after) = (Instant::now(), server.processor_time());
    let mut cores_after = 0.0;
    while ended.elapsed() < AFTER {
        let (since, used) = (Instant::now(), server.processor_time());
        thread::sleep(CALM / 2);
        cores_after = server.processor_time().saturating_sub(used).div_duration_f64(since.elapsed());
        if duration < SHORT && ended.elapsed() > CALM && cores_after < IDLE && genuine.is_calm(CALM, SLOW) {
            break;
        }
    }
    let survived = server.is_running()?;
    let seen = genuine.stop()?;
    let wrong = seen.reviews.iter().find(|r| r.began + r.took < began && !matches!(r.outcome, Outcome::Right));
    ensure!(wrong.is_none(), "before the attack: {:?}", wrong.map(|r| &r.outcome));
    let server_time = after.saturating_sub(before);
    let upstream = server.upstream.as_ref().map(|upstream| UpstreamLoad {
        access_reviews: upstream.access_reviews(),
        most_connections: upstream.most_connections(),
    });
    let start_time = server.start_time;
    Ok(Measured {
        attack,
        site,
        began,
        ended,
        seen,
        counts,
        attackers_time,
        server_time,
        cores_after,
        start_time,
        survived,
        upstream,
    })
}

/// Runs the attackers on a thread of their own. Returns what they did, and the processor time of the thread.
pub(crate) fn attack(
    attack: &'static Attack,
    targets: Targets,
    sources: Sources,
    duration: Duration,
) -> Result<(Arc<Counts>, Duration)> {
    let attacker = Attacker::new(targets, sources)?;
    let counts = attacker.counts.clone();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let run = move || {
        runtime.block_on(async {
            (attack.start)(&attacker);
            sleep(duration).await;
        });
        // All connections end here.
        drop(runtime);
        site::processor_time("/proc/thread-self/stat")
    };
    let thread = thread::Builder::new().name("attackers".to_owned()).spawn(run).context("starting the attackers")?;
    let time = thread.join().map_err(|_| anyhow::anyhow!("the attackers panicked"))?;
    Ok((counts, time))
}
