//! Which pods take part, with what ports, and in which zone: all that does not depend on the address type.

use std::collections::BTreeSet;

use crate::{
    compat::MissingNode,
    model::{Pod, Text},
    reason::Trace,
    select,
};

use super::{Job, notes, ports::Groups};

/// A pod that takes part.
pub(super) struct Member<'a> {
    /// Index among the selected pods.
    pub index: usize,
    /// The pod.
    pub pod: &'a Pod,
    /// Its port group.
    pub group: usize,
    /// The zone of its node.
    pub zone: Option<&'a Text>,
}

/// The pods of a Service that take part.
pub(super) struct Members<'a> {
    /// In the order given.
    pub list: Vec<Member<'a>>,
    /// A group exists as soon as one pod has its ports, even if nothing of that pod can be published.
    pub groups: Groups,
    /// Indices of the pods that are left out because their node is not there.
    pub missing: Vec<usize>,
}

/// The first half of `reconcileByAddressType`: `ShouldPodBeInEndpoints`, ports and node of each pod.
pub(super) fn of_service<'a>(job: &Job<'a>, trace: &mut impl Trace) -> Members<'a> {
    let mut members = Members { list: Vec::with_capacity(job.pods.len()), groups: Groups::new(), missing: Vec::new() };
    // S1: up to 1.23 publishNotReadyAddresses does not help against a missing node.
    let needs_node = !job.service.publish_not_ready || job.profile.missing_node == MissingNode::Abort;
    for (index, &pod) in job.pods.iter().enumerate() {
        // Pods that are being deleted stay listed, as terminating.
        if let Some(why) = select::excluded(pod, true) {
            notes::excluded(job, index, why, trace);
            continue;
        }
        notes::port_misses(job, index, pod, trace);
        let group = members.groups.of_pod(job.service, pod, job.profile);
        let node = job.nodes.get(&pod.node_name);
        if node.is_none() && needs_node {
            notes::node_unknown(job, index, pod, trace);
            members.missing.push(index);
            continue;
        }
        members.list.push(Member { index, pod, group, zone: node.and_then(|n| n.zone()) });
    }
    members
}

impl Members<'_> {
    /// What the sync returns for pods on missing nodes, as upstream puts it together (`NewAggregate`: each text
    /// once, whatever the address type).
    pub(super) fn error(&self, job: &Job<'_>) -> Option<String> {
        let first = job.pods[*self.missing.first()?];
        if job.profile.missing_node == MissingNode::Abort {
            return Some(format!("node {:?} not found", first.node_name));
        }
        let (namespace, name) = (&job.service.meta.namespace, &job.service.meta.name);
        let mut seen = BTreeSet::new();
        let texts: Vec<String> = self
            .missing
            .iter()
            .map(|i| job.pods[*i])
            .filter(|p| seen.insert((p.name(), &p.node_name)))
            .map(|p| {
                format!("skipping Pod {} for Service {namespace}/{name}: Node {} Not Found", p.name(), p.node_name)
            })
            .collect();
        Some(if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) })
    }
}
