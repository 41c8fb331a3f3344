//! The cluster behind the webhook: a copy of what rules ask about, and the certificates that are kept in it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, anyhow};

use super::{Configured, Keeper, KeeperOptions, policies, statuses::Statuses, watch};
use crate::{
    inventory::cache::Store,
    kube_api::{self, WatchMetrics},
    model::installed::CRD,
    runtime::{
        certificates::SelfSignedOptions,
        clock::Clock,
        net::{Readiness, Tasks},
        tls::DynamicCertificate,
    },
    servers::webhook::{ActivePolicies, ClusterOptions},
};

/// Longest time to connect to the API server.
const CONNECT: Duration = Duration::from_secs(10);
/// Longest silence of an answer: who takes a request and says nothing is gone. API servers end a watch after less than
/// five minutes, and kube looks after those that are silent by itself.
const SILENCE: Duration = Duration::from_secs(310);

/// Starts the watches, and the keeper of certificates.
pub(crate) async fn start(
    options: &ClusterOptions,
    own: Option<SelfSignedOptions>,
    served: &Arc<DynamicCertificate>,
    clock: &Clock,
    copy: &WatchMetrics,
    readiness: &mut Readiness,
    tasks: &mut Tasks,
) -> anyhow::Result<(Arc<Store>, Arc<ActivePolicies>)> {
    let client = connect(options).await?;

    let configured = Configured { configuration: options.configuration.clone(), crd: CRD.to_owned() };
    let keeper = Keeper::new(client.clone(), KeeperOptions { configured, own }, served.clone(), clock.clone());
    let trust = keeper.trust();
    readiness.add("ca-bundle", move || trust.check());
    tasks.endless("the keeper of certificates", keeper.run());

    let store = Arc::new(Store::new());
    let in_force = Arc::new(ActivePolicies::new(Some(store.clone())));
    let (api, statuses) = (policies::api(client.clone()), Statuses::new(clock.clone()));
    let known = Arc::new(AtomicBool::new(false));
    let watched = policies::of_cluster(api.clone(), in_force.clone(), statuses.clone(), known.clone(), copy.clone());
    tasks.endless("the watch of policies", watched);
    tasks.endless("the status of policies", statuses.write(api));
    readiness.add("policies", move || {
        if known.load(Ordering::Relaxed) { Ok(()) } else { Err("the policies are not listed yet".to_owned()) }
    });
    let (filled, kept, copy) = (store.clone(), store.clone(), copy.clone());
    readiness.add("cache", move || {
        if filled.synced() { Ok(()) } else { Err("the copy of the cluster is not complete yet".to_owned()) }
    });
    tasks.spawn(async move {
        match watch::run(client, kept, copy).await {
            Ok(()) => anyhow!("the watches ended"),
            Err(error) => error.into(),
        }
    });
    Ok((store, in_force))
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
