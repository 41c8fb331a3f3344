//! Members: the pods that take part in a sync, with their ports and zones, for all address types.

use std::collections::BTreeSet;

use crate::{
    budget::{self, TooLarge},
    membership,
    model::{Pod, Text},
    ports::PortTargets,
    profile::MissingNode,
    record::Recorder,
};

use super::{job::SliceJob, port_groups::PortGroups, records};

/// A pod that takes part.
pub(super) struct Member<'a> {
    /// Index among the selected pods.
    pub index: usize,
    /// The pod.
    pub pod: &'a Pod,
    /// The row of its ports.
    pub row: usize,
    /// The zone of its node.
    pub zone: Option<&'a Text>,
}

/// The pods of a Service that take part.
pub(super) struct Members<'a> {
    /// In the order given.
    pub list: Vec<Member<'a>>,
    /// The ports of the Service, and the rows of the pods.
    pub targets: PortTargets<'a>,
    /// A group exists as soon as one pod has its ports, even if nothing of that pod can be published.
    pub groups: PortGroups,
    /// Indices of the pods that are left out because their node does not exist.
    pub missing: Vec<usize>,
}

/// The members of a Service: the first half of `reconcileByAddressType`. `stored` is the number of stored slices.
pub(super) fn of_service<'a>(
    job: &SliceJob<'a>,
    stored: usize,
    recorder: &mut impl Recorder,
) -> Result<Members<'a>, TooLarge> {
    let mut members = Members {
        list: Vec::with_capacity(job.pods.len()),
        targets: PortTargets::new(&job.service.ports, job.profile.sidecar_ports_slices),
        groups: PortGroups::default(),
        missing: Vec::new(),
    };
    // versions.md#s1: up to 1.23 publishNotReadyAddresses does not make up for a missing node.
    let needs_node = !job.service.publish_not_ready || job.profile.missing_node == MissingNode::Abort;
    let mut zones = 0usize;
    for (index, &pod) in job.pods.iter().enumerate() {
        if recorder.interrupt().is_requested() {
            break;
        }
        // Pods that are being deleted stay listed, as terminating.
        if let Some(why) = membership::excluded(pod, true) {
            records::excluded(job, index, why, recorder);
            continue;
        }
        let row = members.targets.row_of(pod);
        records::port_misses(job, &members.targets, row, index, recorder);
        let node = job.nodes.zone_of(&pod.node_name);
        if node.is_none() && needs_node {
            records::node_unknown(job, index, pod, recorder);
            members.missing.push(index);
            continue;
        }
        let zone = node.flatten();
        zones = zones.saturating_add(zone.map_or(0, Text::len));
        members.list.push(Member { index, pod, row, zone });
    }
    budget::check(members.weight(job, stored, zones))?;
    members.groups = PortGroups::of(&members.targets, job.profile);
    Ok(members)
}

impl Members<'_> {
    /// The weight of what is repeated at most: names, labels and ports in slices, the zone in endpoints and their hints,
    /// and the name in errors.
    fn weight(&self, job: &SliceJob<'_>, stored: usize, zones: usize) -> usize {
        let rows = self.targets.rows();
        let mut pods = vec![0usize; rows.len()];
        self.list.iter().for_each(|m| pods[m.row] += 1);
        let families = job.families.len();
        let (mut slices, mut ports) = (stored, 0usize);
        for (row, pods) in rows.iter().zip(pods) {
            let of_row = families * pods.div_ceil(job.context.per_slice).max(1);
            slices += of_row;
            ports = ports.saturating_add(self.targets.weight_of_row(row).saturating_mul(of_row));
        }
        // The first slice repeats nothing.
        let owner = budget::owner(&job.service.meta);
        let texts = (owner + budget::labels(&job.labels)).saturating_mul(slices.saturating_sub(1));
        let zones = zones.saturating_mul(2 * families);
        let missing = owner.saturating_mul(self.missing.len());
        [ports, texts, zones, missing].into_iter().fold(0, usize::saturating_add)
    }

    /// The error that the sync returns for pods on missing nodes, composed like upstream's: each text once, whatever the
    /// address type (`NewAggregate`).
    pub(super) fn error(&self, job: &SliceJob<'_>) -> Option<String> {
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
            .filter(|p| seen.insert((p.name().as_str(), p.node_name.as_str())))
            .map(|p| {
                format!("skipping Pod {} for Service {namespace}/{name}: Node {} Not Found", p.name(), p.node_name)
            })
            .collect();
        Some(if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) })
    }
}
