//! Keeps certificates in a cluster: reads what is stored, does what is due, and says what is wrong.
//!
//! Every replica reads; the one that holds the Lease writes. The order makes a change safe at every point where a
//! replica may die: first the Secret, then every `caBundle`, then the listener.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use rustls::pki_types::CertificateDer;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};

use super::{
    ca_bundles::{BundleObject, CaBundles, CallerNames},
    certificate_secret::{CertificateSecret, SecretError, StoredMaterial},
};
use crate::{
    kube_api::{HELD, LeaseHolder},
    model::Resource,
    runtime::{
        certificates::{IssueError, Material, SelfSignedOptions, advance, trusts},
        clock::Clock,
        tls::{DynamicCertificate, ServedCertificate, TlsMetrics, certificates},
    },
};

/// So often caBundles are compared with a certificate that somebody else makes.
const COMPARE: Duration = Duration::from_mins(1);
/// The same while one of them is wrong: somebody is about to mend it.
const SOON: Duration = Duration::from_secs(5);
/// So soon after a round a client that does not trust the certificate brings on the next: anybody can be one.
const REFUSED: Duration = Duration::from_secs(1);
/// So soon it is tried again where another replica has the Lease, or something went wrong.
const RETRY: Duration = Duration::from_secs(2);
/// Longest work under the Lease: it ends before others may take over.
const WORK: Duration = Duration::from_secs(10);
const _: () = assert!(WORK.as_secs() < HELD.as_secs().cast_unsigned(), "others would write meanwhile");

/// What a keeper is to keep.
#[derive(Clone, Debug)]
pub(super) struct ManagerOptions {
    /// Who calls us.
    pub(super) configured: CallerNames,
    /// What to make, if it is for us to make.
    pub(super) own: Option<SelfSignedOptions>,
}

/// Keeps certificates and watches bundles, until it is dropped.
pub(super) struct CertificateManager {
    bundles: CaBundles,
    own: Option<CertificateMaker>,
    served: Arc<DynamicCertificate>,
    clock: Clock,
    trust: BundleTrust,
    /// Says when another certificate is served.
    loaded: watch::Receiver<u64>,
    /// What was said last: once is enough.
    said: String,
    /// How long to wait after the next failure.
    retry: Duration,
    /// Whether some webhook configuration was there.
    registered: bool,
}

struct CertificateMaker {
    options: SelfSignedOptions,
    vault: CertificateSecret,
    election: LeaseHolder,
    /// What is served. Should the Secret be deleted, it is written again: a new CA would be unknown for a while.
    last: Option<Material>,
}

/// Whether every caBundle trusts the certificate: the keeper says it, `/readyz` asks.
#[derive(Clone, Debug, Default)]
pub(super) struct BundleTrust(Arc<Mutex<Option<String>>>);

impl BundleTrust {
    /// Why API servers refuse the certificate, if they do.
    pub(super) fn check(&self) -> Result<(), String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    fn set(&self, why: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }
}

