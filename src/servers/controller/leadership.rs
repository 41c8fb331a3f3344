//! Which replica writes: the one that holds the Lease.
//!
//! The workers run in the task that renews the Lease, and compare its deadline with the clock before each write. So a replica that
//! stood still sends no further write under a Lease that is over. One that was on its way names the version that it replaces.

use std::sync::Arc;

use futures::future::join_all;
use kube::Client;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use roster_engine::model::installed::CONTROLLER;
use tokio::time::{Duration, sleep};

use super::{
    applier::Applier,
    cluster_copy::ClusterCopy,
    event_sender::Events,
    metrics::ControllerMetrics,
    token_bucket::WriteRate,
    worker::{Duty, work},
};
use crate::{
    kube_api::{LeaseChoice, LeaseHolder, LeaseOutcome, LeaseRefusals, LeaseState, LeaseTimes},
    runtime::{clock::Clock, net::Health},
};

/// The Lease of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerLease {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The replica; each has another identity.
    pub identity: String,
    /// Its times.
    pub times: LeaseTimes,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseLabels {
    name: String,
}

/// Whether this replica leads, as client-go tells it.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaderMetrics(Family<LeaseLabels, Gauge>);

impl LeaderMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "1 while this replica holds the Lease, and 0 otherwise";
        registry.register("leader_election_master_status", help, self.0.clone());
    }

    pub(super) fn set(&self, lease: &str, leads: bool) {
        self.0.get_or_create(&LeaseLabels { name: lease.to_owned() }).set(leads.into());
    }
}

/// What the workers of a replica share.
#[derive(Clone)]
pub(super) struct Crew {
    pub(super) copy: Arc<ClusterCopy>,
    pub(super) duty: Duty,
    pub(super) events: Events,
    pub(super) metrics: ControllerMetrics,
    pub(super) rate: Option<WriteRate>,
    pub(super) workers: usize,
    pub(super) health: Health,
}

impl Crew {
    /// All workers, until the server stops.
    async fn work(&self, applier: &Arc<Applier>) {
        self.copy.begin_to_lead();
        let _stops = Leading(self);
        let worker = || {
            let (copy, duty, applier) = (self.copy.clone(), self.duty.clone(), applier.clone());
            let (events, metrics, tracer) = (self.events.clone(), self.metrics.clone(), self.health.tracer.clone());
            work(copy, duty, applier, events, metrics, tracer, self.health.stopping())
        };
        join_all((0..self.workers).map(|_| worker())).await;
    }
}

/// This replica leads, until it is dropped.
struct Leading<'a>(&'a Crew);

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.0.copy.stop_leading();
        self.0.events.forget();
    }
}

/// Works until the server stops, under the Lease if there is one, and releases it then.
pub(super) async fn lead(
    crew: Crew,
    lease: Option<ControllerLease>,
    client: Client,
    clock: Clock,
    metrics: LeaderMetrics,
    refusals: LeaseRefusals,
) {
    let applier = |deadline| {
        let applier = Applier::new(client.clone(), crew.copy.clone(), deadline);
        Arc::new(applier.with_metrics(crew.metrics.clone()).with_rate(crew.rate))
    };
    let Some(ControllerLease { namespace, name, identity, times }) = lease else {
        crew.copy.is_listed().await;
        return crew.work(&applier(None)).await;
    };
    let choice = LeaseChoice { namespace: &namespace, name: &name, identity: &identity, manager: CONTROLLER, times };
    let mut holder = LeaseHolder::new(client.clone(), choice, clock).with_refusals(refusals);
    let applier = applier(Some(holder.deadline()));
    metrics.set(&name, false);
    let (state, stopping) = (holder.state(), crew.health.stopping());
    let leading = async {
        // A replica that knows the cluster already should lead meanwhile.
        crew.copy.is_listed().await;
        loop {
            let work = async {
                tracing::info!(lease = name, identity, "this replica leads");
                metrics.set(&name, true);
                crew.work(&applier).await;
            };
            let outcome = holder.hold(Duration::MAX, work).await;
            metrics.set(&name, false);
            match outcome {
                Ok(LeaseOutcome::Done(())) => return,
                Ok(LeaseOutcome::Lost) => tracing::warn!(lease = name, "the Lease is lost: another replica may lead"),
                Ok(LeaseOutcome::NotTaken) => {}
                Err(error) => {
                    tracing::warn!(lease = name, %error, "the Lease cannot be taken");
                    sleep(times.retry).await;
                }
            }
        }
    };
    let stopped_as_follower = async {
        stopping.await;
        if *state.borrow() == LeaseState::Held {
            // The workers end, and the Lease is released.
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = leading => {}
        () = stopped_as_follower => {}
    }
}
