//! What is kept of an object: what rules ask about, and nothing beside it. An annotation may have 256 KiB, and a cluster
//! ten thousand Services.

use std::sync::Arc;

use super::Object;
use crate::model::{Endpoint, EndpointSlice, Node, ObjectMeta, ObjectRef, Pod, Readiness, Service, Text, names};

impl Object {
    /// Without what nobody asks about. Done when it is stored; a list, which is complete before that, need not hold the
    /// rest meanwhile.
    #[must_use]
    pub fn slim(self) -> Self {
        match self {
            Self::Pod(pod) => Self::Pod(Box::new(slim_pod(*pod))),
            Self::Service(service) => Self::Service(Box::new(slim_service(*service))),
            Self::Node(node) => Self::Node(Box::new(slim_node(*node))),
            Self::Slice(slice) => Self::Slice(Box::new(slim_slice(*slice))),
            Self::Namespace(name, labels) => Self::Namespace(name, labels),
        }
    }
}

// Every field is named: one that is new has to be judged here.

/// It is selected by its labels; its ports, its addresses, and whether it has ended count.
fn slim_pod(pod: Pod) -> Pod {
    let Pod {
        reference,
        resource_version: _,
        labels,
        deleting,
        node_name: _,
        hostname: _,
        subdomain: _,
        ports,
        phase,
        has_pod_ip,
        pod_ip_family,
        ips,
        readiness: _,
    } = pod;
    let ObjectRef { namespace, name, .. } = &*reference;
    Pod {
        reference: Arc::new(ObjectRef { namespace: namespace.clone(), name: name.clone(), ..ObjectRef::default() }),
        resource_version: Text::default(),
        labels,
        deleting,
        node_name: Text::default(),
        hostname: Text::default(),
        subdomain: Text::default(),
        ports,
        phase,
        has_pod_ip,
        pod_ip_family,
        ips,
        // No rule asks for it, and why a pod is not ready may be long.
        readiness: Readiness::Ready,
    }
}

/// Whether it is there, of which type, with a selector, and headless.
fn slim_service(service: Service) -> Service {
    let Service {
        meta,
        kind,
        selector,
        ports: _,
        cluster_ip,
        families: _,
        publish_not_ready: _,
        traffic_distribution: _,
        internal_traffic_policy: _,
        external_ips: _,
        load_balancer_ip: _,
    } = service;
    Service { meta: named(meta), kind, selector, cluster_ip, ..Service::default() }
}

/// Its zone.
fn slim_node(node: Node) -> Node {
    let Node { name, mut labels, ready: _, cpu_nano: _ } = node;
    labels.retain(|key, _| key == names::ZONE);
    Node { name, labels, ..Node::default() }
}

/// Its Service, its addresses, and the names of its ports.
fn slim_slice(slice: EndpointSlice) -> EndpointSlice {
    let EndpointSlice { mut meta, address_type, endpoints, ports } = slice;
    let mut labels = std::mem::take(&mut meta.labels);
    labels.retain(|key, _| key == names::SERVICE_NAME);
    let addresses = |e: Endpoint| Endpoint { addresses: e.addresses, ..Endpoint::default() };
    EndpointSlice {
        meta: ObjectMeta { labels, ..named(meta) },
        address_type,
        endpoints: endpoints.into_iter().map(addresses).collect(),
        ports,
    }
}

fn named(meta: ObjectMeta) -> ObjectMeta {
    ObjectMeta { name: meta.name, namespace: meta.namespace, ..ObjectMeta::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(text: &Value) -> T {
        serde_json::from_value(text.clone()).unwrap()
    }

    #[test]
    fn what_nobody_asks_about_is_not_kept() {
        let huge = "x".repeat(200_000);
        // Everything that a writer may fill with text of his own.
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
        for (object, kept) in [
            (Object::Pod(Box::new(read(&pod))), ["10.0.0.1", "http"].as_slice()),
            (Object::Service(Box::new(read(&service))), &["None", "app"]),
            (Object::Slice(Box::new(read(&slice))), &["10.0.0.1", "http", names::SERVICE_NAME]),
            (Object::Node(Box::new(read(&json!({ "metadata": labelled(names::ZONE) })))), &[names::ZONE]),
        ] {
            assert!(format!("{object:?}").len() > 200_000);
            let slim = format!("{:?}", object.slim());
            assert!(slim.len() < 2_000, "{} bytes", slim.len());
            for text in ["web"].iter().chain(kept) {
                assert!(slim.contains(text), "{text} is not in {slim}");
            }
        }
    }
}
