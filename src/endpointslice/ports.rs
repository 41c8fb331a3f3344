//! Port groups: pods that serve the same ports share slices.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::{
    compat::Profile,
    model::{EndpointSlice, Pod, Service, SlicePort},
    select,
};

use super::blank;

/// The number of each Service port in a pod; `None` where the pod does not have it.
type Numbers = SmallVec<[Option<i32>; 4]>;

/// The port groups of a Service, in the order in which they were met.
///
/// Upstream hashes the port list of every pod. Here a pod is looked up by its numbers alone, and mostly
/// not even that: it has the same ones as the pod before.
pub(super) struct Groups {
    /// Ports of each group, in the order of their hashes, as they stand in a slice.
    ports: Vec<Vec<SlicePort>>,
    by_numbers: BTreeMap<Numbers, usize>,
    /// Keys are sorted by value: two lists with the same ports are the same group.
    by_ports: BTreeMap<Vec<SlicePort>, usize>,
    last: Option<(Numbers, usize)>,
}

impl Groups {
    /// No groups yet.
    pub(super) fn new() -> Self {
        Self { ports: Vec::new(), by_numbers: BTreeMap::new(), by_ports: BTreeMap::new(), last: None }
    }

    /// The group of a pod, made if it is the first one of it (`getEndpointPorts`).
    pub(super) fn of_pod(&mut self, service: &Service, pod: &Pod, profile: &Profile) -> usize {
        let find = |p| select::find_port(pod, p, profile.sidecar_ports_slices);
        if let Some((numbers, group)) = &self.last
            && service.ports.iter().map(find).eq(numbers.iter().copied())
        {
            return *group;
        }
        let numbers: Numbers = service.ports.iter().map(find).collect();
        let group = match self.by_numbers.get(&numbers) {
            Some(group) => *group,
            None => self.add(service, &numbers, profile),
        };
        self.last = Some((numbers, group));
        group
    }

    fn add(&mut self, service: &Service, numbers: &Numbers, profile: &Profile) -> usize {
        let mut ports: Vec<SlicePort> = service
            .ports
            .iter()
            .zip(numbers)
            .filter_map(|(port, number)| {
                Some(SlicePort {
                    name: Some(port.name.clone()),
                    protocol: Some(port.protocol.clone()),
                    port: Some((*number)?),
                    app_protocol: port.app_protocol.clone(),
                })
            })
            .collect();
        let mut key = ports.clone();
        key.sort_unstable();
        // Different numbers can make the same list, where two ports of the Service have one name.
        let group = *self.by_ports.entry(key).or_insert_with(|| {
            blank::sort_ports(&mut ports, profile.hash);
            self.ports.push(ports);
            self.ports.len() - 1
        });
        self.by_numbers.insert(numbers.clone(), group);
        group
    }

    /// The group that a stored slice belongs to, if its ports are still wanted.
    pub(super) fn of_slice(&self, slice: &EndpointSlice, profile: &Profile) -> Option<usize> {
        let ports = match &slice.ports {
            Some(ports) => ports.as_slice(),
            None if profile.nil_ports_are_empty => &[],
            // S17: up to 1.35 no list is another key than the empty list.
            None => return None,
        };
        if let Some((_, last)) = &self.last
            && self.ports[*last] == ports
        {
            return Some(*last);
        }
        let mut key = ports.to_vec();
        key.sort_unstable();
        self.by_ports.get(&key).copied()
    }

    /// The ports of a group.
    pub(super) fn ports(&self, group: usize) -> &[SlicePort] {
        &self.ports[group]
    }

    /// Whether some pod is listed without ports.
    pub(super) fn portless(&self) -> bool {
        self.by_ports.contains_key(&Vec::new())
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
