//! What an index holds of each object that a server watches: the fields that rules ask for, and no others.
//! An annotation may have 256 KiB, and a cluster ten thousand Services.

use std::{convert::Infallible, net::IpAddr, sync::Arc};

use roster_admission::{KnownService, PodNetwork};
use roster_engine::model::{ContainerPort, EndpointSlice, Labels, Node, Pod, PodPhase, Service, Text, wire::nullable};
use smallvec::SmallVec;

use super::{
    fields::{
        NodeFields, PodFields, ServiceFields, SliceFields, Storage, addresses_of, endpoint_hashes, network_of, share,
        sorted_names,
    },
    live::LiveRows,
    lookups::{NodePlaces, PodAddresses, SliceEndpoints},
    table::Row,
};

/// Small rows, owned by the index.
#[derive(Debug)]
pub struct SmallRows;

impl LiveRows for SmallRows {
    type Pod = Box<PodRow>;
    type Pods = PodAddresses;
    type Service = Box<ServiceRow>;
    type Services = ();
    type Node = NodeRow;
    type Nodes = NodePlaces;
    /// No rule asks for another Endpoints object.
    type Endpoints = Infallible;
    type Slice = Arc<SliceRow>;
    type Slices = SliceEndpoints<Arc<SliceRow>>;
    type Namespace = NamespaceRow;
}

impl Storage for SmallRows {
    type Candidates = ();
}

/// A pod: it is selected by its labels; its ports, its addresses and their network, and whether it has ended count.
#[derive(Clone, Debug)]
pub struct PodRow {
    namespace: Text,
    name: Text,
    labels: Arc<Labels>,
    ports: Arc<[ContainerPort]>,
    addresses: SmallVec<[IpAddr; 1]>,
    phase: PodPhase,
    network: PodNetwork,
}

impl From<Pod> for PodRow {
    fn from(pod: Pod) -> Self {
        Self {
            namespace: pod.namespace().clone(),
            name: pod.name().clone(),
            addresses: addresses_of(&pod).collect(),
            network: network_of(&pod),
            labels: pod.labels,
            ports: pod.ports,
            phase: pod.phase,
        }
    }
}

impl Row for PodRow {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// Replicas have the same namespace, labels and ports.
    fn share(&mut self, neighbour: &Self) {
        share(&mut self.namespace, &neighbour.namespace);
        share(&mut self.labels, &neighbour.labels);
        share(&mut self.ports, &neighbour.ports);
    }
}

impl PodFields for Box<PodRow> {
    fn labels(&self) -> &Labels {
        &self.labels
    }

    fn phase(&self) -> PodPhase {
        self.phase
    }

    fn ports(&self) -> &Arc<[ContainerPort]> {
        &self.ports
    }

    fn network(&self) -> PodNetwork {
        self.network
    }

    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().copied()
    }
}

/// A Service: its name, and what rules ask of it.
#[derive(Clone, Debug)]
pub struct ServiceRow {
    namespace: Text,
    name: Text,
    known: KnownService,
}

impl From<Service> for ServiceRow {
    fn from(service: Service) -> Self {
        Self { known: (&service).into(), namespace: service.meta.namespace, name: service.meta.name }
    }
}

