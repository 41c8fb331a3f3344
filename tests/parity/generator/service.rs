//! Random Services.

use serde_json::{Map, Value, json};

use super::super::rng::Rng;
use super::{Mood, NAMESPACE, set};

/// The last one is 63 long: the generated name of a slice is cut.
const NAMES: [&str; 6] =
    ["web", "db", "svc", "api-v1", "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaxyz"];
const HINTS: [&str; 2] = ["service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints"];
const TOLERATE: &str = "service.alpha.kubernetes.io/tolerate-unready-endpoints";
/// What Go's `ParseBool` takes, and near misses.
const BOOLS: [&str; 17] =
    ["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False", "yes", "", "tRUE", " true", "on"];
/// Labels that a controller writes itself, on an object where a user wrote them.
const RESERVED: [(&str, &str); 10] = [
    ("kubernetes.io/service-name", "spoof"),
    ("kubernetes.io/service-name", "web"),
    ("endpointslice.kubernetes.io/managed-by", "me"),
    ("endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"),
    ("service.kubernetes.io/headless", ""),
    ("service.kubernetes.io/headless", "true"),
    ("endpoints.kubernetes.io/managed-by", "endpoint-controller"),
    ("endpoints.kubernetes.io/managed-by", "me"),
    ("endpointslice.kubernetes.io/skip-mirror", "true"),
    ("endpointslice.kubernetes.io/skip-mirror", "false"),
];
pub(crate) const PORT_NAMES: [&str; 5] = ["http", "web", "dns", "metrics", "side"];

pub(crate) fn service(r: &mut Rng, m: &Mood, controller: &str) -> Value {
    let name = r.pick(&NAMES);
    let mut meta = json!({ "name": name, "namespace": NAMESPACE, "uid": r.uid(), "resourceVersion": "7", "creationTimestamp": r.time() });
    set(&mut meta, "labels", labels(r, m));
    set(&mut meta, "annotations", annotations(r, m, controller));
    if r.percent(3) {
        meta["deletionTimestamp"] = r.time().into();
        meta["finalizers"] = json!(["example.org/f"]);
    }
    if r.percent(m.odd / 3) {
        meta.as_object_mut().unwrap().remove("creationTimestamp");
    }
    let mut spec = json!({});
    set(
        &mut spec,
        "type",
        r.weighted(&[
            (70, Some("ClusterIP")),
            (10, Some("NodePort")),
            (10, Some("LoadBalancer")),
            (4, Some("ExternalName")),
            (6, None),
        ]),
    );
    if spec["type"] == "ExternalName" {
        spec["externalName"] = "example.org".into();
    }
    set(&mut spec, "selector", selector(r, m, controller));
    set(&mut spec, "ports", ports(r, m));
    families(r, m, &mut spec);
    if r.percent(22) {
        spec["publishNotReadyAddresses"] = r.percent(85).into();
    }
    set(&mut spec, "trafficDistribution", traffic_distribution(r, m));
    if r.percent(20) {
        spec["sessionAffinity"] = "None".into();
        spec["internalTrafficPolicy"] = r.pick(&["Cluster", "Local"]).into();
    }
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec })
}

pub(crate) fn labels(r: &mut Rng, m: &Mood) -> Value {
    if r.percent(12) {
        return if r.percent(50) { Value::Null } else { json!({}) };
    }
    let mut labels = Map::new();
    for key in ["app", "team", "tier"] {
        if r.percent(45) {
            labels.insert(key.into(), r.pick(&["x", "y", ""]).into());
        }
    }
    while r.percent(m.odd * 2) {
        let (key, value) = r.pick(&RESERVED);
        labels.insert(key.into(), value.into());
    }
    labels.into()
}

pub(crate) fn annotations(r: &mut Rng, m: &Mood, controller: &str) -> Value {
    let mut notes = Map::new();
    let hinted = if m.zones { 65 } else { 18 };
    if controller != "mirroring" && r.percent(hinted) {
        let value = r.weighted(&[
            (45, "Auto"),
            (25, "auto"),
            (8, "Disabled"),
            (6, "disabled"),
            (6, "AUTO"),
            (5, ""),
            (5, "PreferZone"),
        ]);
        let key = r.weighted(&[(70, HINTS[0]), (30, HINTS[1])]);
        notes.insert(key.into(), value.into());
        if r.percent(8) {
            let other = if key == HINTS[0] { HINTS[1] } else { HINTS[0] };
            notes.insert(other.into(), r.pick(&["Auto", "auto", "disabled", ""]).into());
        }
    }
    if controller != "mirroring" && r.percent(6 + m.odd) {
        notes.insert(TOLERATE.into(), r.pick(&BOOLS).into());
    }
    if r.percent(10) {
        notes.insert("example.org/owner".into(), "team-a".into());
    }
    if notes.is_empty() { Value::Null } else { notes.into() }
}

