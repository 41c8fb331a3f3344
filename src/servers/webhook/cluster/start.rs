//! Starts the webhook's watches and its certificate manager.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use prometheus_client::registry::Registry;
use roster_engine::model::{
    EndpointSlice, Node, Pod, Resource, Service,
    installed::{CRD, NAME},
};
use roster_manifests::{
    decode,
    inventory::{NamespaceRow, Store},
};

use super::{
    ca_bundles::{BundleMetrics, CallerNames},
    certificate_manager::{CertificateManager, ManagerOptions},
    policy_status::PolicyStatuses,
    policy_watch::PolicySink,
};
use crate::{
    kube_api::{Cluster, WatchMetrics},
    runtime::{
        certificates::SelfSignedOptions,
        clock::Clock,
        net::{Readiness, Tasks},
        tls::DynamicCertificate,
    },
    servers::webhook::{ActivePolicies, ClusterOptions, NamespaceLookup, NamespaceMetrics},
};

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

    /// Gives each of them a value.
    pub(crate) fn example(&self) {
        self.watches.stale(Resource::Service.plural(), false);
        self.namespaces.count("found");
        self.bundles.mismatch(NAME, false);
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
    let cluster = Cluster::connect(&options.cluster).await?;
    let client = cluster.client();
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
    cluster.watch(Resource::EndpointPolicy, policies, copy, tasks);
    tasks.endless("the status of policies", statuses.write(client));
    readiness.add("policies", move || {
        if is_known.load(Ordering::Relaxed) { Ok(()) } else { Err("the policies are not listed yet".to_owned()) }
    });
    let filled = store.clone();
    readiness.add("cache", move || {
        if filled.synced() { Ok(()) } else { Err("the copy of the cluster is not complete yet".to_owned()) }
    });
    cluster.watch(Resource::Pod, store.sink(decode::object::<Pod>), copy, tasks);
    cluster.watch(Resource::Service, store.sink(decode::object::<Service>), copy, tasks);
    cluster.watch(Resource::Node, store.sink(decode::object::<Node>), copy, tasks);
    cluster.watch(Resource::EndpointSlice, store.sink(decode::object::<EndpointSlice>), copy, tasks);
    cluster.watch(Resource::Namespace, store.sink(decode::object::<NamespaceRow>), copy, tasks);
    Ok((store, in_force))
}
