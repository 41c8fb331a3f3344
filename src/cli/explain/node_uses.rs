//! `roster explain --node`: whether the proxy of a node uses each pod, and why not.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use roster_engine::{
    explain::{Explanation, each_piece},
    model::{HashSeed, Text},
    reason::Reason,
    record::Scope,
    view::{EndpointUse, ServiceView, UnseenEndpoint},
};
use roster_manifests::inventory::Entry;
use serde::Serialize;

use crate::cli::{
    printable::printable,
    style::{BOLD, DIM, GREEN, YELLOW},
    table::{Cell, Table},
    view::NodeView,
};

/// Most pods that are listed; those that are used come first.
const LISTED: usize = 24;

/// What a node uses of the pods of a Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct NodeUses {
    node: String,
    pods: Vec<NodeUse>,
}

/// Whether a node uses a pod for a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct NodeUse {
    pod: Text,
    /// The name of the port.
    port: Text,
    /// For traffic with the policy `Cluster`.
    cluster: bool,
    /// For traffic with the policy `Local`.
    local: bool,
    /// Why not, or why although it is terminating.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
}

/// What is known of endpoints by the pods for which they stand and the names of their ports.
type UsesOfPods = HashMap<(Text, Text), (EndpointUse, Option<Reason>), HashSeed>;

impl NodeUses {
    /// The uses of all pods of an explanation; `None` if the entry is not a Service.
    pub(super) fn of(from: &NodeView<'_>, entry: &Entry<'_>, explanation: &Explanation) -> Option<Self> {
        let of = from.cluster.service(entry.namespace, entry.name)?;
        let pods = from.cluster.view(of, from.at, |view, removed| {
            let uses = uses_of_pods(view, removed);
            let is_proxied = view.findings.iter().all(|finding| finding.code != Reason::NotProxied);
            let mut pods: Vec<NodeUse> = Vec::new();
            for rows in explanation.rows.chunk_by(|a, b| a.pod == b.pod) {
                let lists = rows.chunk_by(|a, b| a.scope == b.scope).filter(|rows| rows[0].scope != Scope::Endpoints);
                // A pod port of two families counts once.
                each_piece(
                    &lists.collect::<Vec<_>>(),
                    |row| row.ports.places(),
                    |places, rows| {
                        let why = rows[0].reasons.first().map(|cause| cause.code);
                        // Without a proxy, it does not matter whether the pod is ready.
                        let why = if is_proxied { why } else { Some(Reason::NotProxied) };
                        for port in rows[0].ports.at(places).each() {
                            let key = (rows[0].pod.clone(), port.map(|port| port.name.clone()).unwrap_or_default());
                            let (used, reason) = uses.get(&key).copied().unwrap_or((EndpointUse::default(), why));
                            let (pod, port) = key;
                            pods.push(NodeUse { pod, port, cluster: used.cluster, local: used.local, reason });
                        }
                    },
                );
            }
            pods
        });
        Some(Self { node: from.title(), pods })
    }

    /// Writes a table below the explanation of the Service.
    pub(super) fn write(&self, out: &mut dyn Write, wide: bool, width: Option<usize>) -> io::Result<()> {
        if self.pods.is_empty() {
            let node = printable(&self.node);
            return writeln!(
                out,
                "  {BOLD}{node}:{BOLD:#} no pods are selected; `roster view` shows the stored endpoints\n"
            );
        }
        let used = self.pods.iter().filter(|uses| uses.is_used()).count();
        writeln!(out, "  {BOLD}{}: uses {used} of {}{BOLD:#}", printable(&self.node), self.pods.len())?;
        let mut pods: Vec<&NodeUse> = self.pods.iter().collect();
        // Stable: pods stay in order.
        pods.sort_by_key(|uses| !uses.is_used());
        let listed = if wide { pods.len() } else { LISTED };
        let mut table = Table::new(["POD", "PORT", "USED FOR", "REASON"]);
        pods.iter().take(listed).for_each(|uses| table.push(uses.cells()));
        if !table.is_empty() {
            table.print_to(out, 2, width)?;
        }
        match pods.len().saturating_sub(listed) {
            0 => {}
            more => writeln!(out, "  {DIM}and {more} more: -o wide lists them{DIM:#}")?,
        }
        writeln!(out)
    }
}

fn uses_of_pods(view: &ServiceView<'_>, removed: &[UnseenEndpoint]) -> UsesOfPods {
    let mut uses = UsesOfPods::default();
    for (_, port) in view.ports() {
        for endpoint in &port.endpoints {
            let target = endpoint.endpoint.endpoint.target_ref.as_ref().filter(|target| target.kind == "Pod");
            let Some(target) = target else { continue };
            let key = (target.name.clone(), port.port.name.clone());
            // A pod with two families is used if one of its addresses is.
            let known = uses.entry(key).or_insert((endpoint.uses, endpoint.reason));
            if endpoint.uses.any() && !known.0.any() {
                *known = (endpoint.uses, endpoint.reason);
            }
        }
        for endpoint in removed {
            let pod = endpoint.target.as_ref().and_then(|target| target.strip_prefix("Pod/"));
            let key = pod.map(|pod| (Text::new(pod), port.port.name.clone()));
            if let Some(key) = key {
                uses.entry(key).or_insert((EndpointUse::default(), Some(endpoint.reason)));
            }
        }
    }
    uses
}

impl NodeUse {
    fn is_used(&self) -> bool {
        self.cluster || self.local
    }

    fn cells(&self) -> [Cell; 4] {
        let used_for = match (self.cluster, self.local) {
            (true, true) => Cell::styled("cluster, local", GREEN),
            (true, false) => Cell::styled("cluster", GREEN),
            (false, true) => Cell::styled("local", GREEN),
            (false, false) => Cell::styled("-", DIM),
        };
        let reason = Cell::styled(self.reason.map_or("", |reason| reason.code()), YELLOW);
        [self.pod.as_str().into(), self.port.as_str().into(), used_for, reason]
    }
}
