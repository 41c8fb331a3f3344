//! Port groups: pods that serve the same ports share slices.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    engine::{compat::Profile, ports::Targets},
    model::{EndpointSlice, SlicePort},
};

use super::blank;

/// The port groups of a Service, in the order in which they were met.
///
/// Upstream hashes the port list of every pod. Here every row of ports makes its list once.
#[derive(Default)]
pub(super) struct Groups {
    /// Ports of each group, in the order of their hashes, as they stand in a slice.
    ports: Vec<Arc<[SlicePort]>>,
    /// The group of each row.
    of_row: Vec<usize>,
    /// Keys are sorted by value: two lists with the same ports are the same group.
    by_ports: BTreeMap<Arc<[SlicePort]>, usize>,
}

impl Groups {
    /// The groups of all rows (`getEndpointPorts`).
    pub(super) fn of(targets: &Targets<'_>, profile: &Profile) -> Self {
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
                blank::sort_ports(&mut ports, profile.hash);
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

    /// The group that a stored slice belongs to, if its ports are still wanted.
    pub(super) fn of_slice(&self, slice: &EndpointSlice, profile: &Profile) -> Option<usize> {
        let ports = listed(slice, profile)?;
        // Mostly there is one group, and slices list its ports in its order.
        if let [only] = self.ports.as_slice()
            && **only == *ports
        {
            return Some(0);
        }
        let mut key = ports.to_vec();
        key.sort_unstable();
        self.by_ports.get(key.as_slice()).copied()
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

/// What the ports of a stored slice are known by, sorted (`NewPortMapKey`).
pub(super) fn key_of(slice: &EndpointSlice, profile: &Profile) -> Option<Vec<SlicePort>> {
    let mut key = listed(slice, profile)?.to_vec();
    key.sort_unstable();
    Some(key)
}

fn listed<'a>(slice: &'a EndpointSlice, profile: &Profile) -> Option<&'a [SlicePort]> {
    match &slice.ports {
        Some(ports) => Some(ports),
        None if profile.nil_ports_are_empty => Some(&[]),
        // S17: up to 1.35 no list is another key than the empty list.
        None => None,
    }
}
