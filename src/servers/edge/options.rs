//! Options of the node proxy.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use roster_engine::{model::Text, view::KeyOrder};

use crate::{
    kube_api::ClusterChoice,
    runtime::tls::TlsFiles,
    servers::edge::{
        cache::scheme::EdgeScheme,
        upstream::{node_health::NodeHealthOptions, polled_source::PolledSource},
    },
};

/// Options of the node proxy.
#[derive(Clone, Debug)]
pub struct EdgeOptions {
    /// The name of the node.
    pub node: Text,
    /// What is removed from what its clients see.
    pub scheme: EdgeScheme,
    /// What the order of SuperEdge's keys means.
    pub key_order: KeyOrder,
    /// The cluster of the node.
    pub cluster: ClusterChoice,
    /// TLS; `None`: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// The file in which resourceVersions are reserved; without one they depend on the clock. Files beside it
    /// have what was last known of the API server: the proxy starts from them.
    pub state_file: Option<PathBuf>,
    /// Where the pods of the node are: while the API server is away, they are served as they are there.
    pub local_pods: Option<PolledSource>,
    /// The health of nodes: endpoints on unhealthy ones are removed.
    pub node_health: Option<NodeHealthOptions>,
}

impl EdgeOptions {
    /// The default address, which is that of SuperEdge's application-grid-wrapper.
    pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 51006);

    /// The default of the most connections: those of all watches, and as many others.
    pub const MAX_CONNECTIONS: usize = 2048;

    /// The most threads that block at once: 30 look up the name of the API server (8 for its clients and for probes, 16 for
    /// access reviews, 6 for watches), 25 change what is known (9 for watches, the node and the saving of the state, 16 for
    /// reviews that end a permission), and 7 use files (5 that change, the journal and a snapshot). Without a bound, a
    /// resolver or a disk that hangs would fill a small node with threads.
    pub const BLOCKING_THREADS: usize = 64;
}
