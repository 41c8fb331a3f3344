//! The client of a cluster's API server.

use std::{env, fmt::Display, io, path::Path, time::Duration};

use kube::{
    Client, Config,
    config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use roster_engine::phrase::any_of;
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
    /// There is no file, and flags name another cluster.
    #[error("no kubeconfig at {place}: use {}", any_of(flags))]
    NoKubeconfig {
        /// The path of the file, and who chose it.
        place: String,
        /// The flags.
        flags: Vec<&'static str>,
    },
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
    let options = KubeConfigOptions { context: choice.context.clone(), ..KubeConfigOptions::default() };
    let config = match &choice.kubeconfig {
        Some(path) => match Kubeconfig::read_from(path) {
            Ok(file) => Config::from_custom_kubeconfig(file, &options).await,
            Err(error) => Err(error),
        },
        None if choice.context.is_some() => Config::from_kubeconfig(&options).await,
        None => return Config::infer().await.map_err(|error| unusable(choice, infer_cause(&error), &error)),
    };
    config.map_err(|error| unusable(choice, Some(&error), &error))
}

/// The fault of the kubeconfig, if it is to blame: in a pod, the service account comes first.
fn infer_cause(error: &InferConfigError) -> Option<&KubeconfigError> {
    let is_in_pod = env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    std::error::Error::source(error).filter(|_| !is_in_pod)?.downcast_ref()
}

/// The error about a configuration that cannot be used. `cause` is the fault of the kubeconfig.
fn unusable(choice: &ClusterChoice, cause: Option<&KubeconfigError>, error: &dyn Display) -> LiveError {
    match cause {
        Some(KubeconfigError::ReadConfig(why, path)) if why.kind() == io::ErrorKind::NotFound => {
            let flags = match (&choice.kubeconfig, &choice.context) {
                (Some(_), _) => vec!["another --kubeconfig"],
                (None, Some(_)) => vec!["--kubeconfig"],
                (None, None) => vec!["--context", "--kubeconfig"],
            };
            let is_of_variable =
                choice.kubeconfig.is_none() && env::var_os("KUBECONFIG").is_some_and(|v| !v.is_empty());
            let variable = if is_of_variable { " ($KUBECONFIG)" } else { "" };
            LiveError::NoKubeconfig { place: format!("{}{variable}", from_home(path)), flags }
        }
        Some(cause) => LiveError::Config(cause.to_string()),
        None => LiveError::Config(error.to_string()),
    }
}

/// A path as a shell abbreviates it: `~/.kube/config`.
fn from_home(path: &Path) -> String {
    let home = env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()))
}
