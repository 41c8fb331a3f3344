//! The certificate manager: issues and renews the certificate, writes it to the Secret and its CA to every `caBundle`, and
//! reports where they differ.
//!
//! Every replica reads; the one that holds the Lease writes. The order makes a change safe wherever a replica may
//! stop: first the Secret, then every `caBundle`, then the listener.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use roster_engine::model::{Resource, installed::CERTS_MANAGER};
use rustls::pki_types::CertificateDer;
use tokio::{sync::watch, time::sleep};

use super::{
    ca_bundles::{BundleMetrics, BundleObject, CaBundles, CallerNames},
    certificate_secret::{CertificateSecret, SecretError, StoredMaterial},
};
use crate::{
    kube_api::{LeaseChoice, LeaseHolder, LeaseOutcome, LeaseTimes, WriteError, WriteOutcome},
    runtime::{
        back_off::BackOff,
        certificates::{IssueError, Material, SelfSignedOptions, advance, trusts},
        clock::Clock,
        tls::{DynamicCertificate, ServedCertificate, certificates},
    },
};

/// How often the caBundles are compared with the certificate.
const COMPARE: Duration = Duration::from_mins(1);
/// The same while one of them does not match: it is expected to be corrected soon.
const SOON: Duration = Duration::from_secs(5);
/// Least time between a round and the next one that a client without trust in the certificate causes: any client can
/// refuse it.
const REFUSED: Duration = Duration::from_secs(1);
/// How soon to retry while another replica holds the Lease, or after an error.
const RETRY: Duration = Duration::from_secs(2);

/// Options of the [`CertificateManager`].
#[derive(Clone, Debug)]
pub(super) struct ManagerOptions {
    /// The objects by which API servers call the webhook.
    pub(super) configured: CallerNames,
    /// The certificate to issue, unless it comes from elsewhere.
    pub(super) own: Option<SelfSignedOptions>,
}

/// Keeps the certificate and every `caBundle` in step, until it is dropped.
pub(super) struct CertificateManager {
    bundles: CaBundles,
    own: Option<CertificateMaker>,
    served: Arc<DynamicCertificate>,
    clock: Clock,
    metrics: BundleMetrics,
    trust: BundleTrust,
    /// Changes when another certificate is served.
    loaded: watch::Receiver<u64>,
    /// The last error that was logged: once is enough.
    logged: String,
    /// How long to wait after failures.
    back_off: BackOff,
    /// Whether there was a webhook configuration.
    registered: bool,
}

struct CertificateMaker {
    options: SelfSignedOptions,
    vault: CertificateSecret,
    lease: LeaseHolder,
    /// What is served. If the Secret is deleted, this is written again: API servers would not trust a new CA for a while.
    last: Option<Material>,
}

/// Whether every caBundle trusts the certificate, for `/readyz`.
#[derive(Clone, Debug, Default)]
pub(super) struct BundleTrust(Arc<Mutex<Option<String>>>);

impl BundleTrust {
    /// An error that says why API servers refuse the certificate, if they do.
    pub(super) fn check(&self) -> Result<(), String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    fn set(&self, why: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }
}

