//! The start of the controller: its watches, its workers, and its readiness.

use std::{sync::Arc, time::Duration};

use roster_engine::model::{EndpointSlice, Endpoints, Node, Pod, Resource, Service};
use tokio::time::sleep;

use super::{
    applier::Applier, cluster_copy::ClusterCopy, metrics::ControllerMetrics, options::ControllerOptions,
    permissions::watched, sink::CopySink, worker::work,
};
use crate::{
    kube_api::{Cluster, WatchMetrics},
    runtime::net::{Health, Readiness, Tasks},
};

/// The pause between two looks at writes that the watch does not show.
const LOOK: Duration = Duration::from_secs(5);

/// Starts the watches and the workers. A task that ends is an error.
pub async fn start(options: &ControllerOptions, health: &Health) -> anyhow::Result<(Readiness, Tasks)> {
    let cluster = Cluster::connect(&options.cluster).await?;
    let copy = Arc::new(ClusterCopy::new(options.controllers.clone(), options.plan, options.batch));
    let (watches, metrics) = (WatchMetrics::default(), ControllerMetrics::new(copy.clone()));
    health.metrics.register(|registry| {
        watches.register(registry);
        metrics.register(registry);
    });
    let (mut readiness, mut tasks) = (Readiness::default(), Tasks::default());
    let synced = copy.clone();
    readiness.add("cache", move || synced.synced());
    for resource in watched(&options.controllers) {
        watch(&cluster, resource, &copy, &watches, &mut tasks);
    }
    let applier = Arc::new(Applier::new(cluster.client_without_retries()?, copy.clone()));
    for _ in 0..options.workers {
        tasks.endless("a worker of the controller", work(copy.clone(), applier.clone()));
    }
    tasks.endless("the look at unseen writes", async move {
        loop {
            sleep(LOOK).await;
            copy.doubt_overdue();
        }
    });
    Ok((readiness, tasks))
}

fn watch(cluster: &Cluster, resource: Resource, copy: &Arc<ClusterCopy>, metrics: &WatchMetrics, tasks: &mut Tasks) {
    let copy = copy.clone();
    match resource {
        Resource::Pod => cluster.watch(resource, CopySink::<Pod>::new(copy), metrics, tasks),
        Resource::Service => cluster.watch(resource, CopySink::<Service>::new(copy), metrics, tasks),
        Resource::Node => cluster.watch(resource, CopySink::<Node>::new(copy), metrics, tasks),
        Resource::Endpoints => cluster.watch(resource, CopySink::<Endpoints>::new(copy), metrics, tasks),
        Resource::EndpointSlice => cluster.watch(resource, CopySink::<EndpointSlice>::new(copy), metrics, tasks),
        _ => {}
    }
}
