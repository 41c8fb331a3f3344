//! `--context` and `--kubeconfig`: which cluster.

use std::path::PathBuf;

use crate::kube_api::ClusterChoice;

/// The flags that choose a cluster.
#[derive(Debug, Default, clap::Args)]
pub(super) struct KubeconfigArgs {
    /// The context of the kubeconfig [default: the current context]
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    /// The kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the pod's service account]. If it names a program
    /// that fetches credentials (`exec`), that program is run, as kubectl runs it
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

impl KubeconfigArgs {
    /// Whether one of them is given.
    pub(super) fn is_given(&self) -> bool {
        self.context.is_some() || self.kubeconfig.is_some()
    }

    /// The chosen cluster.
    pub(super) fn choice(&self) -> ClusterChoice {
        ClusterChoice { context: self.context.clone(), kubeconfig: self.kubeconfig.clone() }
    }
}
