//! The REST API as a part of a server: its routes, its certificate, and who may call it.

use std::path::PathBuf;

use anyhow::Context;

use super::{RestAccess, RestApp, RestLimits, app::LISTENER, live::LiveCluster, problem, routes};
use crate::{
    kube_api::{CallerCluster, ClusterChoice},
    runtime::{
        allowed_hosts::AllowedHosts,
        bearer_tokens::BearerTokens,
        clock::Clock,
        net::{Health, ServerPart, Tasks, TlsOptions},
        tls::{TlsFiles, TlsNames},
    },
};

/// The names of the listener.
pub(super) const TLS: TlsNames = TlsNames {
    listener: "the REST API",
    connections: "roster_rest_connections",
    reloads: "roster_rest_certificate_reloads",
    handshake_errors: "roster_rest_tls_handshake_errors",
    expiration: "roster_rest_certificate_expiration_seconds",
    certificate_check: "rest-certificate",
    handshake_check: "rest-tls",
};

/// Who may call the REST API, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessOptions {
    /// TLS; `None`: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// A file with tokens, of which a client must present one. Read again when it changes.
    pub token_file: Option<PathBuf>,
    /// A cluster that the page shows to callers with a token of that cluster.
    pub page_cluster: Option<ClusterChoice>,
}

impl AccessOptions {
    /// Whether a client must show who it is.
    pub fn authenticates(&self) -> bool {
        self.token_file.is_some() || self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some())
    }
}

/// Loads what the REST API needs, and starts the tasks that keep it up to date. `hosts` are those that a request may
/// name.
pub async fn part(
    limits: RestLimits,
    options: &AccessOptions,
    hosts: Option<AllowedHosts>,
    clock: &Clock,
    health: Health,
) -> anyhow::Result<ServerPart> {
    let mut tasks = Tasks::default();
    let tls = match &options.tls {
        Some(files) => Some(TlsOptions::of_files(files, &TLS, clock, &health, &mut tasks).await?),
        None => None,
    };
    let tokens = match &options.token_file {
        Some(path) => {
            let (tokens, watch) = BearerTokens::serve(path).await.context("the token file")?;
            tasks.endless("the watch of the token file", watch);
            Some(tokens)
        }
        None => None,
    };
    let live = match &options.page_cluster {
        Some(choice) => {
            Some(LiveCluster::new(CallerCluster::connect(choice).await.context("the cluster of the page")?))
        }
        None => None,
    };
    let router = routes::guarded(RestApp::with_cluster(limits, health, live), RestAccess { hosts, tokens });
    Ok(ServerPart { no_place: problem::no_place, tls, tasks, ..ServerPart::new(LISTENER, router) })
}
