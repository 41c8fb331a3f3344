//! Options of the node proxy.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use super::{local_pods::LocalPodsSource, scheme::EdgeScheme};
use crate::model::Text;

/// Options of the node proxy.
#[derive(Clone, Debug)]
pub struct EdgeOptions {
    /// The name of the node.
    pub node: Text,
    /// What is removed from what its clients see.
    pub scheme: EdgeScheme,
    /// Context of the kubeconfig; default: the current one.
    pub context: Option<String>,
    /// Path of the kubeconfig; default: `KUBECONFIG`, `~/.kube/config` or the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// TLS; `None`: plain HTTP.
    pub tls: Option<EdgeTls>,
    /// The file in which resourceVersions are reserved; without one they depend on the clock. Beside it, `.objects`, is what
    /// was last known of the API server: the proxy starts from it.
    pub state_file: Option<PathBuf>,
    /// Where the pods of the node are: while the API server is away, they are served as they are there.
    pub local_pods: Option<LocalPodsSource>,
}

/// TLS of the node proxy: PEM files, which are read again when they change.
#[derive(Clone, Debug)]
pub struct EdgeTls {
    /// The certificate, and those between it and its CA.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl EdgeOptions {
    /// The default address, which is that of SuperEdge's application-grid-wrapper.
    pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 51006);
}
