//! The client of a cluster's API server.

use std::time::Duration;

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use roster_manifests::decode::DecodeError;

use super::{answers::RequestMetrics, cluster::ClusterChoice, http_client::client_of};

/// The cluster to read, and how much of it.
#[derive(Clone, Debug)]
pub struct Target {
    /// Which one.
    pub cluster: ClusterChoice,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Longest time to wait for an answer.
    pub timeout: Duration,
}

/// Why a cluster could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// There is no usable configuration.
    #[error("cannot tell which cluster is meant: {0}")]
    Config(String),
    /// The client cannot be set up.
    #[error("cannot set up the client of {0}")]
    Client(String, #[source] kube::Error),
    /// The API server did not answer, or refused.
    #[error("{0}")]
    Request(String, #[source] kube::Error),
    /// The API server took too long.
    #[error("{0}: no response from the API server within {1} seconds")]
    Timeout(String, u64),
    /// The answer is not a list of objects.
    #[error("{0}")]
    List(String, #[source] DecodeError),
    /// The answer has another format.
    #[error("{0}: the answer cannot be read")]
    Answer(String, #[source] serde_json::Error),
    /// The async runtime cannot start.
    #[error("cannot start the async runtime")]
    Runtime(#[source] std::io::Error),
}

/// A client of the cluster, for all namespaces.
pub(crate) async fn connect(target: &Target) -> Result<Client, LiveError> {
    let mut config = config(&target.cluster).await?;
    config.connect_timeout = Some(target.timeout);
    config.read_timeout = Some(target.timeout);
    let address = config.cluster_url.to_string();
    client_of(config, &RequestMetrics::default()).map_err(|e| LiveError::Client(address, e))
}

/// How to reach the cluster of a context; default: `KUBECONFIG`, `~/.kube/config` or the service account of the pod.
pub(crate) async fn config(choice: &ClusterChoice) -> Result<Config, LiveError> {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let wrong = |e: &dyn std::fmt::Display| LiveError::Config(e.to_string());
    let options = KubeConfigOptions { context: choice.context.clone(), ..KubeConfigOptions::default() };
    match &choice.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(|e| wrong(&e))?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(|e| wrong(&e))
        }
        None if choice.context.is_some() => Config::from_kubeconfig(&options).await.map_err(|e| wrong(&e)),
        None => Config::infer().await.map_err(|e| wrong(&e)),
    }
}