impl Row for ServiceRow {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl ServiceFields for Box<ServiceRow> {
    fn known(&self) -> KnownService {
        self.known
    }
}

/// A node: its zone and its addresses.
#[derive(Clone, Debug)]
pub struct NodeRow {
    name: Text,
    zone: Option<Text>,
    addresses: Box<[IpAddr]>,
}

impl From<Node> for NodeRow {
    fn from(node: Node) -> Self {
        Self { zone: node.zone().cloned(), name: node.name, addresses: node.addresses.into() }
    }
}

impl Row for NodeRow {
    fn namespace(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl NodeFields for NodeRow {
    fn zone(&self) -> Option<&Text> {
        self.zone.as_ref()
    }

    fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }
}

/// A slice: the hashes of its endpoints, and the names of its ports.
#[derive(Clone, Debug)]
pub struct SliceRow {
    namespace: Text,
    name: Text,
    ports: Box<[Text]>,
    endpoints: Box<[u64]>,
}

impl From<EndpointSlice> for SliceRow {
    fn from(slice: EndpointSlice) -> Self {
        Self {
            ports: sorted_names(slice.port_names()),
            endpoints: endpoint_hashes(&slice, &slice.meta.namespace).collect(),
            namespace: slice.meta.namespace,
            name: slice.meta.name,
        }
    }
}

impl Row for SliceRow {
    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl SliceFields for Arc<SliceRow> {
    fn port_names(&self) -> &[Text] {
        &self.ports
    }

    fn endpoints(&self) -> impl Iterator<Item = u64> {
        self.endpoints.iter().copied()
    }

    fn id(&self) -> usize {
        Self::as_ptr(self).addr()
    }
}

/// A namespace: its labels.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct NamespaceRow {
    #[serde(deserialize_with = "nullable")]
    metadata: NamespaceMeta,
}

#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
struct NamespaceMeta {
    name: Text,
    labels: Labels,
}

impl NamespaceRow {
    /// A namespace with these labels.
    pub fn new(name: &str, labels: Labels) -> Self {
        Self { metadata: NamespaceMeta { name: name.into(), labels } }
    }

    /// Its labels.
    pub fn labels(&self) -> &Labels {
        &self.metadata.labels
    }
}

impl Row for NamespaceRow {
    fn namespace(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &str {
        &self.metadata.name
    }
}

#[cfg(test)]
mod tests {
    use roster_engine::model::names;
    use serde_json::{Value, json};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(text: &Value) -> T {
        serde_json::from_value(text.clone()).unwrap()
    }

    #[test]
    fn rows_hold_only_the_fields_that_rules_ask_for() {
        let huge = "x".repeat(200_000);
        // Every field that takes free text.
        let meta = json!({
            "name": "web", "namespace": "shop", "uid": huge, "resourceVersion": huge, "generateName": huge,
            "annotations": { "note": huge }, "finalizers": [huge],
            "ownerReferences": [{ "apiVersion": huge, "kind": huge, "name": huge, "uid": huge }],
        });
        let labelled = |key: &str| {
            let mut meta = meta.clone();
            meta["labels"] = json!({ key: "a", "note": huge });
            meta
        };
        let pod = json!({
            "metadata": meta,
            "spec": {
                "nodeName": huge, "hostname": huge, "subdomain": huge,
                "readinessGates": [{ "conditionType": huge }],
                "containers": [{ "ports": [{ "name": "http", "containerPort": 80 }] }],
            },
            "status": {
                "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }],
                "conditions": [{ "type": "Ready", "status": "False", "reason": huge }],
                "containerStatuses": [{ "name": huge, "state": { "waiting": { "reason": huge } } }],
            },
        });
        let service = json!({
            "metadata": labelled("app"),
            "spec": {
                "clusterIP": "None", "selector": { "app": "web" }, "ports": [{ "name": huge, "port": 80 }],
                "trafficDistribution": huge, "internalTrafficPolicy": huge, "externalIPs": [huge], "loadBalancerIP": huge,
            },
        });
        let slice = json!({
            "metadata": labelled(names::SERVICE_NAME),
            "addressType": "IPv4",
            "endpoints": [{ "addresses": ["10.0.0.1"], "hostname": huge, "nodeName": huge, "zone": huge, "targetRef": { "name": huge } }],
            "ports": [{ "name": "http", "port": 80 }],
        });
        let node = json!({
            "metadata": labelled(names::ZONE),
            "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }, { "type": "Hostname", "address": huge }] },
        });
        for (row, fields) in [
            (format!("{:?}", PodRow::from(read::<Pod>(&pod))), ["10.0.0.1", "http"].as_slice()),
            (format!("{:?}", ServiceRow::from(read::<Service>(&service))), &["Headless", "has_selector: true"]),
            (format!("{:?}", SliceRow::from(read::<EndpointSlice>(&slice))), &["http"]),
            (format!("{:?}", NodeRow::from(read::<Node>(&node))), &["a", "10.0.0.1"]),
        ] {
            assert!(row.len() < 2_000, "{} bytes", row.len());
            for text in ["web"].iter().chain(fields) {
                assert!(row.contains(text), "{text} is not in {row}");
            }
        }
    }
}
