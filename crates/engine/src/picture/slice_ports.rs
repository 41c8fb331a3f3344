//! Which ports of a Service each slice has.

use std::collections::BTreeMap;

use crate::model::{EndpointSlice, ServicePort, SlicePort, protocol_or_tcp};

/// The ports of a Service that each of its slices has, by their places.
#[derive(Debug, Default)]
pub(super) struct SlicePorts {
    of_slices: Vec<Vec<usize>>,
    service_has_ports: bool,
}

impl SlicePorts {
    pub(super) fn of(ports: &[ServicePort], slices: &[&EndpointSlice]) -> Self {
        let mut by_name: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (place, port) in ports.iter().enumerate() {
            by_name.entry((&port.name, protocol_or_tcp(&port.protocol))).or_insert(place);
        }
        let place = |port: &SlicePort| {
            let name = port.name.as_deref().unwrap_or_default();
            let protocol = protocol_or_tcp(port.protocol.as_deref().unwrap_or_default());
            by_name.get(&(name, protocol)).copied()
        };
        let of_slice = |slice: &&EndpointSlice| slice.ports.iter().flatten().filter_map(place).collect();
        Self { of_slices: slices.iter().map(of_slice).collect(), service_has_ports: !ports.is_empty() }
    }

    /// The ports that a slice has.
    pub(super) fn of_slice(&self, slice: usize) -> &[usize] {
        &self.of_slices[slice]
    }

    /// Whether clients of the Service use a slice: a Service without ports is asked for addresses only.
    pub(super) fn is_used(&self, slice: usize) -> bool {
        !self.service_has_ports || !self.of_slices[slice].is_empty()
    }
}
