//! A connection to a cluster for a server: it lasts, and feeds what watches the cluster.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, anyhow};
use kube::{Client, Config};
use roster_engine::model::{Resource, ResourceScope};
use roster_manifests::inventory::Sink;

use super::{
    RequestMetrics, WatchMetrics,
    connect::config,
    http_client,
    reflector::reflect,
    watch_events::{ListStreaming, WatchPlace, WatchTimes},
};
use crate::runtime::net::Tasks;

/// Longest time to connect to the API server.
pub(super) const CONNECT: Duration = Duration::from_secs(10);
/// Longest time without a byte of an answer. API servers end a watch after less than five minutes, and kube restarts
/// those that are silent.
pub(super) const SILENCE: Duration = Duration::from_secs(310);

/// The cluster that a server is to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterChoice {
    /// The context of the kubeconfig; `None`: the current one.
    pub context: Option<String>,
    /// The kubeconfig file; `None`: `KUBECONFIG`, `~/.kube/config` or the pod's service account.
    pub kubeconfig: Option<PathBuf>,
}

/// A cluster, and the client with which a server watches it.
pub(crate) struct Cluster {
    config: Config,
    client: Client,
    streaming: ListStreaming,
    /// The only namespace whose objects are watched.
    namespace: Option<String>,
    times: WatchTimes,
    requests: RequestMetrics,
}

impl Cluster {
    /// Sets up the client. Nothing is sent yet.
    pub(crate) async fn connect(choice: &ClusterChoice) -> anyhow::Result<Self> {
        let mut config = config(choice).await?;
        config.connect_timeout = Some(CONNECT);
        config.read_timeout = Some(SILENCE);
        // Otherwise the time that a connection was of no use would count.
        config.reset_reader_on_write = true;
        let requests = RequestMetrics::default();
        let client = client_of(config.clone(), &requests)?;
        Ok(Self {
            client,
            config,
            streaming: ListStreaming::default(),
            namespace: None,
            times: WatchTimes::OF_KUBE,
            requests,
        })
    }

    /// The same, for who would otherwise act late.
    pub(crate) fn eager(self) -> Self {
        Self { times: WatchTimes::EAGER, ..self }
    }

    /// The same, and watches only what is in this namespace, or in none.
    pub(crate) fn within(self, namespace: Option<String>) -> Self {
        Self { namespace, ..self }
    }

    /// How it is reached.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The client.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Another client, which repeats no request: for those that burden an API server that sheds load.
    pub(crate) fn client_without_retries(&self) -> anyhow::Result<Client> {
        let mut config = self.config.clone();
        config.default_retry = false;
        client_of(config, &self.requests)
    }

    /// The requests of its clients.
    pub(crate) fn requests(&self) -> &RequestMetrics {
        &self.requests
    }

    /// Feeds `sink` with the objects of a resource. A watch that ends is an error.
    pub(crate) fn watch<S>(&self, resource: Resource, sink: S, metrics: &WatchMetrics, tasks: &mut Tasks)
    where
        S: Sink + Send + 'static,
    {
        self.watch_after(std::future::ready(()), resource, sink, metrics, tasks);
    }

    /// The same, and begins after `ready`.
    pub(crate) fn watch_after<S>(
        &self,
        ready: impl Future<Output = ()> + Send + 'static,
        resource: Resource,
        sink: S,
        metrics: &WatchMetrics,
        tasks: &mut Tasks,
    ) where
        S: Sink + Send + 'static,
    {
        let namespace = self.namespace.clone().filter(|_| resource.scope() == ResourceScope::Namespaced);
        let place = WatchPlace { resource, namespace, times: self.times };
        let watch = reflect(self.client(), place, self.streaming.clone(), sink, metrics.clone());
        tasks.spawn(async move {
            ready.await;
            watch.await.map_or_else(anyhow::Error::from, |()| anyhow!("a watch ended"))
        });
    }
}

fn client_of(config: Config, requests: &RequestMetrics) -> anyhow::Result<Client> {
    let address = config.cluster_url.to_string();
    http_client::client_of(config, requests).with_context(|| format!("the client of {address}"))
}
