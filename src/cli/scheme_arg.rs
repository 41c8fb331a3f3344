//! `--scheme`: the program between kube-proxy and the API server.

use clap::ValueEnum;

/// What stands between kube-proxy and the API server, as an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum SchemeArg {
    /// Nothing: kube-proxy reads from the API server
    #[default]
    KubeProxy,
    /// SuperEdge's application-grid-wrapper, with the annotation topologyKeys
    Superedge,
    /// OpenYurt's yurthub, with the annotation openyurt.io/topologyKeys
    Openyurt,
}

impl SchemeArg {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::KubeProxy => "kube-proxy",
            Self::Superedge => "superedge",
            Self::Openyurt => "openyurt",
        }
    }
}
