//! The defaults of Pods, Endpoints and slices.

use std::sync::Arc;

use super::{Assumption, Assumptions, Defaults};
use crate::model::{ContainerPort, EndpointSlice, Endpoints, Node, Pod, Text, names};

impl Defaults<'_> {
    /// Fills in a pod. Ports of plain init containers are not read; `hostPort` neither.
    pub fn fill_pod(&self, pod: &mut Pod, assumed: &mut Assumptions) {
        if pod.reference.namespace.is_empty() {
            self.place(&mut Arc::make_mut(&mut pod.reference).namespace, assumed);
        }
        let has_defaults = pod.ports.iter().all(|p| !p.protocol.is_empty());
        if has_defaults || !self.apply_to(&pod.reference.uid, &pod.resource_version) {
            return;
        }
        let mut ports: Vec<ContainerPort> = pod.ports.to_vec();
        for port in &mut ports {
            fill_protocol(&mut port.protocol, Assumption::ContainerProtocol, assumed);
        }
        pod.ports = ports.into();
    }

    /// Gives a pod the labels for the zone and the region of its node, which `node` looks up by name.
    pub fn label_pod<'n>(&self, pod: &mut Pod, node: impl FnOnce(&str) -> Option<&'n Node>, assumed: &mut Assumptions) {
        if pod.node_name.is_empty() || !self.apply_to(&pod.reference.uid, &pod.resource_version) {
            return;
        }
        let Some(node) = node(&pod.node_name) else { return };
        let of_node = [names::ZONE, names::REGION].into_iter().filter_map(|name| Some((name, node.labels.get(name)?)));
        let news: Vec<_> = of_node.filter(|(name, value)| pod.labels.get(name) != Some(value)).collect();
        if !news.is_empty() {
            let labels = Arc::make_mut(&mut pod.labels);
            for (name, value) in news {
                labels.insert(name, value.clone());
            }
            assumed.count(Assumption::NodeLabels);
        }
    }

    /// Fills in Endpoints.
    pub fn fill_endpoints(&self, endpoints: &mut Endpoints, assumed: &mut Assumptions) {
        self.place(&mut endpoints.meta.namespace, assumed);
        if self.apply_to(&endpoints.meta.uid, &endpoints.meta.resource_version) {
            for port in endpoints.subsets.iter_mut().flat_map(|s| &mut s.ports) {
                fill_protocol(&mut port.protocol, Assumption::EndpointsProtocol, assumed);
            }
        }
    }

    /// Fills in a slice of the version v1.
    pub fn fill_slice(&self, slice: &mut EndpointSlice, assumed: &mut Assumptions) {
        self.place(&mut slice.meta.namespace, assumed);
        if !self.apply_to(&slice.meta.uid, &slice.meta.resource_version) {
            return;
        }
        for port in slice.ports.iter_mut().flatten() {
            if port.name.is_none() {
                port.name = Some(Text::default());
                assumed.count(Assumption::SlicePortName);
            }
            // An empty protocol is refused.
            if port.protocol.is_none() {
                port.protocol = Some(Text::new_static("TCP"));
                assumed.count(Assumption::SliceProtocol);
            }
        }
        // The fields of v1beta1 that v1 has for old slices are not for new ones.
        let is_old = slice.endpoints.iter_mut().filter_map(|e| e.deprecated_topology.take()).count() > 0;
        if slice.ports.take_if(|ports| ports.is_empty()).is_some() || is_old {
            assumed.normalize();
        }
    }
}

/// A protocol is TCP where none is given.
pub(super) fn fill_protocol(protocol: &mut Text, assumption: Assumption, assumed: &mut Assumptions) {
    if protocol.is_empty() {
        *protocol = Text::new_static("TCP");
        assumed.count(assumption);
    }
}
