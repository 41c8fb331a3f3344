//! The node proxy as a part of a server: its watches of the API server, and its routes.

use std::sync::Arc;

use super::{
    metrics::{EdgeCounts, EdgeMetrics, LISTENER},
    options::EdgeOptions,
};
use crate::servers::edge::{
    access::{access_reviews::AccessReviews, caller_places, client_certificates::ClientCertificates},
    cache::{
        edge_cache::EdgeCache,
        node_state::NodeState,
        versions::{Reservation, Versions},
    },
    clients::app::{EdgeApp, router},
    disk::{persistence::Persistence, state_access, version_file::VersionFile},
    encoding::protobuf_list::ProtobufLists,
    upstream::{
        api_server::ApiServer, local_pods, node_health, proxy::Proxy, reachability::Reachability,
        upstream_sink::UpstreamSink,
    },
};
use crate::{
    kube_api::Cluster,
    runtime::{
        allowed_hosts::AllowedHosts,
        clock::Clock,
        net::{Health, Readiness, ServerPart, Tasks, TlsOptions},
        status_error::StatusError,
        tls::TlsNames,
    },
};

/// The names of the listener.
pub(super) const TLS: TlsNames = TlsNames {
    listener: "the node proxy",
    connections: "roster_edge_connections",
    reloads: "roster_edge_certificate_reloads",
    handshake_errors: "roster_edge_tls_handshake_errors",
    expiration: "roster_edge_certificate_expiration_seconds",
    certificate_check: "edge-certificate",
    handshake_check: "edge-tls",
};

/// Starts the watches of the API server, and returns the part. `hosts` are those that a request may name.
pub async fn part(
    options: &EdgeOptions,
    hosts: Option<AllowedHosts>,
    clock: &Clock,
    health: &Health,
) -> anyhow::Result<ServerPart> {
    let cluster = Cluster::connect(&options.cluster).await?;
    let api = Arc::new(ApiServer::new(cluster.config())?);
    let reachability = Reachability::new(ApiServer::new(cluster.config())?);

    let (node, scheme) = (options.node.clone(), options.scheme);
    // Before anything of the state is read.
    options.state_file.as_deref().map(state_access::check_folder).transpose()?;
    let lock = options.state_file.as_deref().map(state_access::take_lock).transpose()?.flatten();
    let cache =
        Arc::new(EdgeCache::new(NodeState::new(node.clone(), scheme, options.key_order), versions(options, clock)));
    let (metrics, slots) = (EdgeMetrics::default(), caller_places::of_watches());
    let (counted, watches) = (cache.clone(), slots.clone());
    health.metrics.register(|registry| {
        metrics.register(registry, move || EdgeCounts::of(&counted, &watches));
    });

    let (mut readiness, mut tasks) = (Readiness::default(), Tasks::default());
    let takes_certificates = options.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    // The clients know when to ask again.
    let reviewer = takes_certificates.then(|| cluster.client_without_retries().map(ApiServer::of_proxy)).transpose()?;
    let access = Arc::new(AccessReviews::new(api.clone(), reviewer, reachability.clone(), health));
    if let Some(path) = &options.state_file {
        let saved = Persistence::load(path, lock, &node, clock.clone(), cache.clone(), access.clone());
        tasks.endless("the saving of the state", saved.run());
    }
    if let Some(source) = &options.local_pods {
        tasks.endless("the pods of the node", local_pods::follow(source.clone(), cache.clone()));
        tasks.endless("the probes of the API server", reachability.clone().follow(cache.clone()));
    }
    if let Some(health) = &options.node_health {
        tasks.endless("the health of nodes", node_health::follow(health.clone(), cache.clone()));
    }
    let synced = cache.clone();
    readiness.add("cache", move || synced.synced());
    for resource in NodeState::watched(scheme) {
        let sink = UpstreamSink::new(cache.clone(), resource, node.clone(), reachability.clone());
        cluster.watch(resource, sink, &metrics.upstream, &mut tasks);
    }
    let tls = match &options.tls {
        Some(files) => Some(TlsOptions::of_files(files, &TLS, clock, health, &mut tasks).await?),
        None => None,
    };
    let certificates = tls
        .as_ref()
        .filter(|_| takes_certificates)
        .map(|tls| ClientCertificates { served: tls.certificate.clone(), clock: clock.clone() });
    let app = EdgeApp {
        node,
        scheme,
        cache,
        proxy: Proxy::new(api, health.clone()),
        access,
        certificates,
        slots,
        protobuf_lists: Arc::new(ProtobufLists::new(metrics.unencodable.clone())),
        metrics,
        health: health.clone(),
        hosts,
    };
    let router = router(Arc::new(app));
    Ok(ServerPart { no_place: StatusError::no_place, tls, readiness, tasks, ..ServerPart::new(LISTENER, router) })
}

/// The resourceVersions from this start on.
fn versions(options: &EdgeOptions, clock: &Clock) -> Versions {
    let seconds = u64::try_from(clock.now().as_second()).unwrap_or_default();
    let file = options.state_file.clone().map(VersionFile::new);
    let reserved = file.as_ref().and_then(VersionFile::read);
    Versions::start(seconds, reserved, file.map(|file| Box::new(file) as Box<dyn Reservation>))
}
