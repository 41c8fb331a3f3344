//! States of one Service, generated from the bytes of the fuzzer.

use arbitrary::{Arbitrary, Result, Unstructured};
use serde_json::{Map, Value, json};

/// The body of a plan request.
#[derive(Debug)]
pub struct Request(pub Value);

const ADDRESSES: &[&str] = &[
    "10.0.0.1",
    "10.0.0.2",
    "10.0.0.10",
    "fd00::1",
    "fd00:0::AB",
    "::ffff:10.0.0.9",
    "010.0.0.1",
    "junk",
    "",
    "256.1.1.1",
];
const ZONES: &[&str] = &["a", "b", "c", ""];
const NAMES: &[&str] = &["http", "https", "dns", "", "no_label"];
const PROTOCOLS: &[&str] = &["TCP", "UDP", "SCTP", "", "tcp"];
const LABELS: &[&str] = &[
    "app",
    "tier",
    "kubernetes.io/service-name",
    "endpointslice.kubernetes.io/managed-by",
    "service.kubernetes.io/headless",
    "endpoints.kubernetes.io/managed-by",
    "endpointslice.kubernetes.io/skip-mirror",
];
const LABEL_VALUES: &[&str] =
    &["web", "db", "", "true", "svc", "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];
const ANNOTATIONS: &[&str] = &[
    "service.kubernetes.io/topology-mode",
    "service.kubernetes.io/topology-aware-hints",
    "service.alpha.kubernetes.io/tolerate-unready-endpoints",
    "endpoints.kubernetes.io/over-capacity",
    "endpoints.kubernetes.io/last-change-trigger-time",
    "control-plane.alpha.kubernetes.io/leader",
    "kubectl.kubernetes.io/last-applied-configuration",
];
const ANNOTATION_VALUES: &[&str] = &["Auto", "auto", "true", "false", "truncated", "2026-01-01T00:00:00Z", "x"];
const TIMES: &[&str] = &["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", "0001-01-01T00:00:00Z", "yesterday"];

impl<'a> Arbitrary<'a> for Request {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut make = Make(u);
        Ok(Self(json!({
            "service": make.maybe(Make::service)?,
            "pods": make.list(12, Make::pod)?,
            "nodes": make.list(4, Make::node)?,
            "endpoints": make.maybe(Make::endpoints)?,
            "endpointSlices": make.list(5, Make::slice)?,
            "options": {
                "compat": format!("1.{}", make.0.int_in_range(22..=37)?),
                "maxEndpointsPerSlice": make.0.int_in_range(1..=5)?,
                "defaults": make.maybe(|m| m.of(&["auto", "always", "never"]))?,
                "ipFamilies": make.maybe(|m| m.list(2, |m| m.of(&["IPv4", "IPv6"])))?,
            },
        })))
    }
}

/// The body of a view request.
#[derive(Debug)]
pub struct ViewBody(pub Value);