pub(crate) fn selector(r: &mut Rng, m: &Mood, controller: &str) -> Value {
    let missing = if controller == "mirroring" { 82 } else { 3 + m.odd / 3 };
    if r.percent(missing) {
        return Value::Null;
    }
    r.weighted(
        &[
            (75, json!({ "app": "x" })),
            (8, json!({ "app": "x", "tier": "y" })),
            (5, json!({ "tier": "y" })),
            (4, json!({ "app": "y" })),
            (5, json!({})),
            (3, json!({ "app": "nobody" })),
        ]
        .each_ref()
        .map(|(w, v)| (*w, v)),
    )
    .clone()
}

pub(crate) fn ports(r: &mut Rng, m: &Mood) -> Value {
    let n = if m.packing || m.zones {
        r.weighted(&[(70, 1), (30, 2)])
    } else {
        r.weighted(&[(10, 0), (42, 1), (25, 2), (14, 3), (9, 4)])
    };
    let mut names = ["p0", "http", "https", "dns", "m"];
    r.shuffle(&mut names);
    let ports: Vec<Value> = (0..n)
        .map(|i| {
            let mut port = json!({
                "port": r.weighted(&[(40, 80), (20, 443), (20, 53), (20, 0)]) + r.below(9) + 1,
                "protocol": r.weighted(&[(75, "TCP"), (17, "UDP"), (8, "SCTP")]),
            });
            // The name may be missing only where there is one port.
            if n > 1 || r.percent(70) {
                port["name"] = names[i].into();
            } else if r.percent(30) {
                port["name"] = "".into();
            }
            port["targetPort"] = if r.percent(55) {
                r.weighted(&[(30, "http"), (20, "web"), (15, "dns"), (15, "metrics"), (12, "side"), (8, "nope")]).into()
            } else {
                r.weighted(&[(60, 8080), (20, 8081), (10, 53), (10, 9090)]).into()
            };
            if r.percent(25) {
                port["appProtocol"] = r.pick(&["http", "https", "kubernetes.io/h2c", "kubernetes.io/ws"]).into();
            }
            port
        })
        .collect();
    if n == 0 && r.percent(60) { Value::Null } else { ports.into() }
}

pub(crate) fn families(r: &mut Rng, m: &Mood, spec: &mut Value) {
    let families = r.weighted(&[
        (58, Some(&["IPv4"][..])),
        (13, Some(&["IPv6"][..])),
        (14, Some(&["IPv4", "IPv6"][..])),
        (9, Some(&["IPv6", "IPv4"][..])),
        (6, None),
    ]);
    let six = families.map_or_else(|| r.percent(25), |f| f[0] == "IPv6");
    let own = if six { "fd00:1::5" } else { "10.96.0.5" };
    let ip = r.weighted(&[(66, Some(own)), (26, Some("None")), (2, Some("")), (6, None)]);
    set(spec, "clusterIP", ip);
    match ip {
        Some(ip) if !ip.is_empty() && r.percent(60) => spec["clusterIPs"] = json!([ip]),
        _ => {}
    }
    if r.percent(m.odd / 3) {
        // The families say one thing and the address another.
        spec["clusterIP"] = if six { "10.96.0.5" } else { "fd00:1::5" }.into();
    }
    match families {
        Some(f) => {
            spec["ipFamilies"] = json!(f);
            spec["ipFamilyPolicy"] = if f.len() == 2 { "RequireDualStack" } else { "SingleStack" }.into();
        }
        None if r.percent(20) => spec["ipFamilies"] = json!([]),
        None => {}
    }
}

pub(crate) fn traffic_distribution(r: &mut Rng, m: &Mood) -> Option<&'static str> {
    let asked = if m.zones { 40 } else { 22 };
    r.percent(asked).then(|| {
        r.weighted(&[
            (30, "PreferClose"),
            (30, "PreferSameNode"),
            (30, "PreferSameZone"),
            (5, "Bogus"),
            (5, "preferclose"),
        ])
    })
}