/// Why certificates cannot be kept just now.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManagerError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("the Lease: {0}")]
    Lease(#[source] kube::Error),
    #[error("reading caBundles: {0}")]
    Read(#[source] kube::Error),
    #[error("writing the caBundle of {0}: {1}")]
    Write(String, #[source] kube::Error),
    #[error(transparent)]
    Make(#[from] IssueError),
    #[error("the certificate in the Secret cannot be served: {0}")]
    Serve(#[from] crate::runtime::tls::KeyPairError),
    #[error("no answer from the API server within {} s", WORK.as_secs())]
    Slow,
}

impl CertificateManager {
    /// A keeper for `served`.
    pub(super) fn new(client: Client, options: ManagerOptions, served: Arc<DynamicCertificate>, clock: Clock) -> Self {
        let own = options.own.map(|own| CertificateMaker {
            vault: CertificateSecret::new(client.clone(), &own.namespace, &own.secret),
            election: LeaseHolder::new(client.clone(), &own.namespace, &own.lease, &own.identity),
            options: own,
            last: None,
        });
        let bundles = CaBundles::new(client, options.configured);
        let loaded = served.subscribe();
        Self {
            bundles,
            own,
            served,
            clock,
            trust: BundleTrust::default(),
            loaded,
            said: String::new(),
            retry: RETRY,
            registered: true,
        }
    }

    /// What `/readyz` asks.
    pub(super) fn trust(&self) -> BundleTrust {
        self.trust.clone()
    }

    /// Keeps them. Never ends.
    pub(super) async fn run(mut self) {
        loop {
            let pause = match self.round().await {
                Ok(pause) => {
                    self.said.clear();
                    self.retry = RETRY;
                    pause
                }
                Err(error) => {
                    let text = error.to_string();
                    if text != self.said {
                        tracing::error!(error = text, "certificates");
                        self.said = text;
                    }
                    let retry = self.retry;
                    self.retry = (retry * 2).min(COMPARE);
                    retry
                }
            };
            // What this round has loaded itself is no news.
            self.loaded.borrow_and_update();
            tokio::select! {
                () = sleep(pause) => {}
                // The sender is in `served`, so the channel is open.
                _ = self.loaded.changed() => {}
                // An API server with a wrong caBundle is the first to notice.
                () = async { sleep(REFUSED).await; self.served.untrusted().await } => {}
            }
        }
    }

    pub(super) async fn round(&mut self) -> Result<Duration, ManagerError> {
        let now = self.clock.now();
        let read = self.read().await;
        let mut pause = COMPARE;
        if let Some(own) = &mut self.own {
            // Certificates are made even if nobody may see the bundles; but what is not seen counts as unpublished.
            match own.round(now, &self.bundles, read.as_deref().ok(), &self.served).await {
                Ok(done) if done.wrote => {
                    // What was read is old.
                    return Ok(Duration::from_millis(100));
                }
                Ok(done) => pause = done.pause,
                Err(error) => {
                    if matches!(error, ManagerError::Write(..)) {
                        self.unwritten(now).await;
                    }
                    return Err(error);
                }
            }
        }
        let read = read?;
        self.tell_of_nobody(&read);
        let trusted = self.compare(now, &read);
        Ok(if trusted { pause } else { pause.min(SOON) })
    }

    async fn read(&self) -> Result<Vec<BundleObject>, ManagerError> {
        in_time(WORK, async { self.bundles.read().await.map_err(ManagerError::Read) }).await
    }

    /// Says, once, that no API server asks: either nothing is applied yet, or a name is mistyped. That is no matter of
    /// readiness, as nobody's write depends on it.
    fn tell_of_nobody(&mut self, watched: &[BundleObject]) {
        let registered = watched.iter().any(|w| w.kind != Resource::CustomResourceDefinition);
        if self.registered && !registered {
            tracing::warn!("there is no webhook configuration of the names that are watched: no API server asks");
        }
        self.registered = registered;
    }

    /// A caBundle could not be written. The metrics tell which; but the replica stays: whoever has another caBundle is
    /// answered, and no other replica could do more.
    async fn unwritten(&self, now: Timestamp) {
        self.trust.set(None);
        if let (Ok(read), Some(current)) = (self.read().await, self.served.current()) {
            // The log has it from the error.
            let _ = mismatches(now, &read, &current, self.served.metrics());
        }
    }

    /// Compares every caBundle with what is served; whether all of them accept it.
    fn compare(&self, now: Timestamp, watched: &[BundleObject]) -> bool {
        let Some(current) = self.served.current() else { return true };
        let why = mismatches(now, watched, &current, self.served.metrics());
        if why.is_some() && why != self.trust.check().err() {
            tracing::error!(error = why, "API servers do not accept the certificate");
        }
        let trusted = why.is_none();
        self.trust.set(why);
        trusted
    }
}

/// `work`, or an error after so long.
async fn in_time<T>(limit: Duration, work: impl Future<Output = Result<T, ManagerError>>) -> Result<T, ManagerError> {
    by(Instant::now() + limit, work).await
}

async fn by<T>(end: Instant, work: impl Future<Output = Result<T, ManagerError>>) -> Result<T, ManagerError> {
    timeout_at(end, work).await.unwrap_or(Err(ManagerError::Slow))
}

/// Whether somebody who accepts the certificate `now_served` would not accept `next`.
pub(super) fn loses(
    now: Timestamp,
    watched: &[BundleObject],
    now_served: &[CertificateDer<'_>],
    next: &Material,
) -> bool {
    let next = certificates(next.certificate.as_bytes()).unwrap_or_default();
    watched.iter().flat_map(|w| &w.callers).any(|caller| {
        let accepts = |chain: &[CertificateDer<'_>]| trusts(&caller.bundle, chain, &caller.server, now).is_ok();
        accepts(now_served) && !accepts(&next)
    })
}

/// The first thing that is wrong; all of it goes into the metrics.
fn mismatches(
    now: Timestamp,
    watched: &[BundleObject],
    current: &ServedCertificate,
    metrics: &TlsMetrics,
) -> Option<String> {
    let mut first = None;
    for object in watched {
        let wrong = object.callers.iter().find_map(|caller| {
            let error = trusts(&caller.bundle, &current.chain, &caller.server, now).err()?;
            // Of the CRD there is one caller, without a name.
            let caller = format!("{} {} {}", object.kind, object.name, caller.webhook);
            Some(format!("{}: {error}", caller.trim_end()))
        });
        metrics.mismatch(object.kind.kind(), wrong.is_some());
        first = first.or(wrong);
    }
    first
}

/// What came of a round.
struct Done {
    pause: Duration,
    wrote: bool,
}

impl CertificateMaker {
    async fn round(
        &mut self,
        now: Timestamp,
        bundles: &CaBundles,
        watched: Option<&[BundleObject]>,
        served: &DynamicCertificate,
    ) -> Result<Done, ManagerError> {
        let found = in_time(WORK, async { Ok(self.vault.read().await?) }).await?;
        let stored = found.as_ref().map(|f| f.material.clone()).filter(|m| *m != Material::default());
        let stored = stored.or_else(|| self.last.clone()).unwrap_or_default();
        let published = watched.is_some_and(|all| all.iter().all(|w| w.has(&stored.bundle)));
        let watched = watched.unwrap_or_default();
        let SelfSignedOptions { names, life, .. } = &self.options;
        let (wanted, until) = advance(now, stored, published, names, life)?;
        let is_stored = found.as_ref().is_some_and(|f| f.material == wanted);
        let poll = positive(life.poll());
        let mut done = Done { pause: poll.min(positive(until.duration_since(now))), wrote: false };
        if !is_stored || watched.iter().any(|w| !w.has(&wanted.bundle)) {
            // One limit for both: the Lease counts from the moment in which it is taken.
            let end = Instant::now() + WORK;
            let taken = by(end, async { self.election.take(now).await.map_err(ManagerError::Lease) });
            let Some(lease) = taken.await? else {
                self.load(found.as_ref(), served)?;
                done.pause = RETRY.min(poll);
                return Ok(done);
            };
            let stored = by(end, self.store(&wanted, found.as_ref())).await;
            let written = match &stored {
                Ok(true) => by(end, self.publish(&wanted, bundles, watched)).await,
                _ => Ok(()),
            };
            let released =
                in_time(WORK, async { self.election.release(lease).await.map_err(ManagerError::Lease) }).await;
            if !stored? {
                released?;
                done.pause = Duration::ZERO;
                return Ok(done);
            }
            // One caBundle that cannot be written, perhaps for ever, keeps nobody else waiting. But whoever accepts what is
            // served must accept what comes next: until then a new CA stays behind. That is told from what was read before:
            // who has got the new bundle since accepts both.
            let waits = |current: Arc<ServedCertificate>| loses(now, watched, &current.chain, &wanted);
            if written.is_ok() || !served.current().is_some_and(waits) {
                self.serve(&wanted, served)?;
            }
            written?;
            released?;
            done.wrote = true;
            return Ok(done);
        }
        self.serve(&wanted, served)?;
        Ok(done)
    }

    /// Stores it, if it is not. `false`: somebody else wrote the Secret.
    async fn store(&self, wanted: &Material, found: Option<&StoredMaterial>) -> Result<bool, ManagerError> {
        if found.is_some_and(|f| f.material == *wanted) {
            return Ok(true);
        }
        let stored = self.vault.write(wanted, found).await?;
        if stored {
            tracing::info!(secret = self.options.secret, "new certificates stored");
        }
        Ok(stored)
    }

    /// Writes every `caBundle` that is another, and tells the first that cannot be written.
    async fn publish(
        &self,
        wanted: &Material,
        bundles: &CaBundles,
        watched: &[BundleObject],
    ) -> Result<(), ManagerError> {
        let mut first = Ok(());
        for object in watched.iter().filter(|w| !w.has(&wanted.bundle)) {
            match bundles.write(object, &wanted.bundle).await {
                Ok(()) => tracing::info!(kind = object.kind.kind(), name = object.name, "caBundle written"),
                Err(error) => {
                    first = first.and(Err(ManagerError::Write(format!("{} {}", object.kind, object.name), error)));
                }
            }
        }
        first
    }

    fn load(&mut self, found: Option<&StoredMaterial>, served: &DynamicCertificate) -> Result<(), ManagerError> {
        match found {
            Some(found) if found.material != Material::default() => self.serve(&found.material.clone(), served),
            _ => Ok(()),
        }
    }

    fn serve(&mut self, material: &Material, served: &DynamicCertificate) -> Result<(), ManagerError> {
        if self.last.as_ref().is_none_or(|l| l.key_pair() != material.key_pair()) {
            served.replace(&material.key_pair())?;
        }
        self.last = Some(material.clone());
        Ok(())
    }
}

fn positive(duration: SignedDuration) -> Duration {
    Duration::try_from(duration).unwrap_or_default()
}