/// The annotations that schemes read of Services.
const KEYS: &[(&str, &str)] = &[
    ("topologyKeys", r#"["topology.kubernetes.io/zone"]"#),
    ("topologyKeys", r#"["site","topology.kubernetes.io/zone"]"#),
    ("topologyKeys", r#"["*"]"#),
    ("topologyKeys", "site"),
    ("openyurt.io/topologyKeys", "kubernetes.io/hostname"),
    ("openyurt.io/topologyKeys", "openyurt.io/nodepool"),
    ("nodeport.openyurt.io/listen", "p0,-p1"),
    ("svc.openyurt.io/discard", "true"),
];

impl<'a> Arbitrary<'a> for ViewBody {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut make = Make(u);
        Ok(Self(json!({
            "node": make.of(&["n0", "n1", "n2", "gone"])?,
            "scheme": make.of(&["kube-proxy", "superedge", "openyurt"])?,
            "ipFamily": make.of(&["IPv4", "IPv6"])?,
            "nodes": make.list(4, Make::labelled_node)?,
            "services": make.list(2, Make::keyed_service)?,
            "endpoints": make.list(2, Make::endpoints)?,
            "endpointSlices": make.list(5, Make::slice_of_service)?,
            "nodePools": make.list(2, |m| Ok(json!({
                "metadata": { "name": m.of(&["p0", "p1"])? }, "status": { "nodes": m.list(3, |m| m.of(&["n0", "n1", "n2"]))? },
            })))?,
            "options": {
                "topologyMode": make.of(&["any", "ordered"])?,
                "poolTopology": make.flag()?,
                "substituteLocalApiserver": make.flag()?,
                "healthFilter": make.flag()?,
                "health": { "n0": make.flag()?, "n1": make.flag()? },
                "defaults": make.maybe(|m| m.of(&["auto", "always", "never"]))?,
            },
        })))
    }
}

struct Make<'u, 'a>(&'u mut Unstructured<'a>);

impl<'u, 'a> Make<'u, 'a> {
    fn of(&mut self, words: &[&str]) -> Result<Value> {
        Ok((*self.0.choose(words)?).into())
    }

    fn flag(&mut self) -> Result<Value> {
        Ok(self.0.arbitrary::<bool>()?.into())
    }

    fn maybe(&mut self, make: impl FnOnce(&mut Self) -> Result<Value>) -> Result<Value> {
        if self.0.ratio(3, 4)? { make(self) } else { Ok(Value::Null) }
    }

    fn list(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> Result<Value>) -> Result<Value> {
        let n = self.0.int_in_range(0..=most)?;
        (0..n).map(|_| make(self)).collect()
    }

    fn map(&mut self, keys: &[&str], values: &[&str]) -> Result<Value> {
        let n = self.0.int_in_range(0..=3)?;
        (0..n)
            .map(|_| Ok(((*self.0.choose(keys)?).to_owned(), self.of(values)?)))
            .collect::<Result<Map<_, _>>>()
            .map(Value::from)
    }

    fn number(&mut self) -> Result<Value> {
        let known = *self.0.choose(&[0, 80, 443, 8080, 65535, 65536, 70000, -1])?;
        Ok(if self.0.ratio(1, 8)? { self.0.arbitrary::<i32>()?.into() } else { known.into() })
    }

    fn meta(&mut self, name: &str) -> Result<Value> {
        Ok(json!({
            "name": name,
            "namespace": self.of(&["ns", "ns", "ns", "other"])?,
            "uid": self.of(&["u1", "u2", ""])?,
            "resourceVersion": self.of(&["1", "2", ""])?,
            "labels": self.map(LABELS, LABEL_VALUES)?,
            "annotations": self.map(ANNOTATIONS, ANNOTATION_VALUES)?,
            "creationTimestamp": self.maybe(|m| m.of(TIMES))?,
            "deletionTimestamp": if self.0.ratio(1, 8)? { self.of(TIMES)? } else { Value::Null },
            "ownerReferences": self.list(2, |m| Ok(json!({
                "apiVersion": "v1", "kind": m.of(&["Service", "Endpoints", "Pod"])?, "name": "svc", "uid": m.of(&["u1", "u2"])?,
                "controller": true,
            })))?,
        }))
    }

    fn service(&mut self) -> Result<Value> {
        Ok(json!({
            "metadata": self.meta("svc")?,
            "spec": {
                "type": self.of(&["ClusterIP", "ExternalName", "LoadBalancer", ""])?,
                "selector": self.maybe(|m| m.map(&["app", "tier"], &["web", "db"]))?,
                "clusterIP": self.of(&["10.96.0.1", "None", "", "fd00::100", "junk"])?,
                "ipFamilies": self.maybe(|m| m.list(3, |m| m.of(&["IPv4", "IPv6", "IPv5"])))?,
                "publishNotReadyAddresses": self.flag()?,
                "trafficDistribution": self.maybe(|m| m.of(&["PreferClose", "PreferSameZone", "PreferSameNode", "x"]))?,
                "ports": self.list(4, |m| {
                    let target = if m.0.arbitrary()? { m.number()? } else { m.of(NAMES)? };
                    Ok(json!({
                        "name": m.of(NAMES)?, "port": m.number()?, "protocol": m.of(PROTOCOLS)?, "targetPort": target,
                        "appProtocol": m.maybe(|m| m.of(&["http", "kubernetes.io/h2c", ""]))?,
                    }))
                })?,
            },
        }))
    }

    fn pod(&mut self) -> Result<Value> {
        let name = format!("pod-{}", self.0.int_in_range(0..=9)?);
        let container = |m: &mut Self| {
            let ports = m.list(3, |m| {
                Ok(json!({ "name": m.of(NAMES)?, "containerPort": m.number()?, "protocol": m.of(PROTOCOLS)? }))
            })?;
            Ok(json!({ "name": "c", "restartPolicy": m.maybe(|m| m.of(&["Always", "Never"]))?, "ports": ports }))
        };
        Ok(json!({
            "metadata": self.meta(&name)?,
            "spec": {
                "nodeName": self.of(&["n0", "n1", "n2", "n3", "gone", ""])?,
                "hostname": self.of(&["", "host"])?,
                "subdomain": self.of(&["", "svc"])?,
                "containers": self.list(2, container)?,
                "initContainers": self.list(2, container)?,
            },
            "status": {
                "phase": self.of(&["Running", "Running", "Pending", "Succeeded", "Failed", ""])?,
                "podIP": self.of(ADDRESSES)?,
                "podIPs": self.list(3, |m| Ok(json!({ "ip": m.of(ADDRESSES)? })))?,
                "conditions": self.list(2, |m| Ok(json!({
                    "type": m.of(&["Ready", "PodScheduled"])?, "status": m.of(&["True", "False", "Unknown"])?,
                    "lastTransitionTime": m.maybe(|m| m.of(TIMES))?,
                })))?,
            },
        }))
    }

    fn node(&mut self) -> Result<Value> {
        let name = format!("n{}", self.0.int_in_range(0..=3)?);
        let zone = self.maybe(|m| m.of(ZONES))?;
        let mut labels = Map::new();
        if !zone.is_null() {
            labels.insert("topology.kubernetes.io/zone".to_owned(), zone);
        }
        if self.0.ratio(1, 8)? {
            labels.insert("node-role.kubernetes.io/control-plane".to_owned(), "".into());
        }
        Ok(json!({
            "metadata": { "name": name, "labels": labels },
            "status": {
                "allocatable": { "cpu": self.of(&["1", "500m", "0", "1e3", "9223372036854775807", "-1", "0.0000001n", "x"])? },
                "conditions": [{ "type": "Ready", "status": self.of(&["True", "False"])? }],
            },
        }))
    }

    /// A node with some of the labels that schemes read.
    fn labelled_node(&mut self) -> Result<Value> {
        let mut node = self.node()?;
        for (label, values) in [("site", &["a", "b"]), ("apps.openyurt.io/nodepool", &["p0", "p1"])] {
            let value = self.maybe(|m| m.of(values))?;
            if !value.is_null() {
                node["metadata"]["labels"][label] = value;
            }
        }
        Ok(node)
    }

    /// A Service with topology keys and traffic policies.
    fn keyed_service(&mut self) -> Result<Value> {
        let mut service = self.service()?;
        let (annotation, value) = *self.0.choose(KEYS)?;
        service["metadata"]["namespace"] = "ns".into();
        service["metadata"]["annotations"][annotation] = value.into();
        service["spec"]["internalTrafficPolicy"] = self.of(&["Cluster", "Local"])?;
        service["spec"]["externalTrafficPolicy"] = self.of(&["Cluster", "Local"])?;
        Ok(service)
    }

    /// A slice, most often of the Service.
    fn slice_of_service(&mut self) -> Result<Value> {
        let mut slice = self.slice()?;
        if self.0.ratio(7, 8)? {
            slice["metadata"]["namespace"] = "ns".into();
            slice["metadata"]["labels"]["kubernetes.io/service-name"] = "svc".into();
        }
        Ok(slice)
    }

    fn target(&mut self) -> Result<Value> {
        self.maybe(|m| {
            Ok(json!({ "kind": "Pod", "namespace": "ns", "name": format!("pod-{}", m.0.int_in_range(0..=9)?), "uid": m.of(&["u1", "u2"])? }))
        })
    }

    fn port(&mut self) -> Result<Value> {
        Ok(json!({
            "name": self.maybe(|m| m.of(NAMES))?, "port": self.maybe(Self::number)?, "protocol": self.maybe(|m| m.of(PROTOCOLS))?,
            "appProtocol": self.maybe(|m| m.of(&["http", ""]))?,
        }))
    }

    fn endpoints(&mut self) -> Result<Value> {
        let address = |m: &mut Self| {
            Ok(json!({
                "ip": m.of(ADDRESSES)?, "hostname": m.of(&["", "host"])?, "nodeName": m.maybe(|m| m.of(&["n0", ""]))?,
                "targetRef": m.target()?,
            }))
        };
        Ok(json!({
            "metadata": self.meta("svc")?,
            "subsets": self.list(4, |m| Ok(json!({
                "addresses": m.list(6, address)?, "notReadyAddresses": m.list(3, address)?, "ports": m.list(3, Self::port)?,
            })))?,
        }))
    }

    fn slice(&mut self) -> Result<Value> {
        let name = format!("svc-{}", self.0.int_in_range(0..=9)?);
        Ok(json!({
            "metadata": self.meta(&name)?,
            "addressType": self.of(&["IPv4", "IPv6", "FQDN", ""])?,
            "ports": self.maybe(|m| m.list(3, Self::port))?,
            "endpoints": self.maybe(|m| m.list(6, |m| Ok(json!({
                "addresses": m.list(2, |m| m.of(ADDRESSES))?,
                "conditions": { "ready": m.maybe(Self::flag)?, "serving": m.maybe(Self::flag)?, "terminating": m.maybe(Self::flag)? },
                "hostname": m.maybe(|m| m.of(&["host", ""]))?,
                "nodeName": m.maybe(|m| m.of(&["n0", "n1", ""]))?,
                "zone": m.maybe(|m| m.of(ZONES))?,
                "targetRef": m.target()?,
                "hints": m.maybe(|m| Ok(json!({
                    "forZones": m.list(2, |m| Ok(json!({ "name": m.of(ZONES)? })))?,
                    "forNodes": m.list(1, |m| Ok(json!({ "name": m.of(&["n0", ""])? })))?,
                })))?,
            }))))?,
        }))
    }
}
