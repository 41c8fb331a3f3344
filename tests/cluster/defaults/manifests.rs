//! Random manifests as people write them: most fields are missing, some are null, empty or wrong.

use serde_json::{Map, Value, json};

use crate::parity::rng::Rng;

/// The node that some pods name.
pub(super) const NODE: &str = "node-1";

/// The `index`th manifest: a Service, a Pod, Endpoints or a slice.
pub(super) fn manifest(seed: u64, index: u64) -> Value {
    let mut rng = Rng::new(seed, index);
    match rng.weighted(&[(50, "Service"), (20, "Pod"), (15, "Endpoints"), (15, "EndpointSlice")]) {
        "Service" => service(&mut rng, index),
        "Pod" => pod(&mut rng, index),
        "Endpoints" => endpoints(&mut rng, index),
        _ => slice(&mut rng, index),
    }
}

/// An object whose fields may be missing.
#[derive(Default)]
struct Sparse(Map<String, Value>);

impl Sparse {
    /// Sets a field to one of the values, each as likely as its weight says, or leaves it out with `missing`.
    fn one_of(&mut self, rng: &mut Rng, name: &str, missing: usize, values: &[(usize, Value)]) {
        let mut at = rng.below(missing + values.iter().map(|(weight, _)| weight).sum::<usize>());
        for (weight, value) in values {
            if at < *weight {
                self.set(name, value.clone());
                return;
            }
            at -= weight;
        }
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Sets it in `percent` of all cases.
    fn maybe(&mut self, rng: &mut Rng, percent: u32, name: &str, value: impl FnOnce(&mut Rng) -> Value) {
        if rng.percent(percent) {
            let value = value(rng);
            self.set(name, value);
        }
    }

    fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

fn metadata(rng: &mut Rng, kind: &str, index: u64) -> Sparse {
    let mut meta = Sparse::default();
    meta.set("name", format!("{}-{index}", kind.to_lowercase()));
    meta.one_of(rng, "namespace", 60, &[(30, json!("default")), (5, json!("")), (5, Value::Null)]);
    for map in ["labels", "annotations"] {
        meta.one_of(rng, map, 60, &[(10, json!({})), (5, Value::Null), (25, json!({ "app": "web", "empty": "" }))]);
    }
    meta.one_of(rng, "creationTimestamp", 90, &[(10, Value::Null)]);
    meta
}

fn object(api_version: &str, kind: &str, metadata: Sparse) -> Sparse {
    let mut object = Sparse::default();
    object.set("apiVersion", api_version);
    object.set("kind", kind);
    object.set("metadata", metadata.into_value());
    object
}

fn protocol(rng: &mut Rng, of: &mut Sparse) {
    let values = [(5, Value::Null), (8, json!("")), (15, json!("TCP")), (15, json!("UDP")), (3, json!("SCTP"))];
    of.one_of(rng, "protocol", 50, &values);
    if rng.percent(1) {
        of.set("protocol", "tcp");
    }
}

fn port_number(rng: &mut Rng) -> Value {
    rng.weighted(&[(96, None), (2, Some(0)), (2, Some(70_000))])
        .map_or_else(|| json!(rng.between(1, 65_535)), Value::from)
}

/// A name for the `i`th of `count` ports: several need one.
fn port_name(rng: &mut Rng, of: &mut Sparse, i: usize, count: usize) {
    let named = if count > 1 { 96 } else { 40 };
    if rng.percent(named) {
        of.set("name", format!("p{}", if rng.percent(2) { 0 } else { i }));
    } else {
        of.one_of(rng, "name", 60, &[(20, Value::Null), (20, json!(""))]);
    }
}

fn service(rng: &mut Rng, index: u64) -> Value {
    let mut spec = Sparse::default();
    let kind = rng.weighted(&[
        (58, None),
        (5, Some("")),
        (12, Some("ClusterIP")),
        (8, Some("NodePort")),
        (8, Some("LoadBalancer")),
        (9, Some("ExternalName")),
    ]);
    if let Some(kind) = kind {
        spec.set("type", kind);
    } else {
        spec.one_of(rng, "type", 95, &[(5, Value::Null)]);
    }
    let named = kind == Some("ExternalName");
    let exposed = matches!(kind, Some("NodePort" | "LoadBalancer"));
    if named {
        spec.maybe(rng, 97, "externalName", |_| json!("example.org"));
    }
    let headless = if named || exposed { 3 } else { 35 };
    let wanted = if named { 1 } else { 4 };
    spec.one_of(
        rng,
        "clusterIP",
        50,
        &[
            (headless, json!("None")),
            (8, json!("")),
            (4, Value::Null),
            (wanted, json!("10.96.7.7")),
            (wanted, json!("fd00:10:96::77")),
        ],
    );
    let none = json!({});
    spec.one_of(rng, "selector", 25, &[(12, none), (5, Value::Null), (60, json!({ "app": "web" }))]);
    let count = rng.weighted(&[(if named { 40 } else { 12 }, 0), (60, 1), (20, 2), (8, 3)]);
    let ports: Vec<Value> = (0..count).map(|i| service_port(rng, i, count)).collect();
    if count > 0 || rng.percent(40) {
        spec.set("ports", ports);
    }
    families(rng, &mut spec, named);
    service_policies(rng, &mut spec, named, exposed);
    let metadata = metadata(rng, "service", index);
    let mut service = object("v1", "Service", metadata);
    service.set("spec", spec.into_value());
    service.maybe(rng, 5, "status", |_| json!({ "loadBalancer": {} }));
    service.into_value()
}

fn service_port(rng: &mut Rng, i: usize, count: usize) -> Value {
    let mut port = Sparse::default();
    port.set("port", port_number(rng));
    port_name(rng, &mut port, i, count);
    protocol(rng, &mut port);
    let target = rng.between(1, 65_535);
    port.one_of(
        rng,
        "targetPort",
        40,
        &[
            (5, Value::Null),
            (6, json!(0)),
            (6, json!("")),
            (18, json!(target)),
            (20, json!("http")),
            (2, json!("8080")),
        ],
    );
    port.one_of(rng, "appProtocol", 85, &[(5, Value::Null), (9, json!("kubernetes.io/h2c")), (1, json!(""))]);
    port.one_of(rng, "nodePort", 96, &[(3, json!(0)), (1, json!(30_080))]);
    port.into_value()
}

fn families(rng: &mut Rng, spec: &mut Sparse, named: bool) {
    if named && rng.percent(90) {
        return;
    }
    spec.one_of(
        rng,
        "ipFamilyPolicy",
        50,
        &[
            (5, Value::Null),
            (1, json!("")),
            (12, json!("SingleStack")),
            (20, json!("PreferDualStack")),
            (12, json!("RequireDualStack")),
        ],
    );
    spec.one_of(
        rng,
        "ipFamilies",
        50,
        &[
            (4, Value::Null),
            (4, json!([])),
            (12, json!(["IPv4"])),
            (12, json!(["IPv6"])),
            (9, json!(["IPv4", "IPv6"])),
            (9, json!(["IPv6", "IPv4"])),
        ],
    );
}

fn service_policies(rng: &mut Rng, spec: &mut Sparse, named: bool, exposed: bool) {
    let policies = [(5, Value::Null), (10, json!("Cluster")), (10, json!("Local")), (1, json!(""))];
    spec.one_of(rng, "internalTrafficPolicy", 74, &policies);
    if exposed {
        spec.one_of(rng, "externalTrafficPolicy", 60, &[(10, json!("")), (15, json!("Cluster")), (15, json!("Local"))]);
    }
    let affinities = [(5, json!("")), (5, Value::Null), (8, json!("None")), (8, json!("ClientIP"))];
    spec.one_of(rng, "sessionAffinity", 74, &affinities);
    let flags = [(8, json!(true)), (6, json!(false)), (4, Value::Null)];
    spec.one_of(rng, "publishNotReadyAddresses", 82, &flags);
    let distributions = [
        (4, json!("PreferClose")),
        (4, json!("PreferSameZone")),
        (4, json!("PreferSameNode")),
        (2, Value::Null),
        (1, json!("")),
    ];
    spec.one_of(rng, "trafficDistribution", 85, &distributions);
    spec.one_of(rng, "externalIPs", 90, &[(3, Value::Null), (3, json!([])), (4, json!(["203.0.113.5"]))]);
    if !named {
        spec.one_of(rng, "loadBalancerIP", 94, &[(3, json!("")), (3, json!("203.0.113.6"))]);
    }
}

fn pod(rng: &mut Rng, index: u64) -> Value {
    let mut spec = Sparse::default();
    let host = rng.weighted(&[(75, None), (8, Some(false)), (17, Some(true))]);
    if let Some(host) = host {
        spec.set("hostNetwork", host);
    }
    let count = rng.weighted(&[(60, 1), (30, 2), (10, 3)]);
    let containers: Vec<Value> = (0..count).map(|i| container(rng, "c", i, host == Some(true))).collect();
    spec.set("containers", containers);
    if rng.percent(30) {
        let count = rng.between(1, 2);
        let containers: Vec<Value> = (0..count).map(|i| init_container(rng, i, host == Some(true))).collect();
        spec.set("initContainers", containers);
    }
    spec.one_of(rng, "restartPolicy", 85, &[(5, json!("")), (5, json!("Always")), (5, json!("Never"))]);
    spec.one_of(rng, "nodeName", 70, &[(3, json!("")), (17, json!(NODE)), (10, json!("node-unknown"))]);
    spec.one_of(rng, "hostname", 84, &[(3, json!("")), (3, Value::Null), (9, json!("host")), (1, json!("Host"))]);
    spec.one_of(rng, "subdomain", 84, &[(3, json!("")), (3, Value::Null), (10, json!("web"))]);
    spec.one_of(rng, "readinessGates", 90, &[(5, json!([])), (5, json!([{ "conditionType": "example.org/lb" }]))]);
    let mut metadata = metadata(rng, "pod", index);
    if rng.percent(5) {
        metadata.set("labels", json!({ "topology.kubernetes.io/zone": "written-by-hand" }));
    }
    let mut pod = object("v1", "Pod", metadata);
    pod.set("spec", spec.into_value());
    pod.into_value()
}

fn container(rng: &mut Rng, name: &str, i: usize, host: bool) -> Value {
    let mut container = Sparse::default();
    container.set("name", format!("{name}{i}"));
    container.set("image", "example.org/web:1");
    let count = rng.weighted(&[(25, 0), (45, 1), (30, 2)]);
    let ports: Vec<Value> = (0..count).map(|i| container_port(rng, i, host)).collect();
    if count > 0 || rng.percent(30) {
        container.set("ports", ports);
    }
    container.into_value()
}

fn init_container(rng: &mut Rng, i: usize, host: bool) -> Value {
    let mut container = container(rng, "i", i, host);
    if rng.percent(60) {
        container["restartPolicy"] = "Always".into();
    }
    container
}

fn container_port(rng: &mut Rng, i: usize, host: bool) -> Value {
    let mut port = Sparse::default();
    let number = port_number(rng);
    port.set("containerPort", number.clone());
    protocol(rng, &mut port);
    port.one_of(
        rng,
        "name",
        40,
        &[(8, json!("")), (5, Value::Null), (45, json!(format!("p{i}"))), (2, json!("UPPER"))],
    );
    if host {
        port.one_of(rng, "hostPort", 60, &[(20, json!(0)), (15, number), (3, json!(1))]);
    } else {
        port.one_of(rng, "hostPort", 92, &[(6, json!(0)), (2, json!(8080))]);
    }
    port.into_value()
}

fn address(rng: &mut Rng) -> String {
    let text = rng.weighted(&[(60, "v4"), (30, "v6"), (2, "010.0.0.1"), (2, "FD00::1"), (2, "127.0.0.1"), (2, "x")]);
    match text {
        "v4" => format!("10.1.{}.{}", rng.below(256), rng.between(1, 254)),
        "v6" => format!("fd00::{:x}", rng.between(1, 0xffff)),
        other => other.to_owned(),
    }
}

fn reference(rng: &mut Rng) -> Value {
    let mut reference = Sparse::default();
    reference.set("kind", "Pod");
    reference.set("name", "web-1");
    reference.one_of(rng, "namespace", 50, &[(45, json!("default")), (5, json!(""))]);
    reference.one_of(rng, "uid", 70, &[(30, json!("0b8e1c1e-0000-4000-8000-000000000001"))]);
    reference.into_value()
}

fn endpoints(rng: &mut Rng, index: u64) -> Value {
    let count = rng.weighted(&[(8, 0), (65, 1), (27, 2)]);
    let subsets: Vec<Value> = (0..count).map(|_| subset(rng)).collect();
    let metadata = metadata(rng, "endpoints", index);
    let mut endpoints = object("v1", "Endpoints", metadata);
    if count > 0 || rng.percent(50) {
        endpoints.set("subsets", subsets);
    }
    endpoints.into_value()
}

fn subset(rng: &mut Rng) -> Value {
    let mut subset = Sparse::default();
    for (list, percent) in [("addresses", 90), ("notReadyAddresses", 25)] {
        subset.maybe(rng, percent, list, |rng| (0..rng.between(1, 3)).map(|_| endpoint_address(rng)).collect());
    }
    let count = rng.weighted(&[(15, 0), (55, 1), (30, 2)]);
    let ports: Vec<Value> = (0..count).map(|i| endpoint_port(rng, i, count)).collect();
    if count > 0 || rng.percent(50) {
        subset.set("ports", ports);
    }
    subset.into_value()
}

fn endpoint_address(rng: &mut Rng) -> Value {
    let mut one = Sparse::default();
    one.set("ip", address(rng));
    one.one_of(rng, "hostname", 80, &[(5, json!("")), (13, json!("host")), (2, json!("Host"))]);
    one.one_of(rng, "nodeName", 80, &[(5, Value::Null), (13, json!(NODE)), (2, json!(""))]);
    one.maybe(rng, 25, "targetRef", reference);
    one.into_value()
}

fn endpoint_port(rng: &mut Rng, i: usize, count: usize) -> Value {
    let mut port = Sparse::default();
    port.set("port", port_number(rng));
    port_name(rng, &mut port, i, count);
    protocol(rng, &mut port);
    port.one_of(rng, "appProtocol", 85, &[(5, Value::Null), (10, json!("http"))]);
    port.into_value()
}

fn slice(rng: &mut Rng, index: u64) -> Value {
    let family = rng.weighted(&[(60, "IPv4"), (30, "IPv6"), (5, "FQDN"), (1, "ipv4")]);
    let mut metadata = metadata(rng, "slice", index);
    metadata.maybe(rng, 70, "labels", |_| json!({ "kubernetes.io/service-name": "web" }));
    let mut slice = object("discovery.k8s.io/v1", "EndpointSlice", metadata);
    slice.maybe(rng, 99, "addressType", |_| json!(family));
    let count = rng.weighted(&[(12, 0), (50, 1), (38, 2)]);
    let endpoints: Vec<Value> = (0..count).map(|_| slice_endpoint(rng, family)).collect();
    if count > 0 || rng.percent(60) {
        slice.set("endpoints", endpoints);
    }
    let count = rng.weighted(&[(20, 0), (50, 1), (30, 2)]);
    let ports: Vec<Value> = (0..count).map(|i| slice_port(rng, i, count)).collect();
    if count > 0 || rng.percent(60) {
        slice.set("ports", ports);
    } else {
        slice.one_of(rng, "ports", 50, &[(50, Value::Null)]);
    }
    slice.into_value()
}

fn slice_endpoint(rng: &mut Rng, family: &str) -> Value {
    let mut one = Sparse::default();
    let text = match family {
        _ if rng.percent(4) => address(rng),
        "IPv6" => format!("fd00::{:x}", rng.between(1, 0xffff)),
        "FQDN" => "web.example.org".to_owned(),
        _ => format!("10.1.{}.{}", rng.below(256), rng.between(1, 254)),
    };
    one.set("addresses", [text]);
    let conditions = [
        (5, Value::Null),
        (10, json!({})),
        (15, json!({ "ready": true })),
        (8, json!({ "ready": false, "serving": null })),
        (8, json!({ "serving": true, "terminating": false })),
    ];
    one.one_of(rng, "conditions", 54, &conditions);
    one.one_of(rng, "hostname", 85, &[(5, Value::Null), (9, json!("host")), (1, json!(""))]);
    one.one_of(rng, "nodeName", 80, &[(5, Value::Null), (14, json!(NODE)), (1, json!(""))]);
    one.one_of(rng, "zone", 80, &[(5, Value::Null), (12, json!("zone-a")), (3, json!(""))]);
    let hints = [
        (4, Value::Null),
        (4, json!({})),
        (6, json!({ "forZones": [{ "name": "zone-a" }] })),
        (3, json!({ "forZones": [], "forNodes": [{ "name": NODE }] })),
    ];
    one.one_of(rng, "hints", 83, &hints);
    let topologies = [(3, json!({})), (6, json!({ "kubernetes.io/hostname": NODE, "other": "x" }))];
    one.one_of(rng, "deprecatedTopology", 91, &topologies);
    one.maybe(rng, 25, "targetRef", reference);
    one.into_value()
}

fn slice_port(rng: &mut Rng, i: usize, count: usize) -> Value {
    let mut port = Sparse::default();
    if rng.percent(92) {
        port.set("port", port_number(rng));
    } else {
        port.one_of(rng, "port", 50, &[(50, Value::Null)]);
    }
    port_name(rng, &mut port, i, count);
    port.one_of(
        rng,
        "protocol",
        55,
        &[(6, Value::Null), (1, json!("")), (18, json!("TCP")), (15, json!("UDP")), (3, json!("SCTP"))],
    );
    port.one_of(rng, "appProtocol", 85, &[(5, Value::Null), (9, json!("http")), (1, json!(""))]);
    port.into_value()
}
