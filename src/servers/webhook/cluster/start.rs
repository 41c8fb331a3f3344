//! Starts the webhook's watches and its certificate manager.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, anyhow};
use prometheus_client::registry::Registry;
use roster_engine::model::{EndpointSlice, Node, Pod, Resource, Service, installed::CRD};
use roster_manifests::{
    decode,
    inventory::{NamespaceRow, Store},
};

use super::{
    bundle_metrics::BundleMetrics,
    ca_bundles::CallerNames,
    certificate_manager::{CertificateManager, ManagerOptions},
    policy_status::PolicyStatuses,
    policy_watch::PolicySink,
};
use crate::{
    kube_api::{self, WatchEnded, WatchMetrics, reflect},
    runtime::{
        certificates::SelfSignedOptions,
        clock::Clock,
        net::{Readiness, Tasks},
        tls::DynamicCertificate,
    },
    servers::webhook::{ActivePolicies, ClusterOptions, NamespaceLookup, NamespaceMetrics},
};

/// Longest time to connect to the API server.
const CONNECT: Duration = Duration::from_secs(10);
/// Longest time without a byte of an answer. API servers end a watch after less than five minutes, and kube restarts
/// those that are silent.
const SILENCE: Duration = Duration::from_secs(310);

/// Metrics of the copy of the cluster. A clone counts into the same metrics.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopyMetrics {
    watches: WatchMetrics,
    namespaces: NamespaceMetrics,
    bundles: BundleMetrics,
}

impl CopyMetrics {
    /// Registers all of them.
    pub(crate) fn register(&self, registry: &mut Registry) {
        self.watches.register(registry);
        self.namespaces.register(registry);
        self.bundles.register(registry);
    }
}

/// Starts the watches and the certificate manager.
pub(crate) async fn start(
    options: &ClusterOptions,
    own: Option<SelfSignedOptions>,
    served: &Arc<DynamicCertificate>,
    clock: &Clock,
    metrics: &CopyMetrics,
    readiness: &mut Readiness,
    tasks: &mut Tasks,
) -> anyhow::Result<(Arc<Store>, Arc<ActivePolicies>)> {
    let client = connect(options).await?;
    let copy = &metrics.watches;

    let configured = CallerNames { configuration: options.configuration.clone(), crd: CRD.to_owned() };
    let manager = CertificateManager::new(
        client.clone(),
        ManagerOptions { configured, own },
        served.clone(),
        clock.clone(),
        metrics.bundles.clone(),
    );
    let trust = manager.trust();
    readiness.add("ca-bundle", move || trust.check());
    tasks.endless("the certificate manager", manager.run());

    let store = Arc::new(Store::new());
    let lookup = NamespaceLookup::reading(store.clone(), client.clone(), metrics.namespaces.clone());
    let in_force = Arc::new(ActivePolicies::new(Some(lookup)));
    let statuses = PolicyStatuses::new(clock.clone());
    let is_known = Arc::new(AtomicBool::new(false));
    let policies = PolicySink::new(in_force.clone(), statuses.clone(), is_known.clone());
    watch(tasks, reflect(client.clone(), Resource::EndpointPolicy, policies, copy.clone()));
    tasks.endless("the status of policies", statuses.write(kube_api::api(client.clone(), Resource::EndpointPolicy)));
    readiness.add("policies", move || {
        if is_known.load(Ordering::Relaxed) { Ok(()) } else { Err("the policies are not listed yet".to_owned()) }
    });
    let filled = store.clone();
    readiness.add("cache", move || {
        if filled.synced() { Ok(()) } else { Err("the copy of the cluster is not complete yet".to_owned()) }
    });
    watch(tasks, reflect(client.clone(), Resource::Pod, store.sink(decode::object::<Pod>), copy.clone()));
    watch(tasks, reflect(client.clone(), Resource::Service, store.sink(decode::object::<Service>), copy.clone()));
    watch(tasks, reflect(client.clone(), Resource::Node, store.sink(decode::object::<Node>), copy.clone()));
    watch(
        tasks,
        reflect(client.clone(), Resource::EndpointSlice, store.sink(decode::object::<EndpointSlice>), copy.clone()),
    );
    watch(tasks, reflect(client, Resource::Namespace, store.sink(decode::object::<NamespaceRow>), copy.clone()));
    Ok((store, in_force))
}

/// Runs a watch. That it ends is an error.
fn watch(tasks: &mut Tasks, watch: impl Future<Output = Result<(), WatchEnded>> + Send + 'static) {
    tasks.spawn(async move {
        match watch.await {
            Ok(()) => anyhow!("a watch ended"),
            Err(error) => error.into(),
        }
    });
}

async fn connect(options: &ClusterOptions) -> anyhow::Result<kube::Client> {
    let mut config = kube_api::config(options.context.as_deref(), options.kubeconfig.as_deref()).await?;
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = Some(SILENCE);
    // Otherwise the time that a connection was of no use would count.
    config.reset_reader_on_write = true;
    let address = config.cluster_url.to_string();
    kube::Client::try_from(config).with_context(|| format!("the client of {address}"))
}
