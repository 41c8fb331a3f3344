//! The JSON and YAML of `roster view --node`.

use roster_engine::{
    model::{Family, Text},
    reason::{Finding, Reason, Severity},
    view::{PortView, ServiceView, UnseenEndpoint, Verdict},
};
use roster_manifests::inventory::whole;
use serde::Serialize;

use super::node_view::NodeRun;
use crate::cli::output::{ItemWriter, Output, OutputFormat};

/// The view of one Service.
#[derive(Serialize)]
struct ServiceItem<'a> {
    namespace: &'a Text,
    name: &'a Text,
    ports: Vec<PortItem<'a>>,
    removed: Vec<RemovedItem<'a>>,
    reasons: &'a [Finding],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PortItem<'a> {
    ip_family: Family,
    #[serde(flatten)]
    port: &'a PortView<'a>,
}

/// An endpoint that does not reach kube-proxy.
#[derive(Serialize)]
struct RemovedItem<'a> {
    address: &'a Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a Text>,
    reason: Reason,
}

/// The end of the document.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeSummary<'a> {
    node: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<&'a str>,
    scheme: &'static str,
    services: usize,
    /// Services of which connections to a port are rejected.
    rejected: usize,
    /// Services of which connections to a port are dropped.
    dropped: usize,
}

/// Writes the view of every Service as soon as it is known. Returns whether there is a warning or an error.
pub(super) fn print(run: &NodeRun<'_>, format: OutputFormat, out: &mut Output) -> anyhow::Result<bool> {
    let mut items = ItemWriter::start(out, format)?;
    let zone = Some(run.from.at.zone()).filter(|zone| !zone.is_empty());
    let mut summary =
        NodeSummary { node: run.from.at.name, zone, scheme: run.from.scheme.as_str(), ..NodeSummary::default() };
    let mut attention = false;
    for of in &run.from.cluster.services {
        run.from.cluster.view(of, run.from.at, |view, removed| {
            let needs_attention = view.severity() > Severity::Info;
            attention |= needs_attention;
            summary.count(view);
            if run.problems_only && !needs_attention {
                return Ok(());
            }
            items.write(&ItemWriter::item(format, &item(view, removed))?)
        })?;
    }
    items.end(&whole::last_line(&summary, &run.input.findings()))?;
    Ok(attention)
}

impl NodeSummary<'_> {
    fn count(&mut self, view: &ServiceView<'_>) {
        let verdict = view.worst_use().map(|uses| uses.internal);
        self.services += 1;
        self.rejected += usize::from(verdict == Some(Verdict::Rejected));
        self.dropped += usize::from(verdict == Some(Verdict::Dropped));
    }
}

fn item<'a>(view: &'a ServiceView<'a>, removed: &'a [UnseenEndpoint]) -> ServiceItem<'a> {
    let meta = &view.service.meta;
    ServiceItem {
        namespace: &meta.namespace,
        name: &meta.name,
        ports: view.ports().map(|(ip_family, port)| PortItem { ip_family, port }).collect(),
        removed: removed
            .iter()
            .map(|e| RemovedItem {
                address: &e.address,
                target: e.target.as_ref(),
                node: e.node.as_ref(),
                reason: e.reason,
            })
            .collect(),
        reasons: &view.findings,
    }
}
