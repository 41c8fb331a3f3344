//! The REST API as a part of a server: its routes, its certificate, and who may call it.

use std::path::PathBuf;

use anyhow::Context;

use super::{RestAccess, RestApp, RestLimits, app::LISTENER, problem, routes};
use crate::runtime::{
    allowed_hosts::AllowedHosts,
    bearer_tokens::BearerTokens,
    clock::Clock,
    net::{Health, ServerPart, Tasks, TlsOptions},
    tls::{CertificateFiles, DynamicCertificate, TlsMetrics},
};

/// Who may call the REST API, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessOptions {
    /// TLS; `None`: plain HTTP.
    pub tls: Option<RestTls>,
    /// A file with tokens, of which a client must present one. Read again when it changes.
    pub token_file: Option<PathBuf>,
}

/// TLS of the REST API: PEM files, which are read again when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestTls {
    /// The certificate, and those between it and its CA.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// CAs whose clients may connect. `None`: every client may.
    pub client_ca: Option<PathBuf>,
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
        Some(files) => Some(serve_tls(files, clock, &health, &mut tasks).await?),
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
    let router = routes::guarded(RestApp::new(limits, health), RestAccess { hosts, tokens });
    Ok(ServerPart { no_place: problem::no_place, tls, tasks, ..ServerPart::new(LISTENER, router) })
}

async fn serve_tls(files: &RestTls, clock: &Clock, health: &Health, tasks: &mut Tasks) -> anyhow::Result<TlsOptions> {
    let RestTls { certificate, key, client_ca } = files.clone();
    let metrics = TlsMetrics::default();
    health.metrics.register(|registry| metrics.register_rest(registry));
    let served = DynamicCertificate::new(metrics);
    if let Some(path) = client_ca {
        let watch = CertificateFiles::ClientCa(path).serve(served.clone()).await?;
        tasks.endless("the watch of the client CA of the REST API", watch);
    }
    let watch = CertificateFiles::KeyPair { certificate, key }.serve(served.clone()).await?;
    tasks.endless("the watch of the certificate of the REST API", watch);
    Ok(TlsOptions::of_rest(served, clock.clone()))
}
