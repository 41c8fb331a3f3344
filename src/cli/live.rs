//! `--context` and `--kubeconfig`: a live cluster, read only.

use std::path::PathBuf;

use super::{output, progress::Progress};
use crate::{
    engine::compat::Minor,
    inventory::Inventory,
    kube_api::{self, Target},
};

/// Said where there is nothing to read.
pub(super) const HINT: &str = ", or a cluster with --context";

/// Which cluster.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArgs {
    /// Read the cluster of this kubeconfig context, without writing to it. As `kubectl roster`, the current
    /// context is read where no file is given.
    #[arg(long, value_name = "CONTEXT", help_heading = "Live cluster")]
    context: Option<String>,
    /// The kubeconfig file; else KUBECONFIG, ~/.kube/config, or the pod's own account.
    #[arg(long, value_name = "FILE", help_heading = "Live cluster")]
    kubeconfig: Option<PathBuf>,
    /// Longest wait for one answer of the API server, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = "Live cluster")]
    request_timeout: u64,
}

impl ClusterArgs {
    pub(super) fn is_given(&self) -> bool {
        self.context.is_some() || self.kubeconfig.is_some()
    }
}

/// Reads the objects of the cluster, those of one namespace where one is given, and tells its release.
pub(super) fn read(
    args: &ClusterArgs,
    namespace: Option<&str>,
    into: &mut Inventory,
    progress: &Progress,
) -> anyhow::Result<Option<Minor>> {
    let target = Target {
        context: args.context.clone(),
        kubeconfig: args.kubeconfig.clone(),
        namespace: namespace.map(str::to_owned),
        timeout: std::time::Duration::from_secs(args.request_timeout),
    };
    let release = kube_api::read(&target, into, |bytes| progress.add(bytes))?;
    if release.is_none() {
        output::warning(&format!("the cluster's release has no profile: acting like {}", Minor::default()));
    }
    Ok(release)
}

/// What an API server said as it refused: the error itself would show every field of its answer, too.
pub(super) fn refusal<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a str> {
    let boxed = || cause.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
    match cause.downcast_ref::<kube::Error>().or_else(boxed)? {
        kube::Error::Api(status) if !status.message.is_empty() => Some(&status.message),
        _ => None,
    }
}