/// Why a round failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManagerError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("the Lease: {0}")]
    Lease(#[source] WriteError),
    #[error("the Lease was lost before everything was written")]
    Lost,
    #[error("reading caBundles: {0}")]
    Read(#[source] WriteError),
    #[error("writing the caBundle of {0}: {1}")]
    Write(String, #[source] WriteError),
    #[error("writing the caBundle of {0}: someone else wrote the object at the same time")]
    Conflict(String),
    #[error(transparent)]
    Make(#[from] IssueError),
    #[error("the certificate in the Secret cannot be served: {0}")]
    Serve(#[from] crate::runtime::tls::KeyPairError),
}

impl CertificateManager {
    /// A manager of the certificate in `served`.
    pub(super) fn new(
        client: Client,
        options: ManagerOptions,
        served: Arc<DynamicCertificate>,
        clock: Clock,
        metrics: BundleMetrics,
    ) -> Self {
        let own = options.own.map(|own| CertificateMaker {
            vault: CertificateSecret::new(client.clone(), &own.namespace, &own.secret),
            lease: LeaseHolder::new(
                client.clone(),
                LeaseChoice {
                    namespace: &own.namespace,
                    name: &own.lease,
                    identity: &own.identity,
                    manager: CERTS_MANAGER,
                    times: LeaseTimes::default(),
                },
                clock.clone(),
            ),
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
            metrics,
            trust: BundleTrust::default(),
            loaded,
            logged: String::new(),
            back_off: BackOff::new(RETRY, COMPARE).with_jitter(),
            registered: true,
        }
    }

    /// The readiness check.
    pub(super) fn trust(&self) -> BundleTrust {
        self.trust.clone()
    }

    /// Runs one round after the other. Never ends.
    pub(super) async fn run(mut self) {
        loop {
            let pause = match self.round().await {
                Ok(pause) => {
                    self.logged.clear();
                    self.back_off.reset();
                    pause
                }
                Err(error) => {
                    let text = error.to_string();
                    if text != self.logged {
                        tracing::error!(error = text, "certificates");
                        self.logged = text;
                    }
                    self.back_off.next()
                }
            };
            // A certificate that this round itself loaded does not cause another round.
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
            // Certificates are issued even if the bundles cannot be read; but then they count as unpublished.
            match own.round(now, &self.bundles, read.as_deref().ok(), &self.served).await {
                Ok(done) if done.wrote => {
                    // What was read before is out of date.
                    return Ok(Duration::from_millis(100));
                }
                Ok(done) => pause = done.pause,
                Err(error) => {
                    if matches!(error, ManagerError::Write(..) | ManagerError::Conflict(_)) {
                        self.unwritten(now).await;
                    }
                    return Err(error);
                }
            }
        }
        let read = read?;
        self.warn_if_unregistered(&read);
        let trusted = self.compare(now, &read);
        Ok(if trusted { pause } else { pause.min(SOON) })
    }

    async fn read(&self) -> Result<Vec<BundleObject>, ManagerError> {
        self.bundles.read().await.map_err(ManagerError::Read)
    }

    /// Warns once that no webhook configuration exists: either it is not applied yet, or its name is mistyped. Readiness does
    /// not depend on it, as no write does.
    fn warn_if_unregistered(&mut self, watched: &[BundleObject]) {
        let registered = watched.iter().any(|w| w.kind != Resource::CustomResourceDefinition);
        if self.registered && !registered {
            tracing::warn!("no webhook configuration with this name exists: API servers do not call this webhook");
        }
        self.registered = registered;
    }

    /// A caBundle could not be written. The metrics show which. The replica stays ready: API servers with the other
    /// caBundles get answers, and no other replica could do more.
    async fn unwritten(&self, now: Timestamp) {
        self.trust.set(None);
        if let (Ok(read), Some(current)) = (self.read().await, self.served.current()) {
            // The error was logged already.
            let _ = mismatches(now, &read, &current, &self.metrics);
        }
    }

    /// Compares every caBundle with the served certificate. Returns whether all of them trust it.
    fn compare(&self, now: Timestamp, watched: &[BundleObject]) -> bool {
        let Some(current) = self.served.current() else { return true };
        let why = mismatches(now, watched, &current, &self.metrics);
        if why.is_some() && why != self.trust.check().err() {
            tracing::error!(error = why, "API servers do not accept the certificate");
        }
        let trusted = why.is_none();
        self.trust.set(why);
        trusted
    }
}

/// Whether a caller that accepts the certificate `now_served` would not accept `next`.
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

/// The first mismatch; all of them go into the metrics.
fn mismatches(
    now: Timestamp,
    watched: &[BundleObject],
    current: &ServedCertificate,
    metrics: &BundleMetrics,
) -> Option<String> {
    let mut first = None;
    for object in watched {
        let wrong = object.callers.iter().find_map(|caller| {
            let error = trusts(&caller.bundle, &current.chain, &caller.server, now).err()?;
            // A CRD has one caller, without a name.
            let caller = format!("{} {} {}", object.kind, object.name, caller.webhook);
            Some(format!("{}: {error}", caller.trim_end()))
        });
        metrics.mismatch(object.kind.kind(), wrong.is_some());
        first = first.or(wrong);
    }
    first
}

/// The outcome of a round.
struct RoundOutcome {
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
    ) -> Result<RoundOutcome, ManagerError> {
        let found = self.vault.read().await?;
        let stored = found.as_ref().map(|f| f.material.clone()).filter(|m| *m != Material::default());
        let stored = stored.or_else(|| self.last.clone()).unwrap_or_default();
        let published = watched.is_some_and(|all| all.iter().all(|w| w.has(&stored.bundle)));
        let watched = watched.unwrap_or_default();
        let SelfSignedOptions { names, life, .. } = &self.options;
        let (wanted, until) = advance(now, stored, published, names, life)?;
        let is_stored = found.as_ref().is_some_and(|f| f.material == wanted);
        let poll = positive(life.poll());
        let mut done = RoundOutcome { pause: poll.min(positive(until.duration_since(now))), wrote: false };
        if is_stored && watched.iter().all(|w| w.has(&wanted.bundle)) {
            self.serve(&wanted, served)?;
            return Ok(done);
        }
        let work = async {
            let is_stored = store(&self.vault, &wanted, found.as_ref()).await?;
            Ok::<_, SecretError>(if is_stored { Some(publish(&wanted, bundles, watched).await) } else { None })
        };
        // What was read is out of date once another replica has written, so that it is read again instead of waiting.
        match self.lease.hold(Duration::ZERO, work).await.map_err(ManagerError::Lease)? {
            LeaseOutcome::NotTaken => {
                tracing::debug!(lease = ?*self.lease.state().borrow(), "another replica writes certificates");
                self.load(found.as_ref(), served)?;
                done.pause = RETRY.min(poll);
            }
            LeaseOutcome::Lost => return Err(ManagerError::Lost),
            LeaseOutcome::Done(written) => match written? {
                None => done.pause = Duration::ZERO,
                Some(published) => {
                    // A caBundle that cannot be written, perhaps forever, does not delay the others. But a caller that accepts
                    // the served certificate must accept the next one: until then a certificate of a new CA waits. The bundles
                    // that were read before decide: a caller that has got the new bundle since then accepts both.
                    let waits = |current: Arc<ServedCertificate>| loses(now, watched, &current.chain, &wanted);
                    if published.is_ok() || !served.current().is_some_and(waits) {
                        self.serve(&wanted, served)?;
                    }
                    published?;
                    done.wrote = true;
                }
            },
        }
        Ok(done)
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

/// Writes the Secret unless it is up to date. `false`: another replica wrote it.
async fn store(
    vault: &CertificateSecret,
    wanted: &Material,
    found: Option<&StoredMaterial>,
) -> Result<bool, SecretError> {
    if found.is_some_and(|f| f.material == *wanted) {
        return Ok(true);
    }
    let stored = vault.write(wanted, found).await?;
    if stored {
        tracing::info!(secret = vault.name(), "new certificates stored");
    }
    Ok(stored)
}

/// Writes every `caBundle` that differs. Returns the first error.
async fn publish(wanted: &Material, bundles: &CaBundles, watched: &[BundleObject]) -> Result<(), ManagerError> {
    let mut first = Ok(());
    for object in watched.iter().filter(|w| !w.has(&wanted.bundle)) {
        let failed = match bundles.write(object, &wanted.bundle).await {
            Ok(WriteOutcome::Done(_)) => {
                tracing::info!(kind = object.kind.kind(), name = object.name, "caBundle written");
                continue;
            }
            // An object that someone has deleted is a conflict: the version that was read does not exist.
            Ok(WriteOutcome::Conflict | WriteOutcome::Gone) => {
                ManagerError::Conflict(format!("{} {}", object.kind, object.name))
            }
            Err(error) => ManagerError::Write(format!("{} {}", object.kind, object.name), error),
        };
        first = first.and(Err(failed));
    }
    first
}

fn positive(duration: SignedDuration) -> Duration {
    Duration::try_from(duration).unwrap_or_default()
}
