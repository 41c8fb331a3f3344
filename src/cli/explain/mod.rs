//! `roster explain`: which pods serve which ports of a Service, and why the others do not.

mod explain_documents;
mod explain_table;
mod explainer;
mod served_totals;

use std::{io::Write, sync::OnceLock};

use anyhow::{bail, ensure};
use clap::Args;

use super::{
    input_objects::{InputArgs, ReleaseArgs},
    outcome::Outcome,
    output::{Output, OutputFormat},
};
use crate::{engine::state::Options, model::Pod};
use explainer::Explainer;

/// Show for each pod and port of a Service whether clients reach it, and why.
///
/// Lists every pod that a Service selects, with every port, in Endpoints and in EndpointSlices: whether it is published,
/// the reason, and what to do about it. If a selector matches no pods, the pods with the most similar labels are named.
///
/// A pod and port count as served if they are ready in at least one list: in Endpoints, or in the slices of one address
/// type. Clients that read another list may not see them: kube-proxy, for example, reads only slices. Each row names its
/// lists.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 no findings, 1 there are warnings or errors, 2 usage error or unreadable input.")]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    release: ReleaseArgs,
    /// Look only at this pod, as NAME or NAMESPACE/NAME: which Services it serves, and why it does not serve the others.
    #[arg(long, value_name = "POD")]
    pod: Option<String>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,
}

impl ExplainArgs {
    pub(super) fn run(&self, plugin: bool) -> anyhow::Result<Outcome> {
        let objects = self.input.read(plugin)?;
        let mut index = objects.index();
        self.input.select(&mut index)?;
        if index.unknown().services {
            // What Endpoints and slices without a Service are left over from is unknown.
            index.retain(|e| e.service.is_some());
        }
        let pods: Vec<&Pod> = objects.inventory.pods.iter().collect();
        let pod = self.pod.as_deref().map(|name| self.find(&pods, name)).transpose()?;
        if let Some(pod) = pod {
            index.retain(|e| e.namespace == pod.namespace() && e.service.is_some());
        }
        let explainer = Explainer {
            index: &index,
            pods,
            groups: OnceLock::new(),
            pod,
            by_name: self.input.names_services(),
            options: Options { compat: self.release.choose(&objects), ..Options::default() },
        };
        let mut out = Output::stdout(self.output);
        let findings = if self.output.is_table() {
            explain_table::print(&explainer, self.output == OutputFormat::Wide, &mut out)?
        } else {
            explain_documents::print(&explainer, self.output, &mut out)?
        };
        out.flush()?;
        Ok(Outcome::of(objects.complete, findings))
    }

    fn find<'a>(&self, pods: &[&'a Pod], wanted: &str) -> anyhow::Result<&'a Pod> {
        let (namespace, name) = wanted
            .split_once('/')
            .map_or((self.input.namespace(), wanted), |(namespace, name)| (Some(namespace), name));
        let found: Vec<&Pod> =
            pods.iter().copied().filter(|p| p.name() == name && namespace.is_none_or(|n| p.namespace() == n)).collect();
        let Some(&pod) = found.last() else { bail!("pod {wanted} not found") };
        ensure!(
            found.iter().all(|p| p.namespace() == pod.namespace()),
            "pod {wanted} exists in several namespaces; give it as NAMESPACE/{name}"
        );
        Ok(pod)
    }
}
