//! Port groups: pods that serve the same ports share slices.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    model::{EndpointSlice, SlicePort},
    ports::PortTargets,
    profile::Profile,
};

use super::new_slice;

/// The port groups of a Service, in the order in which their first pods came.
///
/// Upstream hashes the port list of every pod. Here each row of ports makes its list once.
#[derive(Default)]
pub(super) struct PortGroups {
    /// The ports of each group, in the order in which a slice lists them.
    ports: Vec<Arc<[SlicePort]>>,
    /// The group of each row.
    of_row: Vec<usize>,
    /// Keys are sorted by value: two lists with the same ports are the same group.
    by_ports: BTreeMap<Arc<[SlicePort]>, usize>,
}

impl PortGroups {
    /// The groups of all rows (`getEndpointPorts`).
    pub(super) fn of(targets: &PortTargets<'_>, profile: &Profile) -> Self {
        let mut groups = Self::default();
        for row in targets.rows() {
            let mut ports: Vec<SlicePort> = targets
                .ports_of(row)
                .map(|(port, number)| SlicePort {
                    name: Some(port.name.clone()),
                    protocol: Some(port.protocol.clone()),
                    port: Some(number),
                    app_protocol: port.app_protocol.clone(),
                })
                .collect();
            ports.sort_unstable();
            let key: Arc<[SlicePort]> = ports.as_slice().into();
            // Different rows can make the same list, where two ports of the Service have one name.
            let group = *groups.by_ports.entry(Arc::clone(&key)).or_insert_with(|| {
                new_slice::sort_ports(&mut ports, profile.hash);
                groups.ports.push(if *key == *ports { key } else { ports.into() });
                groups.ports.len() - 1
            });
            groups.of_row.push(group);
        }
        groups
    }

    /// The group of a row.
    #[inline]
    pub(super) fn of_row(&self, row: usize) -> usize {
        self.of_row[row]
    }

    /// The group of a stored slice; `None` if no pod has its ports.
    pub(super) fn of_slice(&self, slice: &EndpointSlice, profile: &Profile) -> Option<usize> {
        let ports = listed(slice, profile)?;
        // Mostly there is one group, and slices list its ports in its order.
        if let [only] = self.ports.as_slice()
            && **only == *ports
        {
            return Some(0);
        }
        self.by_ports.get(sorted(ports).as_slice()).copied()
    }

    /// The ports of a group.
    pub(super) fn ports(&self, group: usize) -> &[SlicePort] {
        &self.ports[group]
    }

    /// Whether some pod is listed without ports.
    pub(super) fn portless(&self) -> bool {
        self.by_ports.contains_key(&[][..])
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.ports.len()
    }

    /// All groups, in the order of their ports.
    pub(super) fn in_order(&self) -> impl Iterator<Item = usize> {
        self.by_ports.values().copied()
    }
}

/// The key of the ports of a stored slice: sorted by value (`NewPortMapKey`).
pub(super) fn key_of(slice: &EndpointSlice, profile: &Profile) -> Option<Vec<SlicePort>> {
    listed(slice, profile).map(sorted)
}

fn sorted(ports: &[SlicePort]) -> Vec<SlicePort> {
    let mut key = ports.to_vec();
    key.sort_unstable();
    key
}

/// The port list of a stored slice; `None` if it is missing, and the release tells that from an empty list.
fn listed<'a>(slice: &'a EndpointSlice, profile: &Profile) -> Option<&'a [SlicePort]> {
    match &slice.ports {
        Some(ports) => Some(ports),
        None if profile.nil_ports_are_empty => Some(&[]),
        // versions.md#s17: up to 1.35 a missing list and an empty one are different keys.
        None => None,
    }
}
