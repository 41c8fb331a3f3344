//! The flags that choose a cluster, and those of a command that reads one.

use std::path::PathBuf;

use roster_engine::profile::Minor;
use roster_manifests::inventory::Inventory;

use super::{messages, progress_line::ProgressLine};
use crate::kube_api::{self, ClusterChoice, LiveError, ReadCluster, Target};

/// The heading of these flags in the help.
const HEADING: &str = "Live cluster";

/// Arguments of a command that reads a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArgs {
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,
    /// Maximum seconds for one response of the API server. Roster only reads.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = HEADING)]
    request_timeout: u64,
}

impl ClusterArgs {
    pub(super) fn is_given(&self) -> bool {
        self.kubeconfig.is_given()
    }
}

/// Reads the objects of the cluster, or of one of its namespaces, and warns of what is missing.
pub(super) fn read(
    args: &ClusterArgs,
    namespace: Option<&str>,
    wants_node_pools: fn(&Inventory) -> bool,
    into: &mut Inventory,
    progress: &ProgressLine,
) -> anyhow::Result<ReadCluster> {
    let target = Target {
        cluster: args.kubeconfig.choice(),
        namespace: namespace.map(str::to_owned),
        timeout: std::time::Duration::from_secs(args.request_timeout),
    };
    let cluster = kube_api::read(&target, wants_node_pools, into, |bytes| progress.add(bytes));
    let cluster = cluster.map_err(or_read_files)?;
    if cluster.release.is_none() {
        messages::warning(&format!("the cluster's release has no profile; using {}", Minor::default()));
    }
    if let Some(why) = &cluster.no_nodes {
        messages::warning(&format!("Nodes are not checked: {why}"));
    }
    if let Some(why) = &cluster.no_node_pools {
        messages::warning(&format!("no NodePools: {why}"));
    }
    Ok(cluster)
}

/// Adds to the error that no cluster is known that a command can read files instead.
fn or_read_files(mut error: LiveError) -> LiveError {
    if let LiveError::NoKubeconfig { flags, .. } = &mut error {
        flags.push("-f");
    }
    error
}

/// The flags that choose a cluster.
#[derive(Debug, Default, clap::Args)]
pub(super) struct KubeconfigArgs {
    /// The context of the kubeconfig. Commands that need a cluster use the current context by default, as does `kubectl
    /// roster` without -f
    #[arg(long, value_name = "CONTEXT", help_heading = HEADING)]
    context: Option<String>,
    /// The kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the pod's service account]. A program for
    /// credentials in it (`exec`) is run, as kubectl runs it
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
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
