//! The start of the controller: its watches, its workers, and its readiness.

use std::{sync::Arc, time::Duration};

use axum::Router;
use roster_engine::model::{EndpointSlice, Endpoints, Node, Pod, Resource, Service};
use tokio::time::sleep;

use super::{
    admin_readers::AdminReaders,
    cluster_copy::{ClusterCopy, Pacing},
    cluster_release::ClusterRelease,
    debug::debug_routes,
    event_sender::events,
    leadership::{Crew, LeaderMetrics, lead},
    metrics::ControllerMetrics,
    options::ControllerOptions,
    permissions::{watched, watches},
    shadow::{Shadow, ShadowMetrics, ShadowOptions, drift_routes},
    sink::CopySink,
    worker::Duty,
};
use crate::{
    kube_api::{Cluster, LeaseRefusals, ReaderReviews, WatchMetrics},
    runtime::{
        clock::Clock,
        net::{Health, Readiness, Tasks},
    },
};

/// The pause between two looks at writes that the watch does not show.
const LOOK: Duration = Duration::from_secs(5);

/// A controller that runs.
#[derive(Debug)]
pub struct StartedController {
    /// Whether it knows the cluster.
    pub readiness: Readiness,
    /// Its tasks. One that ends is an error.
    pub tasks: Tasks,
    /// What it answers besides health and metrics.
    pub routes: Router,
}

/// Starts the watches and the workers.
pub async fn start(options: &ControllerOptions, clock: &Clock, health: &Health) -> anyhow::Result<StartedController> {
    let cluster = Cluster::connect(&options.cluster).await?.eager().within(options.scope.namespace.clone());
    let pacing = if options.shadow.is_some() { Pacing::AtOnce } else { Pacing::Batch(options.batch) };
    let copy = Arc::new(ClusterCopy::new(options.controllers.clone(), options.limits, pacing, options.scope.clone()));
    let (watches, metrics) = (WatchMetrics::default(), ControllerMetrics::new());
    let leader = LeaderMetrics::default();
    health.metrics.register(|registry| {
        watches.register(registry);
        cluster.requests().register(registry);
        metrics.register(registry, copy.clone());
        leader.register(registry);
    });
    let (mut readiness, mut tasks) = (Readiness::default(), Tasks::default());
    let release = Arc::new(ClusterRelease::new(copy.clone(), options.compat));
    let known = release.clone();
    readiness.add("release", move || known.known());
    let asked = cluster.client_without_retries()?;
    tasks.endless("the look at the release of the cluster", async move { release.follow(asked).await });
    let (listed, of_watches) = (copy.clone(), watches.clone());
    readiness.add("cache", move || of_watches.check_listed(&listed.unlisted()));
    for resource in watched(&options.controllers) {
        watch(&cluster, resource, &copy, &watches, &mut tasks);
    }
    // With connections of its own: those of the admin listener live on its thread.
    let readers = Arc::new(AdminReaders::new(ReaderReviews::new(cluster.client_without_retries()?)));
    let mut routes = debug_routes(copy.clone(), readers.clone());
    let client = cluster.client_without_retries()?;
    let (events, sending) = events(client.clone(), clock.clone());
    tasks.endless("the sending of Events", sending);
    let (rate, workers, health) = (options.rate, options.workers, health.clone());
    let shadow = options.shadow.map(|options| Arc::new(Shadow::new(options)));
    let mut duty = Duty::Keep;
    if let Some(shadow) = &shadow {
        health.metrics.register(|registry| ShadowMetrics::new(shadow.clone()).register(registry));
        duty = Duty::Compare(shadow.clone());
        routes = routes.merge(drift_routes(shadow.clone(), copy.clone(), watches.clone(), readers));
    }
    let crew = Crew { copy: copy.clone(), duty, events, metrics, rate, workers, health };
    let lease = options.lease.clone().filter(|_| options.shadow.is_none_or(ShadowOptions::writes));
    let refusals = LeaseRefusals::default();
    if let Some(lease) = &lease {
        let (refusals, tolerance) = (refusals.clone(), lease.times.renew_deadline);
        readiness.add("lease", move || refusals.check(tolerance));
    }
    tasks.closing(lead(crew, lease, client, clock.clone(), leader, refusals));
    tasks.endless("the look at unseen writes", async move {
        loop {
            sleep(LOOK).await;
            copy.doubt_overdue();
            if let Some(shadow) = &shadow {
                shadow.sweep();
            }
        }
    });
    Ok(StartedController { readiness, tasks, routes })
}

fn watch(cluster: &Cluster, resource: Resource, copy: &Arc<ClusterCopy>, metrics: &WatchMetrics, tasks: &mut Tasks) {
    let copy = copy.clone();
    let ready = {
        let copy = copy.clone();
        let has_endpoints = matches!(resource, Resource::Endpoints | Resource::EndpointSlice);
        async move {
            copy.release_is_known().await;
            // What has endpoints shares the references to pods with the pods, if these are there.
            if has_endpoints && watches(copy.controllers(), Resource::Pod) {
                copy.pods_are_listed().await;
            }
        }
    };
    match resource {
        Resource::Pod => cluster.watch_after(ready, resource, CopySink::<Pod>::new(copy), metrics, tasks),
        Resource::Service => cluster.watch_after(ready, resource, CopySink::<Service>::new(copy), metrics, tasks),
        Resource::Node => cluster.watch_after(ready, resource, CopySink::<Node>::new(copy), metrics, tasks),
        Resource::Endpoints => cluster.watch_after(ready, resource, CopySink::<Endpoints>::new(copy), metrics, tasks),
        Resource::EndpointSlice => {
            cluster.watch_after(ready, resource, CopySink::<EndpointSlice>::new(copy), metrics, tasks);
        }
        _ => {}
    }
}
